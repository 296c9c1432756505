/**
 * Builds one application or task: its files on a volume of their own, commands in a container that can write there, then a snapshot that is the slug.
 *
 * It bears being killed anywhere and done again. Each attempt has names of its own; what an earlier one of the same slug left is removed first, or by
 * the reconciler. One process builds a slug at a time: hold its volume's name (holding.ts) meanwhile.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Git } from '../../drivers/git/git.ts';
import { runtimeOfType } from '../../catalogue/catalogue.ts';
import type { Image } from '../../drivers/images/images.ts';
import { appUser } from '../../catalogue/service.ts';
import { withoutLinks } from '../../drivers/mounts.ts';
import type { Mount } from '../../drivers/runtime/runtime.ts';
import type { Config } from '../../config.ts';
import { CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Machine } from '../../machine.ts';
import { buildSubject, endAllocated, noteAllocated } from '../metering/public.ts';
import type { EffectiveVariable } from '../variables/public.ts';
import { kindOf, titleOf, type Buildable } from './buildable.ts';
import { appFolder, buildCommands, cacheFolder, type BuildCommand } from './build-commands.ts';
import { buildDockerfile } from './build-dockerfile.ts';
import { buildFromImage } from './build-image.ts';
import { inBuildContainer, type RunCommand } from './build-container.ts';
import type { BuildOutput } from './build-output.ts';
import { useCache } from './cache.ts';
import { makeMountPoints } from './mount-points.ts';
import { insertSlug, storedImage } from './queries.ts';
import { buildNameOf, slugVolumeOfBuild, type Slug, type SlugImage } from './slugs.ts';

export interface BuildParts extends Pick<Machine, 'runtime' | 'images' | 'volumes'> {
  git: Git;
  db: Db;
  config: Config;
}

export interface AppBuild {
  projectId: string;
  /** The repository that contains the tree. */
  repository: string;
  app: Buildable;
  slug: Slug;
  /** The volume of what builds keep for later ones. */
  cache: string;
  env: Readonly<Record<string, string>>;
  limits: { cpu: number; memoryBytes: number };
  /** All variables of the environment: credentials for registries are among them. */
  variables: readonly EffectiveVariable[];
}

export const buildBytesMax = 8 * 1024 ** 3;
export const buildMinutesMax = 60;
export const attemptBytes = 4;

type Ended = (command: { type: 'build'; exit_code: number }) => void;

export async function buildApp(
  parts: BuildParts,
  build: AppBuild,
  output: BuildOutput,
  ended: Ended,
  cancelled: AbortSignal,
): Promise<SlugImage | undefined> {
  const { volumes, db } = parts;
  const { projectId, app, slug } = build;
  const late = AbortSignal.timeout(buildMinutesMax * 60 * 1000);
  const signal = AbortSignal.any([cancelled, late]);
  await removeAttempts(parts, slug);
  const name = buildNameOf(slug, randomBytes(attemptBytes).toString('hex'));
  try {
    const image = await fillVolume(parts, build, name, output, ended, signal);
    signal.throwIfAborted();
    await volumes.remove(slug.volume);
    await volumes.snapshot(name, slug.volume);
    await volumes.settle();
    const { bytes } = await volumes.usage(slug.volume);
    await insertSlug(db, {
      id: slug.slug_id,
      project_id: projectId,
      app: app.name,
      ...slugColumns(slug),
      bytes: String(bytes),
      image: storedImage(image),
    });
    output.step(`Storing the ${kindOf(app)} (${megabytes(bytes)} MB).`);
    return image;
  } catch (error) {
    throw late.aborted && !cancelled.aborted ? tookTooLong(app) : error;
  } finally {
    await volumes.remove(name);
  }
}

/** Makes what is to become the slug, in a volume of this name. Returns which image it belongs to, where that is not one of the catalogue. */
async function fillVolume(
  parts: BuildParts,
  build: AppBuild,
  name: string,
  output: BuildOutput,
  ended: Ended,
  signal: AbortSignal,
): Promise<SlugImage | undefined> {
  const { app, slug } = build;
  if ('image' in app && app.image) {
    await parts.volumes.create(name, buildBytesMax);
    return buildFromImage({ images: parts.images, app, variables: build.variables }, app.image, output, signal);
  }
  const image = await ensureImage(parts, app, output, signal);
  const { path } = await parts.volumes.create(name, buildBytesMax);
  if ('dockerfile' in app && app.dockerfile) {
    const { dockerfile } = app;
    const inCache = (cache: string) =>
      buildDockerfile({ parts, build, dockerfile, name, path, cache, layers: image.layers }, output, ended, signal);
    return useCache(parts.volumes, build, signal, (cache) => metered(parts.db, build, name, () => inCache(cache)));
  }
  await parts.git.checkout(build.repository, slug.tree_id, path, signal);
  await giveToApp(path, signal);
  await runCommands(parts, build, { name, path, image }, output, ended, signal);
  for (const warning of await makeMountPoints(app, path)) output.warn(warning);
  return undefined;
}

