/**
 * Commands of people inside containers that run already, which are run once and no more, whatever becomes of the platform meanwhile: they do not end with
 * its process, and whoever comes next finds them by their id, with all that they have said and how they ended.
 *
 * A folder of the container's own is made first, and no step that can be done twice makes it while the command may have begun: so a folder that is
 * not there means that the container is another one, in which nothing is begun. Inside, a keeper has the command for a child and a lock for as long as
 * it lives (lasting-command.sh). What is kept of what it says is bounded: the beginning and the last lines. All of it belongs to the container's own
 * user, who could write there what they like, about their own command; everything is read through the container, and bounded.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Execution, Runtime } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import { userCommand } from '../stack/containers.ts';
import { runInside } from './inside.ts';

export interface LastingCommand {
  /** Letters and digits by which the command is found again. */
  id: string;
  container: string;
  /** The command runs with the app's variables, those of `.environment` included. */
  argv: readonly [string, ...string[]];
  /** Variables in addition to the container's own. */
  env?: Readonly<Record<string, string>>;
}

/** A user's script, with arguments that the shell does not interpret. */
export const shellScript = (script: string, ...args: string[]): [string, ...string[]] => ['dash', '-c', script, 'script', ...args];

const script = readFileSync(join(import.meta.dirname, 'lasting-command.sh'), 'utf8');
const actionSecondsMax = 30;
const attemptsMax = 20;
const attemptMilliseconds = 500;
const killsMax = 120;

type Found = Pick<LastingCommand, 'id' | 'container'>;

const action = ({ id }: Pick<LastingCommand, 'id'>, name: string, ...args: string[]): [string, ...string[]] => [
  'dash',
  '-c',
  script,
  'lasting',
  name,
  `/run/offshoot-commands/${id}`,
  ...args,
];

/** Makes the folder where the command will be found. This has to be done, and recorded as done, before the command begins, and never again after that. */
export async function prepareLasting(runtime: Runtime, command: Found): Promise<void> {
  const { code, said } = await act(runtime, command, 'prepare', script);
  if (code !== 0) throw new Problem('unavailable', `The command could not be started: ${said}`);
}

/**
 * Starts the command, unless it was started before, and follows it to its end: `hear` is given all its output from the beginning on, as it comes. Returns
 * the exit code; undefined: the command ended with its container, or for want of memory, and nobody knows how. Aborting leaves the command running.
 */
export async function followLasting(
  runtime: Runtime,
  command: LastingCommand,
  hear: (said: Readable) => Promise<void>,
  leave: AbortSignal,
): Promise<number | undefined> {
  const said = new PassThrough();
  const hearing = hear(said);
  try {
    await start(runtime, command);
    for (let [attempt, position] = [1, 0]; ; attempt++) {
      leave.throwIfAborted();
      const followed = await followFrom(runtime, command, position, said, leave);
      position += followed.bytes;
      leave.throwIfAborted();
      const [end, code] = followed.words;
      if (end === 'ended') return Number(code);
      if (end === 'lost' || !(await isThere(runtime, command))) return undefined;
      if (attempt === attemptsMax) throw new Error(`The command ${command.id} in ${command.container} could not be followed`);
      await sleep(attemptMilliseconds, undefined, { signal: leave });
    }
  } finally {
    said.end();
    await hearing;
  }
}

/** Starts the command. Whether it has begun is found out by following it. */
async function start(runtime: Runtime, command: LastingCommand) {
  await act(runtime, command, 'start', ...command.argv).catch(async (error: unknown) => {
    if (await isThere(runtime, command)) throw error;
  });
}

/** Whether the container is there. A frozen one counts, because its processes go on once it is thawed. */
const isThere = async ({ state }: Runtime, { container }: Found) => ['running', 'paused'].includes((await state(container)).status);

async function followFrom(runtime: Runtime, command: LastingCommand, position: number, said: PassThrough, leave: AbortSignal) {
  const execution = await runtime.exec(command.container, { argv: action(command, 'follow', String(position + 1)) }).catch(() => undefined);
  if (!execution) return { bytes: 0, words: [] };
  execution.stdin.end();
  const end = () => void execution.signal('SIGKILL').catch(() => {});
  leave.addEventListener('abort', end, { once: true });
  if (leave.aborted) end();
  let bytes = 0;
  execution.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (said.write(chunk)) return;
    execution.stdout.pause();
    said.once('drain', () => execution.stdout.resume());
  });
  try {
    const told = lastLine(execution);
    await Promise.all([execution.exited, finished(execution.stdout).catch(() => {})]);
    return { bytes, words: (await told).split(' ') };
  } finally {
    leave.removeEventListener('abort', end);
  }
}

const wordsCharactersMax = 1000;

async function lastLine({ stderr }: Execution): Promise<string> {
  let text = '';
  stderr.on('data', (chunk: Buffer) => (text = (text + chunk.toString('utf8')).slice(-wordsCharactersMax)));
  await finished(stderr).catch(() => {});
  return text.trim().split('\n').at(-1) ?? '';
}

/** Whether the command has ended; false where the container cannot be asked. */
export async function hasEnded(runtime: Runtime, command: Found): Promise<boolean> {
  const told = await act(runtime, command, 'ended').catch(() => undefined);
  return told?.code === 0;
}

export interface Stopping {
  /** A user's script that asks the command to end; null: the command is sent SIGTERM. */
  script: string | null;
  /** How long the command may take to end before it is killed. */
  secondsMax: number;
}

/** Asks the command to end, and kills it if it does not. Whoever follows the command learns of its end. `ended` is aborted once the command has ended. */
export async function stopLasting(runtime: Runtime, command: Found, { script, secondsMax }: Stopping, ended: AbortSignal): Promise<void> {
  const asking = script === null ? terminate(runtime, command) : askToEnd(runtime, command, { script, secondsMax }, ended);
  await sleep(secondsMax * 1000, undefined, { signal: ended }).catch(() => {});
  // The kill is tried again, as the container may have no memory left for it at the moment.
  for (let kills = 0; !ended.aborted && kills < killsMax; kills++) {
    await act(runtime, command, 'stop', 'KILL').catch(() => {});
    await sleep(attemptMilliseconds, undefined, { signal: ended }).catch(() => {});
  }
  await asking;
}

const terminate = async (runtime: Runtime, command: Found) => void (await act(runtime, command, 'stop', 'TERM').catch(() => {}));

/** Runs the script; where it fails, the command is sent SIGTERM. */
async function askToEnd(
  runtime: Runtime,
  command: Found,
  { script, secondsMax }: { script: string; secondsMax: number },
  ended: AbortSignal,
) {
  const asked = await runInside(runtime, command.container, { argv: userCommand(script) }, { secondsMax, signal: ended }).catch(
    () => undefined,
  );
  if (!ended.aborted && asked?.code !== 0) await terminate(runtime, command);
}

/** Removes the command's folder from the container, however the command ended. Processes that the command left in the background go on. */
export async function forgetLasting(runtime: Runtime, command: Found): Promise<void> {
  if (!(await isThere(runtime, command))) return;
  await act(runtime, command, 'forget').catch(async (error: unknown) => {
    if (await isThere(runtime, command)) throw error;
  });
}

const act = (runtime: Runtime, command: Found & Pick<Partial<LastingCommand>, 'env'>, name: string, ...args: string[]) =>
  runInside(
    runtime,
    command.container,
    { argv: action(command, name, ...args) },
    { secondsMax: actionSecondsMax, ...(command.env && { env: command.env }) },
  );
