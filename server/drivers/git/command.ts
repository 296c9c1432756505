/**
 * Runs the system's `git`, always with the same hardened settings and an environment of our own: what the machine, the operator's account or a
 * repository has configured has no say. Output, time and the number of commands at once are bounded, which nobody has all of; questions that anybody may ask
 * have a limit of their own, so that merges and pushes do not wait for them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { fairLimit } from '../../kernel/fair-limit.ts';
import { tally } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import { withoutLinks } from '../mounts.ts';

/** A setting may have several values. */
export type Settings = Readonly<Record<string, string | readonly string[]>>;

const hardened: Settings = {
  'safe.directory': '*',
  'init.templateDir': '',
  'core.hooksPath': '/dev/null',
  'core.attributesFile': '/dev/null',
  'core.logAllRefUpdates': 'false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'core.fsync': 'committed,reference',
  'core.bigFileThreshold': '32m',
  'pack.threads': '2',
  'pack.windowMemory': '128m',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'receive.autogc': 'false',
  'credential.helper': '',
  'protocol.allow': 'never',
  'submodule.recurse': 'false',
  'transfer.fsckObjects': 'true',
  /** Old and harmless mistakes, which repositories of many years carry around. */
  'receive.fsck.zeroPaddedFilemode': 'ignore',
  'receive.fsck.missingSpaceBeforeDate': 'ignore',
  'receive.fsck.badTimezone': 'ignore',
  'fetch.fsck.zeroPaddedFilemode': 'ignore',
  'fetch.fsck.missingSpaceBeforeDate': 'ignore',
  'fetch.fsck.badTimezone': 'ignore',
  'receive.advertisePushOptions': 'true',
  'receive.denyDeleteCurrent': 'ignore',
  'uploadpack.allowAnySHA1InWant': 'false',
  'uploadpack.allowFilter': 'false',
};

/** Settings go by the environment, so that also the commands that Git itself starts have them. */
export function environmentOf(settings: Settings = {}): Record<string, string> {
  const pairs = Object.entries({ ...hardened, ...settings }).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as const),
  );
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CONFIG_COUNT: String(pairs.length),
    ...Object.fromEntries(
      pairs.flatMap(([name, value], n) => [
        [`GIT_CONFIG_KEY_${n}`, name],
        [`GIT_CONFIG_VALUE_${n}`, value],
      ]),
    ),
  };
}

/** A push of a thousand bytes can stand for gigabytes, and says so only while Git works on it. */
const memoryBytesMax = 2 * 1024 ** 3;
const processorSecondsMax = 20 * 60;

/** The command line that limits what Git, and each process that it starts, may take of the machine. */
export const limitedGit = (args: readonly string[]): [string, string[]] => limited(['git', ...args]);

export const limited = (command: readonly string[]): [string, string[]] => [
  'prlimit',
  [`--data=${memoryBytesMax}`, `--cpu=${processorSecondsMax}`, '--', ...command],
];

export interface Call {
  /** The folder that Git writes files of a commit to: no link there is followed, whatever Git itself would do. */
  workTree?: string;
  input?: string | Buffer;
  settings?: Settings;
  env?: Record<string, string>;
  secondsMax?: number;
  bytesMax?: number;
  signal?: AbortSignal;
  /** On whose behalf, from the outside in (kernel/fair-limit.ts); of the repository alone, where absent. */
  parties?: readonly string[];
}

export interface Outcome {
  code: number;
  stdout: Buffer;
  stderr: string;
  /** It did not end by itself: it took too long, or somebody stopped it. */
  wasKilled: boolean;
}

/** Git failed where it should have succeeded. */
export class GitFailed extends Error {
  readonly outcome: Outcome;
  constructor(args: readonly string[], outcome: Outcome) {
    super(`git ${args.find((arg) => !arg.startsWith('-')) ?? ''} ended with ${outcome.code}: ${outcome.stderr.slice(0, 500)}`);
    this.outcome = outcome;
  }
}

export class TooMuchOutput extends Error {}

const commandSecondsMax = 60;
const outputBytesMax = 64 * 1024 * 1024;
const errorBytesMax = 64 * 1024;

const commands = fairLimit({ total: 16, most: [14, 12], newcomers: 8 });

/** Answers whatever the exit code is. */
export const tryGit = (gitDir: string, args: readonly string[], call: Call = {}): Promise<Outcome> =>
  commands.within({ parties: call.parties ?? [gitDir], part: gitDir }, () => start(gitDir, args, call));

