/** Gives a slug for each application and task of a commit: one that is there, or a new one. What has not changed is never built twice. */
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import { projectById, settingsOf, type Asker } from '../projects/public.ts';
import type { EffectiveVariable } from '../variables/public.ts';
import { buildApp, type BuildParts } from './build-app.ts';
import { buildablesIn, titleOf, type Buildable } from './buildable.ts';
import { openOutput, maskOf, oneVoiceAtATime, type Voice } from './build-output.ts';
import { withinBuildLimit } from './build-limit.ts';
import { buildVariables } from './build-variables.ts';
import { buildIdentity } from './config/identity.ts';
import type { ProjectModel } from './config/model.ts';
import { fetchAgain } from './build-image.ts';
import { imageOfSlug } from './queries.ts';
import { onePerVolume } from './one-per-volume.ts';
import { openSourceTree, type CommitTree } from './source-tree.ts';
import { forkOf } from './which-cache.ts';
import { cacheNameOf, slugOf, useSlug, type Slug } from './slugs.ts';

export interface BuildRequest {
  project: { id: string; entropy: string };
  environment: { id: string };
  commit: string;
  model: ProjectModel;
  /** The variables of the environment; those that builds do not see are left out by the build. */
  variables: readonly EffectiveVariable[];
}

export type BuildWork = Pick<Work<unknown>, 'signal' | 'step' | 'log' | 'command'> & Asker;

/** Returns slugs by application and task. */
export async function buildApps(work: BuildWork, parts: BuildParts, request: BuildRequest): Promise<Record<string, Slug>> {
  const tree = await openSourceTree(parts.git, request.project.id, request.commit);
  const speak = oneVoiceAtATime(work.log);
  const failed = new AbortController();
  const build = async (app: Buildable): Promise<readonly [string, Slug]> => {
    const voice = speak();
    try {
      return [
        app.name,
        await work.step(`build ${app.name}`, (signal) =>
          slugFor(work, parts, request, app, tree, voice, AbortSignal.any([signal, failed.signal])),
        ),
      ];
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      voice.end();
    }
  };
  const built = await Promise.allSettled(buildablesIn(request.model).map(build));
  /** The first build that fails stops the others, so its failure is the one to report. */
  if (failed.signal.aborted) throw failed.signal.reason;
  return Object.fromEntries(built.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
}

async function slugFor(
  work: BuildWork,
  parts: BuildParts,
  request: BuildRequest,
  app: Buildable,
  tree: CommitTree,
  { log }: Voice,
  signal: AbortSignal,
): Promise<Slug> {
  const { db, volumes, config } = parts;
  const project = await projectById(db, request.project.id);
  if (!project) throw new Problem('not-found', 'No such project.');
  const { product_code, build_resources } = Value.Parse(BuildSettings, settingsOf(project, config));
  const treeId = await treeIdOf(app, tree);
  const told = { project: request.project, app, treeId, vendor: product_code, variables: request.variables };
  const { visible, env, secrets } = buildVariables(told);
  const fork = await forkOf(db, project.id, request.environment.id);
  const identity = buildIdentity(app, { treeId, buildVariables: visible, secret: request.project.entropy, fork });
  const slug = slugOf(project.id, app.name, treeId, identity);
  const output = openOutput(log, maskOf(secrets));
  log(`Building ${titleOf(app)} (runtime type: ${app.type}, tree: ${treeId.slice(0, shortTreeCharacters)})`);
  const reuse = async () => {
    const isThere = await useSlug(db, volumes, slug);
    if (!isThere) return undefined;
    output.step('Reusing existing build for this tree ID');
    const image = await imageOfSlug(db, slug.slug_id);
    if (image) await fetchAgain({ images: parts.images, app, variables: request.variables }, image, output, signal);
    return { ...slug, ...(image && { image }) };
  };
  const existing = await reuse();
  if (existing) return existing;
  const limits = { cpu: build_resources.cpu, memoryBytes: build_resources.memory * 1024 ** 2 };
  const build = {
    projectId: project.id,
    repository: tree.repository,
    app,
    slug,
    cache: cacheNameOf(project.id, project.build_cache_generation, fork),
    env,
    limits,
    variables: request.variables,
  };
  const ended = (command: { type: 'build'; exit_code: number }) => work.command({ app: app.name, ...command });
  const withinLimit = () =>
    withinBuildLimit(db, project.id, work, { signal, onWait: () => output.step('Waiting for other builds to end.') }, () =>
      buildApp(parts, build, output, ended, signal),
    );
  const built = async (): Promise<Slug> => {
    const image = await withinLimit();
    return { ...slug, ...(image && { image }) };
  };
  const onWait = () => output.step('Waiting for another build of this tree.');
  return onePerVolume(volumes).run(slug.volume, async () => (await reuse()) ?? built(), { signal, onWait });
}

const shortTreeCharacters = 7;

/** The settings of a project that concern builds. */
export const BuildSettings = Type.Object({
  product_code: Type.String(),
  build_resources: Type.Object({ cpu: Type.Number(), memory: Type.Number() }),
});

export async function treeIdOf(built: Buildable, tree: CommitTree): Promise<string> {
  const { source } = built;
  const id = await tree.treeOf(source.root);
  if (id === undefined)
    throw new Problem(
      'invalid-request',
      `Unable to build ${titleOf(built)}: its source.root ${source.root} is not a folder of this commit.`,
    );
  return id;
}
