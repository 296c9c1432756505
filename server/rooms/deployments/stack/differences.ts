/**
 * What differs between two stacks, in words of the configuration: apps, workers, services, tasks and routes with every field that is another, variables by
 * their names alone, and which apps were built from something else. Nothing is told here that the two deployments do not tell by themselves, except that the
 * value of a variable is another, and never which.
 */
import type { SizeGroup, Stack } from './stack.ts';
import { workersIn } from './workers.ts';

export const changes = ['added', 'removed', 'changed'] as const;
export type Change = (typeof changes)[number];

/** A field, with its values as JSON; null where one of the two does not have it. */
export interface Difference {
  path: string;
  earlier: string | null;
  current: string | null;
}

export interface Changed {
  name: string;
  change: Change;
  /** Of what is in both. */
  differences: Difference[];
}

export const containerKinds = ['app', 'worker', 'service', 'task'] as const;

export interface StackDifferences {
  containers: (Changed & { kind: (typeof containerKinds)[number] })[];
  routes: Changed[];
  variables: Omit<Changed, 'differences'>[];
  /** Apps in both that were built from other code, or otherwise. */
  builds: string[];
}

type Named = Readonly<Record<string, object>>;

/** Where the configuration of each kind stands, and its sizes. */
const kinds: Record<(typeof containerKinds)[number], { group: SizeGroup; in(stack: Stack): Named }> = {
  app: {
    group: 'webapps',
    in: ({ model }) => Object.fromEntries(Object.entries(model.applications).map(([name, { workers: _own, ...app }]) => [name, app])),
  },
  worker: { group: 'workers', in: ({ model }) => workersIn(model) },
  service: { group: 'services', in: ({ model }) => model.services },
  task: { group: 'tasks', in: ({ model }) => model.tasks },
};

export const differencesOf = (earlier: Stack, current: Stack): StackDifferences => ({
  containers: containerKinds.flatMap((kind) =>
    changedIn(sizedIn(earlier, kind), sizedIn(current, kind)).map((changed) => Object.assign({ kind }, changed)),
  ),
  routes: changedIn(earlier.model.routes, current.model.routes),
  variables: changedIn(variablesIn(earlier), variablesIn(current)).map(({ name, change }) => ({ name, change })),
  builds: Object.keys(current.slugs)
    .filter((name) => Object.hasOwn(earlier.slugs, name) && earlier.slugs[name]?.slug_id !== current.slugs[name]?.slug_id)
    .toSorted(),
});

function sizedIn(stack: Stack, kind: keyof typeof kinds): Named {
  const { group, in: configured } = kinds[kind];
  const sizes = stack.sizes[group];
  return Object.fromEntries(
    Object.entries(configured(stack)).map(([name, container]) => {
      const { profile_size, instance_count, disk } = (Object.hasOwn(sizes, name) ? sizes[name] : undefined) ?? {};
      // Of files in an older format, the configuration has a disk and a size of its own, which the sizes took over.
      return [name, { ...container, size: profile_size, instance_count, disk }];
    }),
  );
}

const variablesIn = ({ secrets }: Stack): Named => Object.fromEntries(secrets.variables.map((variable) => [variable.name, variable]));

function changedIn(earlier: Named, current: Named): Changed[] {
  const names = [...new Set([...Object.keys(earlier), ...Object.keys(current)])].toSorted();
  return names.flatMap((name): Changed[] => {
    const [was, is] = [earlier, current].map((all) => (Object.hasOwn(all, name) ? all[name] : undefined));
    if (!was || !is) return [{ name, change: was ? 'removed' : 'added', differences: [] }];
    const differences = differencesBetween(was, is);
    return differences.length === 0 ? [] : [{ name, change: 'changed', differences }];
  });
}

/** More than these are of no use to people. */
const differencesMax = 100;
const valueCharactersMax = 200;

function differencesBetween(earlier: object, current: object): Difference[] {
  const [was, is] = [new Map(leavesOf(earlier)), new Map(leavesOf(current))];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((path) => was.get(path) !== is.get(path))
    .toSorted()
    .slice(0, differencesMax)
    .map((path) => ({ path, earlier: inShort(was.get(path)), current: inShort(is.get(path)) }));
}

function leavesOf(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, part]: [string, unknown]): [string, string][] => {
    const own = path === '' ? name : `${path}.${name}`;
    if (part === undefined) return [];
    return typeof part === 'object' && part !== null && !Array.isArray(part) ? leavesOf(part, own) : [[own, JSON.stringify(part)]];
  });
}

const inShort = (text: string | undefined): string | null =>
  text === undefined ? null : text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax).toWellFormed()}…` : text;
