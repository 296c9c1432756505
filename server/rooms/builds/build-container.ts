/**
 * The container of one build: it sees its own files, its cache, and the internet; commands run in it one after the other. Whoever cancels, or the
 * limit of time, takes it away at once with all that runs in it.
 */
import { appUser } from '../../catalogue/service.ts';
import type { Limits, Mount, Runtime } from '../../drivers/runtime/runtime.ts';
import { appFolder, type BuildCommand } from './build-commands.ts';
import type { BuildOutput } from './build-output.ts';

const processesMax = 1000;
/** The limit of /tmp; what is built, and what is kept for the next build, is on volumes of its own. */
const scratchBytesMax = 4 * 1024 ** 3;

export interface BuildRoom {
  name: string;
  layers: readonly string[];
  env: Readonly<Record<string, string>>;
  mounts: readonly Mount[];
  /** Folders that can be written to beside /tmp, and that go with the container like it. */
  writable?: readonly string[];
  /** The folder in which commands start, if not the app's own. */
  workingFolder?: string;
  limits: Pick<Limits, 'cpu' | 'memoryBytes'>;
  /** Builds an image in it, as the root of its own range of users. */
  nested?: boolean;
}

export type RunCommand = (command: BuildCommand, output: BuildOutput) => Promise<number>;

/** Runs the work with a container that is gone when the work ends, whether it succeeds or fails. */
export async function inBuildContainer<T>(
  runtime: Runtime,
  { workingFolder = appFolder, writable = [], ...room }: BuildRoom,
  signal: AbortSignal,
  work: (run: RunCommand) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  /** A failure here is ignored, because the container is removed again below. */
  const stop = () => void runtime.remove(room.name).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    await runtime.ensure({
      ...room,
      argv: ['sleep', 'infinity'],
      user: room.nested ? { uid: 0, gid: 0 } : appUser,
      workingFolder,
      writable: ['/tmp', ...writable],
      limits: { ...room.limits, pids: processesMax, diskBytes: scratchBytesMax },
      network: room.name,
      names: [],
      restart: 'never',
      stop: { signal: 'SIGTERM', secondsMax: 0 },
    });
    return await work((command, output) => run(runtime, room.name, command, output, signal));
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
    await runtime.remove(room.name);
  }
}

async function run(runtime: Runtime, name: string, { argv }: BuildCommand, output: BuildOutput, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const execution = await runtime.exec(name, { argv, leavesNothing: true });
  execution.stdin.end();
  const [code] = await Promise.all([execution.exited, output.follow(execution.stdout, execution.stderr)]);
  signal.throwIfAborted();
  return code;
}
