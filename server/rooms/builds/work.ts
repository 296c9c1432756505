/** What activities of other rooms do with builds: read a commit's configuration, build it, run commands on its source. */
export { unneededSlugVolumes } from './reconcilers.ts';
export { readModel, type ReadModel } from './read-model.ts';
export { fetchSubmodules } from './submodules.ts';
export { buildApps, type BuildRequest } from './build-apps.ts';
export type { BuildParts } from './build-app.ts';
export { removeSourceRuns, runOnSource, type SourceRun } from './run-on-source.ts';
export { adoptSlug } from './adopt-slug.ts';
export { useSlug } from './slugs.ts';
export { maskOf, openBounded, openOutput, shownLine, oneVoiceAtATime, type BuildOutput } from './build-output.ts';
