/**
 * Runs one program of a build and hands on what it says, line by line. It runs in process and mount namespaces of its own, which end with it:
 * when it is aborted, or when the platform is killed, all that it started dies and all that it mounted is gone.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { unshareMounts } from '../mounts.ts';

export type Say = (line: string) => void;

/** The last lines, for the words of a failure. */
const linesKept = 15;
const lineCharactersMax = 500;
/** Lines of apt that are for programs to read. */
const isProgress = /^(?:dl|pm)status:/;

const confined = ['setpriv', '--pdeathsig', 'KILL', ...unshareMounts, '--pid', '--fork', '--kill-child', '--mount-proc'] as const;

/** `message` holds what the program said last; `internal` names it. */
export class BuildFailure extends Error {
  readonly internal: string | undefined;

  constructor(message: string, internal?: string) {
    super(message);
    this.internal = internal;
  }
}

export const runConfined = (argv: readonly string[], folder: string, say: Say, signal: AbortSignal) =>
  run([...confined, ...argv], folder, say, signal);

/** `env`: beside the variables of this process. */
export const runPlain = (
  argv: readonly string[],
  folder: string,
  say: Say,
  signal: AbortSignal,
  env: Readonly<Record<string, string>> = {},
) => run(['setpriv', '--pdeathsig', 'KILL', ...settingOf(env), ...argv], folder, say, signal);

const settingOf = (env: Readonly<Record<string, string>>) => ['env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];

async function run(argv: readonly string[], folder: string, say: Say, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const last: string[] = [];
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (whole) => {
      const line = whole.slice(0, lineCharactersMax);
      if (!isProgress.test(line) && last.push(line) > linesKept) last.shift();
      say(line);
    });
  }
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    const code = await ended(child);
    signal.throwIfAborted();
    if (code !== 0) throw new BuildFailure(last.join('\n'), `${argv.join(' ')} ended with ${code}`);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Settles once everything that the program started has let go of its output. */
const ended = (child: ReturnType<typeof spawn>) =>
  new Promise<number | string>((settle, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => settle(code ?? signal ?? 'nothing'));
  });