const slugColumns = ({ tree_id, config_id, volume }: Slug) => ({ tree_id, config_id, volume });
const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);

const tookTooLong = (app: Buildable) =>
  new CommandFailed(`Unable to build ${titleOf(app)}: it took longer than ${buildMinutesMax} minutes.`);

/** Removes what killed builds of this slug left. */
async function removeAttempts({ runtime, volumes }: Pick<BuildParts, 'runtime' | 'volumes'>, slug: Slug) {
  const isAttempt = ({ name }: { name: string }) => slugVolumeOfBuild(name) === slug.volume;
  for (const { name } of (await runtime.list()).filter(isAttempt)) await runtime.remove(name);
  for (const { name } of (await volumes.list()).filter(isAttempt)) await volumes.remove(name);
}

const progressPercent = 20;

export async function ensureImage(
  { images }: Pick<BuildParts, 'images'>,
  app: Buildable,
  output: BuildOutput,
  signal: AbortSignal,
): Promise<Image> {
  const { type } = app;
  const built = await images.built(type);
  if (built) return built;
  output.step(`Preparing ${type}, which is needed for the first time.`);
  let told = 0;
  const onProgress = ({ percent, line }: { percent: number; line: string }) => {
    if (percent < told + progressPercent) return;
    told = percent;
    output.line(`${Math.floor(percent)} %: ${line}`);
  };
  try {
    return await images.ensure(type, onProgress, signal);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.kind, `Cannot build ${titleOf(app)} of type '${type}': ${error.message}`, { cause: error });
  }
}

const execute = promisify(execFile);
const chownSecondsMax = 600;

/** Changes the owner of links themselves, not of what they lead to. */
export const giveToApp = (folder: string, signal: AbortSignal) => {
  const chown = ['chown', '--recursive', '--no-dereference', '--', `${appUser.uid}:${appUser.gid}`, folder] as const;
  const [program, ...args] = withoutLinks(folder, chown);
  return execute(program, args, { timeout: chownSecondsMax * 1000, signal });
};

interface SlugInTheMaking {
  name: string;
  path: string;
  image: Image;
}

async function runCommands(
  parts: BuildParts,
  build: AppBuild,
  { name, path, image }: SlugInTheMaking,
  output: BuildOutput,
  ended: Ended,
  signal: AbortSignal,
) {
  const { app, limits } = build;
  const commands = buildCommands(app, (file) => isFile(join(path, file)));
  if (commands.length === 0) return;
  const env = { ...runtimeOfType(app.type)?.env, ...build.env };
  await useCache(parts.volumes, build, signal, (cache) => {
    const mounts: Mount[] = [
      { from: path, at: appFolder, writable: true },
      { from: cache, at: cacheFolder, writable: true },
    ];
    const inContainer = () =>
      inBuildContainer(parts.runtime, { name, layers: image.layers, env, mounts, limits }, signal, (run) =>
        oneAfterTheOther(commands, run, build, output, ended),
      );
    return metered(parts.db, build, name, inContainer);
  });
}

const megabyte = 2 ** 20;

/** Notes what the build has while it runs. Builds are the project's: several environments may use what they make. */
async function metered<T>(db: Db, { projectId, app, limits }: AppBuild, name: string, work: () => Promise<T>): Promise<T> {
  const holder = { projectId, environment: '', subject: buildSubject(name) };
  const amount = { service: app.name, kind: 'build', cpu: limits.cpu, memory: limits.memoryBytes / megabyte, disk: 0 } as const;
  await noteAllocated(db, { ...holder, version: name, amounts: [amount] });
  try {
    return await work();
  } finally {
    await endAllocated(db, holder);
  }
}

/** A link counts as a file, wherever it leads, because it is followed only inside the container. */
function isFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isDirectory();
}

async function oneAfterTheOther(
  commands: readonly BuildCommand[],
  run: RunCommand,
  { app, limits }: AppBuild,
  output: BuildOutput,
  ended: Ended,
) {
  for (const command of commands) {
    const { step, line } = command.announce;
    if (step !== undefined) output.step(step);
    if (line !== undefined) output.line(line);
    const code = await run(command, output);
    if (code === 0) continue;
    ended({ type: 'build', exit_code: code });
    throw new CommandFailed(
      `Unable to build ${titleOf(app)}: ${command.what} ended with exit code ${code}${hintFor(code, command, app, limits)}.`,
    );
  }
  if (commands.length > 0) ended({ type: 'build', exit_code: 0 });
}

const wasKilled = 137;
const wasNotFound = 127;

function hintFor(code: number, { argv: [program] }: BuildCommand, { type }: Buildable, { memoryBytes }: AppBuild['limits']): string {
  if (code === wasKilled)
    return `, probably because it needed more memory than builds of this project have (${memoryBytes / 1024 ** 2} MB); raise build_resources in the project's settings`;
  if (code === wasNotFound && program !== 'dash') return `: there is no ${program} in ${type}`;
  return '';
}
