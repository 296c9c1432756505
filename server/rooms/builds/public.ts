/** What other rooms may know of builds: the configuration that a commit holds, and the slugs that came of it. */
export type * from './config/model.ts';
export { HttpAccessSchema, namePattern, ProjectModelSchema, ResolvedRouteSchema } from './config/model-schema.ts';
export { intervalMinutes, parseCron, type CronTimes } from './config/language/cron-spec.ts';
export { areSlugsKept } from './kept-slugs.ts';
export { resolveRoutes, type Hosts, type SharedByRoutes } from './config/resolve-routes.ts';
export { workersOf } from './config/identity.ts';
export { buildVolumeKind, layerFolder, slugIn, SlugImageSchema, type Slug, type SlugImage } from './slugs.ts';
/** What a container of a slug needs beside what it is told, so that it finds the tools that its build installed. */
export { toolVariables } from './build-commands.ts';
/** Keeps values that are secret out of a log. */
export { maskOf } from './build-output.ts';