/**
 * For what waits for somebody else's server, as long as that likes: it takes no place of those who work here. How many there are is bounded by whoever asks: only
 * activities fetch.
 */
export const visitWithGit = (gitDir: string, args: readonly string[], call: Call): Promise<Outcome> => start(gitDir, args, call);

/** Throws GitFailed unless Git succeeds. */
export async function runGit(gitDir: string, args: readonly string[], call: Call = {}): Promise<Buffer> {
  const outcome = await tryGit(gitDir, args, call);
  if (outcome.code !== 0) throw new GitFailed(args, outcome);
  return outcome.stdout;
}

export const gitText = async (gitDir: string, args: readonly string[], call: Call = {}): Promise<string> =>
  (await runGit(gitDir, args, call)).toString('utf8').trim();

const readSecondsMax = 10;
const readsAtOnceMax = 12;
const readsPerRepositoryMax = 2;
const readsWaitingPerRepositoryMax = 20;

/** Repositories take turns. */
const reads = fairLimit({ total: readsAtOnceMax, most: [readsPerRepositoryMax], newcomers: 0 });
const readers = tally();

/** For questions of people that may be expensive: few at once, soon given up, and then answered in words. Throws a Problem or GitFailed. */
export async function readGit(gitDir: string, args: readonly string[], call: Pick<Call, 'input' | 'bytesMax'> = {}): Promise<string> {
  if (readers.of(gitDir) >= readsPerRepositoryMax + readsWaitingPerRepositoryMax) throw tooBusy();
  const leave = readers.add(gitDir);
  const until = Date.now() + readSecondsMax * 1000;
  const read = () => readUntil(until, gitDir, args, call);
  return reads.within({ parties: [gitDir] }, read).finally(leave);
}

async function readUntil(until: number, gitDir: string, args: readonly string[], call: Pick<Call, 'input' | 'bytesMax'>): Promise<string> {
  const secondsMax = (until - Date.now()) / 1000;
  if (secondsMax <= 0) throw tooBusy();
  const outcome = await start(gitDir, args, { ...call, secondsMax });
  if (outcome.wasKilled)
    throw new Problem('unavailable', 'This takes too long to work out here; fetch the repository and look there.', {
      internal: `git ${args[0] ?? ''} was stopped`,
    });
  if (outcome.code !== 0) throw new GitFailed(args, outcome);
  return outcome.stdout.toString('utf8');
}

const tooBusy = () => new Problem('unavailable', 'Too much is being read from this repository just now; try again in a moment.');

/** Kills Git with all that it has started: what fetches over HTTP is a process of a process. */
function killGroup({ pid }: ChildProcess) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    /** The process has ended already. */
  }
}

function start(gitDir: string, args: readonly string[], call: Call): Promise<Outcome> {
  const { workTree, input, settings, env, secondsMax = commandSecondsMax, bytesMax = outputBytesMax, signal } = call;
  return new Promise((resolve, reject) => {
    const work = workTree === undefined ? [] : [`--work-tree=${workTree}`];
    const [git, limited] = limitedGit([`--git-dir=${gitDir}`, ...work, ...args]);
    const [program, ...words] = workTree === undefined ? [git, ...limited] : withoutLinks(workTree, [git, ...limited]);
    const child = spawn(program, words, {
      cwd: '/',
      env: { ...environmentOf(settings), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      killSignal: 'SIGKILL',
      ...(signal && { signal }),
    });
    const stop = () => killGroup(child);
    const late = setTimeout(stop, secondsMax * 1000);
    signal?.addEventListener('abort', stop, { once: true });
    child.once('exit', () => {
      clearTimeout(late);
      signal?.removeEventListener('abort', stop);
    });
    const [out, complaints]: Buffer[][] = [[], []];
    let [bytes, errorBytes] = [0, 0];
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) stop();
      else out?.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errorBytes += chunk.length;
      if (errorBytes <= errorBytesMax) complaints?.push(chunk);
    });
    child.on('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('close', (code, killedBy) => {
      if (bytes > bytesMax) reject(new TooMuchOutput(`git ${args[0] ?? ''} said more than ${bytesMax} bytes`));
      else
        resolve({
          code: code ?? 128,
          wasKilled: killedBy !== null,
          stdout: Buffer.concat(out ?? []),
          stderr: Buffer.concat(complaints ?? [])
            .toString('utf8')
            .trim(),
        });
    });
  });
}
