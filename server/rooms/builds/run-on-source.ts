/**
 * Runs a command of an application on a checkout of a branch, in a container like that of a build, and brings back the commits that it made there.
 *
 * The checkout is the command's to do with as it likes. Nothing of it is read from outside: Git inside the container is asked where the branch is and
 * for a pack of what is new, and what it answers is judged by `git.receive`. Each attempt has names of its own, which begin with those of the activity;
 * what a killed one left is removed by the next, or when the activity is undone.
 */
import { createHash, randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { Value } from 'typebox/value';
import type { Signature } from '../../drivers/git/git.ts';
import { runtimeOfType } from '../../catalogue/catalogue.ts';
import type { Execution, Runtime } from '../../drivers/runtime/runtime.ts';
import { CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Machine } from '../../machine.ts';
import { projectById, settingsOf, type Asker, type Project } from '../projects/public.ts';
import type { EffectiveVariable } from '../variables/public.ts';
import { attemptBytes, buildBytesMax, buildMinutesMax, ensureImage, giveToApp, type BuildParts } from './build-app.ts';
import { BuildSettings, treeIdOf } from './build-apps.ts';
import { appFolder, buildCommands, cacheFolder, wordBytesMax, type BuildCommand } from './build-commands.ts';
import { inBuildContainer, type RunCommand } from './build-container.ts';
import { maskOf, openOutput, shownLine, type BuildOutput } from './build-output.ts';
import { withinBuildLimit } from './build-limit.ts';
import { buildVariables } from './build-variables.ts';
import { useCache } from './cache.ts';
import type { App } from './config/model.ts';
import { forkOf } from './which-cache.ts';
import { cacheNameOf } from './slugs.ts';
import { openSourceTree } from './source-tree.ts';

export interface SourceRun extends Asker {
  activity: { id: string } & Asker['activity'];
  project: { id: string; entropy: string };
  branch: string;
  commit: string;
  app: App;
  /** What messages call the command. */
  what: string;
  command: string;
  /** The author of the commits, unless the command sets another. */
  by: Signature;
  variables: readonly EffectiveVariable[];
  /** The limit of the pack of new commits. */
  packBytesMax: number;
  log(line: string): void;
  ended(exitCode: number): void;
}

/** The value of PLATFORM_SOURCE_DIR. */
const sourceFolder = '/mnt/source';

/** Returns the commit that the branch is at afterwards. Throws CommandFailed where the command fails; nothing that it did is kept then. */
export async function runOnSource(parts: BuildParts, run: SourceRun, cancelled: AbortSignal): Promise<string> {
  const project = await projectById(parts.db, run.project.id);
  if (!project) throw new Problem('not-found', 'No such project.');
  await removeSourceRuns(parts, run.activity.id);
  const { env, output, limits } = await surroundings(parts, run, project);
  const fork = await forkOf(parts.db, project.id, run.branch);
  const around = { env, output, limits, cache: cacheNameOf(project.id, project.build_cache_generation, fork) };
  const waiting = { signal: cancelled, onWait: () => output.step('Waiting for builds to end.') };
  return withinBuildLimit(parts.db, project.id, run, waiting, () => attempt(parts, run, around, cancelled));
}

async function attempt(parts: BuildParts, run: SourceRun, around: Surroundings, cancelled: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(buildMinutesMax * 60 * 1000);
  try {
    return await inCheckout(parts, run, around, AbortSignal.any([cancelled, late]));
  } catch (error) {
    if (!late.aborted || cancelled.aborted) throw error;
    throw new CommandFailed(`Unable to finish ${run.what}: it took longer than ${buildMinutesMax} minutes.`);
  }
}

const hashCharacters = 8;

const prefixOf = (activityId: string) => `source-${activityId}-`;

function attemptName({ activity, app }: SourceRun): string {
  const hash = createHash('sha256').update(app.name).digest('hex').slice(0, hashCharacters);
  return `${prefixOf(activity.id)}${hash}-${randomBytes(attemptBytes).toString('hex')}`;
}

/** Removes all that attempts of this activity left on the machine. */
export async function removeSourceRuns({ runtime, volumes }: Pick<Machine, 'runtime' | 'volumes'>, activityId: string): Promise<void> {
  const isOfActivity = ({ name }: { name: string }) => name.startsWith(prefixOf(activityId));
  for (const { name } of (await runtime.list()).filter(isOfActivity)) await runtime.remove(name);
  for (const { name } of (await volumes.list()).filter(isOfActivity)) await volumes.remove(name);
}

interface Surroundings {
  env: Readonly<Record<string, string>>;
  output: BuildOutput;
  limits: { cpu: number; memoryBytes: number };
  cache: string;
}

/** What surrounds the command: the variables of a build of the app, with the folder of the checkout, its output and its limits. */
async function surroundings(
  { git, config }: BuildParts,
  { project: { id, entropy }, app, commit, variables, log }: SourceRun,
  project: Project,
): Promise<Omit<Surroundings, 'cache'>> {
  const { product_code, build_resources } = Value.Parse(BuildSettings, settingsOf(project, config));
  const treeId = await treeIdOf(app, await openSourceTree(git, id, commit));
  const { env, secrets } = buildVariables({ project: { id, entropy }, app, treeId, vendor: product_code, variables });
  return {
    env: {
      ...runtimeOfType(app.type)?.env,
      ...env,
      PLATFORM_APP_DIR: workingFolderOf(app),
      PLATFORM_SOURCE_DIR: sourceFolder,
    },
    output: openOutput(log, maskOf(secrets)),
    limits: { cpu: build_resources.cpu, memoryBytes: build_resources.memory * 1024 ** 2 },
  };
}

const workingFolderOf = ({ source }: App) => posix.join(sourceFolder, source.root).replace(/\/$/, '');

async function inCheckout(parts: BuildParts, run: SourceRun, around: Surroundings, signal: AbortSignal): Promise<string> {
  const { volumes, git, runtime } = parts;
  const { app, branch, commit, by, project } = run;
  const { env, output, limits, cache } = around;
  const name = attemptName(run);
  try {
    const { layers } = await ensureImage(parts, app, output, signal);
    const { path } = await volumes.create(name, buildBytesMax);
    await git.clone(project.id, { branch, commit, folder: path, by, signal });
    await giveToApp(path, signal);
    return await useCache(volumes, { app, cache }, signal, (folder) => {
      const mounts = [
        { from: path, at: sourceFolder, writable: true },
        { from: folder, at: cacheFolder, writable: true },
      ];
      const room = { name, layers, env, mounts, limits, writable: [appFolder], workingFolder: workingFolderOf(app) };
      return inBuildContainer(runtime, room, signal, async (execute) => {
        await runCommands(run, execute, output);
        return bringBack(parts, run, name, output, signal);
      });
    });
  } finally {
    await volumes.remove(name);
  }
}

/** Installs the tools that the app asks for, then runs the command itself. */
async function runCommands(run: SourceRun, execute: RunCommand, output: BuildOutput) {
  const { app, what, command } = run;
  if (Buffer.byteLength(command) >= wordBytesMax)
    throw new Problem('invalid-request', `Unable to run ${what}: it is longer than ${wordBytesMax / 1024} KiB; put it into a file.`);
  const toolsOnly: App = { ...app, build: { ...app.build, flavor: 'none' }, hooks: { ...app.hooks, build: null } };
  const own: BuildCommand = { announce: {}, what, argv: ['dash', '-c', command] };
  for (const each of [...buildCommands(toolsOnly, () => false), own]) {
    if (each.announce.step !== undefined) output.step(each.announce.step);
    if (each.announce.line !== undefined) output.line(each.announce.line);
    const code = await execute(each, output);
    if (code === 0 && each !== own) continue;
    run.ended(code);
    if (code !== 0) throw new CommandFailed(`Nothing is pushed: ${each.what} ended with exit code ${code}.`);
  }
}

const answerBytesMax = 4096;
const commitId = /^[0-9a-f]{40}$/;

async function bringBack(
  { runtime, git }: BuildParts,
  run: SourceRun,
  container: string,
  output: BuildOutput,
  signal: AbortSignal,
): Promise<string> {
  const { branch, commit, project, packBytesMax } = run;
  const ask = async (...args: string[]) => {
    const asked = await askGit(runtime, container, args);
    const [answer, , code] = await Promise.all([beginningOf(asked.stdout), beginningOf(asked.stderr), asked.exited]);
    signal.throwIfAborted();
    return code === 0 ? answer : '';
  };
  const to = (await ask(...revisionOf(`refs/heads/${branch}`))).trim();
  if (!commitId.test(to))
    throw new Problem('invalid-request', `Nothing is pushed: after ${run.what} there is no branch ${branch} in the checkout any more.`);
  if (to === commit) {
    const head = (await ask(...revisionOf('HEAD'))).trim();
    if (head !== commit) output.warn(`There are commits in the checkout that are not on ${branch}: they are not pushed.`);
    const changed = (await ask('status', '--porcelain')).split('\n').filter((line) => line !== '');
    if (changed.length > 0) output.warn(`There are changes that are not committed, and so not pushed: ${shownLine(namesIn(changed))}`);
    return commit;
  }
  const packing = await askGit(
    runtime,
    container,
    ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'],
    `${to}\n^${commit}\n`,
  );
  const complaint = beginningOf(packing.stderr);
  /** The exit code is ignored, because a pack that is not complete is refused. */
  packing.exited.catch(() => {});
  try {
    await git.receive(project.id, { from: commit, to, pack: packing.stdout, bytesMax: packBytesMax, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Problem)) throw error;
    const said = (await complaint).trim();
    throw new Problem(error.kind, `Nothing is pushed. ${error.message}`, { cause: error, ...(said !== '' && { internal: said }) });
  }
  return to;
}

const revisionOf = (name: string) => ['rev-parse', '--verify', '--quiet', '--end-of-options', name];

const changedNamesMax = 3;

/** The first names in lines such as `?? name`. */
const namesIn = (lines: readonly string[]) =>
  `${lines
    .slice(0, changedNamesMax)
    .map((line) => line.slice(3))
    .join(', ')}${lines.length > changedNamesMax ? ' and others.' : '.'}`;

/** Runs Git inside the container: the settings of the checkout may make Git do anything, but only there. */
async function askGit(runtime: Runtime, container: string, args: readonly string[], input = ''): Promise<Execution> {
  const execution = await runtime.exec(container, { argv: ['git', '-C', sourceFolder, ...args] });
  execution.stdin.end(input);
  return execution;
}

/** Reads the whole stream, so that the writer is not held up, and keeps only the beginning. */
async function beginningOf(stream: Readable): Promise<string> {
  let kept = '';
  stream.on('data', (chunk: Buffer) => (kept = kept.length < answerBytesMax ? kept + chunk.toString('latin1') : kept));
  stream.on('error', () => {});
  await new Promise<void>((resolve) => stream.once('close', resolve));
  return kept;
}
