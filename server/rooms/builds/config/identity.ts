/** What tells one build from another, and one configuration from another. */
import { createHash, createHmac } from 'node:crypto';
import type { App, Task, WorkerDocument } from './model.ts';

/** The parts of an app or a task that a build sees; changing anything else needs no build. Also PLATFORM_APPLICATION while building. */
export const buildView = (built: App | Task) => {
  const { name, type, source, hooks, dependencies, build, variables, timezone, runtime, mounts } = built;
  return {
    name,
    type,
    source,
    hooks: { build: hooks.build },
    dependencies,
    build,
    variables,
    timezone,
    runtime,
    mounts,
    ...('workers' in built && {
      ...(built.image && { image: built.image }),
      ...(built.dockerfile && { dockerfile: built.dockerfile }),
      preflight: built.preflight,
      workers: Object.fromEntries(Object.entries(built.workers).map(([key, worker]) => [key, { mounts: worker.mounts }])),
    }),
  };
};

export interface BuildVariable {
  name: string;
  value: string;
  is_json: boolean;
}

interface BuildFacts {
  /** The id of the tree of the folder `source.root`. */
  treeId: string;
  /** The variables that this app sees while it is built, in any order. */
  buildVariables: readonly BuildVariable[];
  /** A secret of the project. People see these ids, and nobody is to find out a sensitive value by trying which one leads to an id. */
  secret: string | Buffer;
  /** The environment of a fork, whose builds find what earlier code of that fork left in its cache: nobody else uses what came out of that. */
  fork?: string | undefined;
}

/** `<app>-<tree id>-<hash>`: with the project's id in front it is the id of the slug. */
export function buildIdentity(app: App | Task, { treeId, buildVariables, secret, fork }: BuildFacts): string {
  const variables = buildVariables
    .map(({ name, value, is_json }) => [name, value, is_json])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const hash = createHmac('sha256', secret)
    .update(canonical([buildView(app), variables, ...(fork === undefined ? [] : [{ fork }])]))
    .digest('hex');
  return `${app.name}-${treeId}-${hash}`;
}

/** A hash that is the same for the same configuration, in whatever files and order it is written. */
export const configIdentity = (app: App): string => createHash('sha256').update(canonical(app)).digest('hex');

/** JSON with keys in order; lists stay as they are, and so do rules, of which the first that matches counts. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (key, one: unknown) => {
    if (one === null || typeof one !== 'object' || Array.isArray(one)) return one;
    const entries = Object.entries(one);
    return key === 'rules' ? entries : Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });

/** The workers of an app as the deployment document has them, by `<app>--<worker>`. */
export const workersOf = ({ name: app, type, timezone, operations, runtime, preflight, workers }: App): Record<string, WorkerDocument> =>
  Object.fromEntries(
    Object.entries(workers).map(([key, worker]) => {
      const name = `${app}--${key}`;
      return [name, { name, app, type, timezone, operations, runtime, preflight, ...worker }];
    }),
  );
