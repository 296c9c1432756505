/**
 * Runs the system's `git`, always with the same hardened settings and an environment of our own: what the machine, the operator's account or a
 * repository has configured has no say. Output, time and the number of commands at once are bounded.
 */
import { spawn } from 'node:child_process';

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

export interface Call {
  input?: string | Buffer;
  settings?: Settings;
  env?: Record<string, string>;
  secondsMax?: number;
  bytesMax?: number;
  signal?: AbortSignal;
}

export interface Outcome {
  code: number;
  stdout: Buffer;
  stderr: string;
}

/** Git said no where it should have said yes. */
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
const commandsAtOnceMax = 16;

let underWay = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (underWay >= commandsAtOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else underWay += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else underWay -= 1;
  }
}

/** Whatever the exit code. */
export const tryGit = (gitDir: string, args: readonly string[], call: Call = {}): Promise<Outcome> =>
  inTurn(() => start(gitDir, args, call));

/** Throws GitFailed unless Git succeeds. */
export async function runGit(gitDir: string, args: readonly string[], call: Call = {}): Promise<Buffer> {
  const outcome = await tryGit(gitDir, args, call);
  if (outcome.code !== 0) throw new GitFailed(args, outcome);
  return outcome.stdout;
}

export const gitText = async (gitDir: string, args: readonly string[], call: Call = {}): Promise<string> =>
  (await runGit(gitDir, args, call)).toString('utf8').trim();

function start(gitDir: string, args: readonly string[], call: Call): Promise<Outcome> {
  const { input, settings, env, secondsMax = commandSecondsMax, bytesMax = outputBytesMax, signal } = call;
  return new Promise((resolve, reject) => {
    const child = spawn('git', [`--git-dir=${gitDir}`, ...args], {
      cwd: '/',
      env: { ...environmentOf(settings), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: secondsMax * 1000,
      killSignal: 'SIGKILL',
      ...(signal && { signal }),
    });
    const [out, complaints]: Buffer[][] = [[], []];
    let [bytes, errorBytes] = [0, 0];
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) child.kill('SIGKILL');
      else out?.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errorBytes += chunk.length;
      if (errorBytes <= errorBytesMax) complaints?.push(chunk);
    });
    child.on('error', reject);
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('close', (code) => {
      if (bytes > bytesMax) reject(new TooMuchOutput(`git ${args[0] ?? ''} said more than ${bytesMax} bytes`));
      else
        resolve({
          code: code ?? 128,
          stdout: Buffer.concat(out ?? []),
          stderr: Buffer.concat(complaints ?? [])
            .toString('utf8')
            .trim(),
        });
    });
  });
}
