/** The keys of an application. */
import { fromDockerfile, fromRegistry, hasOwnImage, nameOfType } from '../../../../catalogue/catalogue.ts';
import { quoted } from '../message.ts';
import { type App, type Build, type Cron, roles, type Worker } from '../model.ts';
import {
  choice,
  flag,
  integer,
  list,
  mapOf,
  maybe,
  object,
  optional,
  orNull,
  type ReportAt,
  type Read,
  required,
  type Shape,
  text,
  refined,
} from '../shape.ts';
import { childOf, isSaid, type Node } from '../node.ts';
import { type Context, imageType, runtimeIn } from './context.ts';
import { intervalMinutes, parseCron } from './cron-spec.ts';
import { instanceFields, overridden, overrideFields } from './instance.ts';
import { dockerfile, ownImage, refuseWhatImagesHave } from './own-image.ts';
import { dependencies, phpRuntime, runtimeOf } from './runtime.ts';
import { command, innerPath, script, timezone, wrongFreeName, wrongName } from './values.ts';
import { web, webOf } from './web.ts';

const daySeconds = 86_400;
const workersMax = 50;

const cron = ({ cronMinutesMin }: Context): Shape<Cron> =>
  refined(
    object({
      spec: required(text('five fields such as 0 3 * * *')),
      commands: maybe(object({ start: required(command), stop: orNull(command) })),
      cmd: maybe(command),
      shutdown_timeout: optional(integer(1, daySeconds, 'seconds'), 10),
      timeout: optional(integer(1, daySeconds, 'seconds'), daySeconds),
    }),
    ({ spec, commands, cmd, ...times }, { path, report }, node) => {
      const parsed = parseCron(spec);
      if (typeof parsed === 'string')
        report.error(childOf(node, 'spec').at, `${path}.spec`, `Found the schedule ${quoted(spec)}, ${parsed}.`);
      else if (intervalMinutes(parsed) < cronMinutesMin) {
        report.warn(
          childOf(node, 'spec').at,
          `${path}.spec`,
          `This cron runs at most every ${cronMinutesMin} minutes, whatever ${quoted(spec)} says.`,
        );
      }
      const both = commands ?? (cmd === undefined ? undefined : { start: cmd, stop: null });
      if (!both && !isSaid(node, 'commands') && !isSaid(node, 'cmd'))
        report.error(node.at, `${path}.commands`, 'Found no commands, expected a map with start.');
      return both && { spec: spec.trim(), commands: both, ...times };
    },
  );

const operation = object({
  role: optional(choice(...roles), 'contributor'),
  commands: required(object({ start: required(command), stop: orNull(command) })),
  timeout: orNull(integer(1, daySeconds, 'seconds')),
});

const buildCache = object({
  directory: orNull(innerPath),
  watch: optional(list(text('a path')), []),
  allow_stale: optional(flag, false),
  share_between_apps: optional(flag, false),
});

const preflight = refined(
  object({ enabled: optional(flag, true), ignored_rules: optional(list(text()), []) }),
  (value, { path, report }, node) => {
    if (value.ignored_rules.length > 0)
      report.warn(
        childOf(node, 'ignored_rules').at,
        `${path}.ignored_rules`,
        '"ignored_rules" is ignored: there are no rules to ignore here.',
      );
    return value;
  },
);

const worker = (context: Context) =>
  object({
    commands: required(object({ pre_start: orNull(command), start: required(command), post_start: orNull(command) })),
    ...overrideFields(context),
  });

const notOffered = 'this platform does not offer it';

export const keysOf = (context: Context, root: string) => ({
  type: maybe(imageType(context, 'app')),
  image: maybe(ownImage),
  dockerfile: maybe(dockerfile),
  source: optional(sourceOf(root), { root, operations: {} }),
  ...instanceFields(context),
  web: maybe(web(context)),
  workers: optional(mapOf(worker(context), 'a map of workers by name', { wrongKey: wrongName, entriesMax: workersMax }), {}),
  crons: optional(mapOf(cron(context), 'a map of crons by name', { wrongKey: wrongFreeName }), {}),
  hooks: optional(hooks, { build: null, deploy: null, post_deploy: null, sanitize: null }),
  dependencies: optional(dependencies, {}),
  build: optional(build, { flavor: null, caches: {} }),
  timezone: orNull(timezone),
  operations: optional(mapOf(operation, 'a map of operations by name', { wrongKey: wrongFreeName }), {}),
  runtime: maybe(phpRuntime),
  preflight: optional(preflight, { enabled: true, ignored_rules: [] }),
});

const hooks = object({ build: orNull(script), deploy: orNull(script), post_deploy: orNull(script), sanitize: orNull(script) });

export const build = object({
  flavor: orNull(choice('composer', 'default', 'none', 'drupal')),
  caches: optional(mapOf(buildCache, 'a map of caches by name'), {}),
});

