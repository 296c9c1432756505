/** Builds: from a commit to the configuration it holds, and to a slug for each of its applications. */
import type { Room } from '../../kernel/room.ts';
import { collectSlugs } from './reconcilers.ts';

export { unneededSlugVolumes } from './reconcilers.ts';

export type * from './config/model.ts';
export { HttpAccessSchema, namePattern, ProjectModelSchema, ResolvedRouteSchema } from './config/model-schema.ts';
export { intervalMinutes, parseCron, type CronTimes } from './config/language/cron-spec.ts';
export { areSlugsKept } from './kept-slugs.ts';
export { resolveRoutes, type Hosts, type SharedByRoutes } from './config/resolve-routes.ts';
export { workersOf } from './config/identity.ts';
export { readModel, type ReadModel } from './read-model.ts';
export { fetchSubmodules } from './submodules.ts';
export { buildApps, type BuildRequest } from './build-apps.ts';
export type { BuildParts } from './build-app.ts';
export { removeSourceRuns, runOnSource, type SourceRun } from './run-on-source.ts';
export { adoptSlug } from './adopt-slug.ts';
export { buildVolumeKind, slugIn, useSlug, type Slug } from './slugs.ts';
export { maskOf, openBounded, openOutput, shownLine, type BuildOutput } from './build-output.ts';
/** What a container of a slug needs beside what it is told, so that it finds the tools that its build installed. */
export { phpSettingsFolder, toolVariables } from './build-commands.ts';

export const builds: Room = {
  name: 'Builds',
  about: 'From a commit to what its applications and tasks run from.',
  operations: {},
  reconcilers: [collectSlugs],
};