/** A path with exactly one slash in front. */
export const rootPath: Shape<string> = refined(innerPath, (path) => `/${path}`);

const sourceOf = (root: string) =>
  object({
    root: optional(rootPath, root),
    operations: optional(
      mapOf(object({ command: required(command) }), 'a map of source operations by name', { wrongKey: wrongFreeName }),
      {},
    ),
  });

const written = (context: Context, root: string) =>
  object(keysOf(context, root), {
    ignored: {
      name: 'the key of the map is its name',
      stack: 'composable images are not offered here',
      egress: notOffered,
      authorizations: notOffered,
    },
  });

export const application = (context: Context, name: string, root: string): Shape<App> =>
  refined(written(context, root), (found, reportAt, node) => {
    const { web: ownWeb, workers, runtime, build: ownBuild, image, dockerfile: ownDockerfile, type: _, ...rest } = found;
    const type = typeOf(context, found, reportAt, node);
    if (type === undefined) return undefined;
    const app = { ...rest, type };
    warnOfSilence(context, { ...found, type }, reportAt, node);
    return {
      name,
      ...app,
      ...(image && { image }),
      ...(ownDockerfile && { dockerfile: ownDockerfile }),
      ...(ownWeb ? overridden(app, ownWeb) : {}),
      web: webOf(app.type, context, ownWeb ?? noWeb),
      workers: Object.fromEntries(
        Object.entries(workers).map(([key, { commands, ...own }]): [string, Worker] => {
          const instance = overridden(app, own);
          return [key, { ...instance, worker: { commands, disk: instance.disk } }];
        }),
      ),
      build: buildOf(app.type, context, ownBuild, reportAt, node),
      runtime: runtimeOf(app.type, context, runtime, reportAt, node),
    };
  });

/** Undefined: nothing says what the app runs on, or more than one thing does, which is reported. */
function typeOf(context: Context, { type }: Read<ReturnType<typeof written>>, reportAt: ReportAt, node: Node): string | undefined {
  const { path, report } = reportAt;
  const [kind, another] = (['type', 'image', 'dockerfile'] as const).filter((key) => isSaid(node, key));
  if (kind === undefined) {
    report.error(node.at, `${path}.type`, `Found nothing, expected ${imageType(context, 'app').expected}, or an image, or a dockerfile.`);
    return undefined;
  }
  if (another !== undefined) {
    report.error(childOf(node, another).at, `${path}.${another}`, `Found ${another} beside ${kind}, expected one of them.`);
    return undefined;
  }
  if (kind === 'type') return type;
  refuseWhatImagesHave(kind, node, reportAt);
  return kind === 'image' ? fromRegistry : fromDockerfile;
}

const noWeb: Read<ReturnType<typeof web>> = {
  commands: { pre_start: null, start: null, post_start: null },
  upstream: undefined,
  locations: {},
  relationships: undefined,
  mounts: undefined,
  variables: undefined,
  additional_hosts: undefined,
  container_profile: undefined,
  access: undefined,
  firewall: undefined,
  size: undefined,
  disk: undefined,
  resources: undefined,
};

/** Warns of an app that would answer every request with an error, because nothing runs that could answer. */
function warnOfSilence(
  context: Context,
  { type, web: own }: Pick<Read<ReturnType<typeof written>>, 'web'> & { type: string },
  { path, report }: ReportAt,
  node: Node,
) {
  if (!own || hasOwnImage(type) || own.commands.start !== null || runtimeIn(context, type)?.fastcgi) return;
  const passing = Object.entries(own.locations).find(([, { passthru, rules }]) =>
    [passthru, ...Object.values(rules).map((rule) => rule.passthru)].includes(true),
  );
  if (passing || Object.keys(own.locations).length === 0) {
    report.warn(
      childOf(node, 'web').at,
      `${path}.web.commands.start`,
      `Found no start command, so nothing answers the requests that ${quoted(passing?.[0] ?? '/')} passes on.`,
    );
  }
}

export function buildOf(
  type: string,
  context: Context,
  { flavor, caches }: Read<typeof build>,
  { path, report }: ReportAt,
  node: Node,
): Build {
  const usual = runtimeIn(context, type)?.flavor?.name ?? 'none';
  if (flavor === 'drupal' || (flavor === 'composer' && usual !== 'composer')) {
    report.warn(
      childOf(childOf(node, 'build'), 'flavor').at,
      `${path}.build.flavor`,
      `The flavor ${quoted(flavor)} is ignored; ${quoted(usual)} is used for ${nameOfType(type)}.`,
    );
  }
  if (Object.keys(caches).length > 0)
    report.warn(
      childOf(childOf(node, 'build'), 'caches').at,
      `${path}.build.caches`,
      '"caches" is ignored: builds have one folder for caches, PLATFORM_CACHE_DIR.',
    );
  return { flavor: flavor === 'none' ? 'none' : usual, caches };
}
