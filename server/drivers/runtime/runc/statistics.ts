/**
 * Statistics of all running containers, from files of the kernel. They are read side by side, and not by the thread that answers requests: reading the numbers
 * of a large control group can take the kernel milliseconds. A container costs half a millisecond of a processor, and no process is started. One that hangs is left out, and not read again before it has come back.
 */
import { closeSync, openSync, read } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { limit } from '../../../kernel/limits.ts';
import type { ContainerStatistics, Pressure } from '../runtime.ts';
import {
  countedByVersion1,
  countedByVersion2,
  filesOfVersion1,
  filesOfVersion2,
  pressureFiles,
  pressureIn,
  trafficIn,
  type Files,
  type Texts,
} from './cgroup-statistics.ts';
import { statisticsFolders } from './cgroups.ts';
import { type RuntimeFolders, cgroupOf, entriesOf, scratchOf } from './runtime-folders.ts';
import { runningOf } from './state.ts';

const atOnceMax = 8;
const readMillisecondsMax = 2000;
const wholeMachine = { cpus: availableParallelism(), memoryBytes: totalmem() };

/** Answers what is to be asked for the statistics of all running containers. */
export function openStatistics(
  folders: RuntimeFolders,
  readOne: (name: string) => Promise<ContainerStatistics | undefined> = (name) => readStatistics(folders, name),
  millisecondsMax = readMillisecondsMax,
): () => Promise<ContainerStatistics[]> {
  const withinLimit = limit(atOnceMax);
  const underWay = new Set<string>();
  const readSoon = async (name: string) => {
    if (underWay.has(name)) return undefined;
    underWay.add(name);
    return soon(
      readOne(name).finally(() => underWay.delete(name)),
      millisecondsMax,
    );
  };
  return async () => {
    const found = await Promise.all(entriesOf(folders.runContainers).map((name) => withinLimit(() => readSoon(name))));
    return found.filter((one) => one !== undefined);
  };
}

/** Undefined: it failed, or takes longer. */
async function soon<T>(work: Promise<T>, millisecondsMax: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), millisecondsMax);
  try {
    return await Promise.race([work.catch(() => undefined), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined: it does not run. */
export async function readStatistics(folders: RuntimeFolders, name: string): Promise<ContainerStatistics | undefined> {
  const running = runningOf(folders, name);
  if (!running) return undefined;
  const cgroup = cgroupOf(folders, name);
  const at = new Date();
  const [counted, pressure, network] = await Promise.all([
    statisticsFolders.isUnified
      ? textsOf(filesOfVersion2, cgroup).then((texts) => countedByVersion2(texts, wholeMachine))
      : textsOf(filesOfVersion1, cgroup).then((texts) => countedByVersion1(texts, wholeMachine)),
    pressureOf(cgroup),
    textOf(`/proc/${running.pid}/net/dev`),
  ]);
  // Whoever ended meanwhile has left numbers that belong to nobody.
  if (runningOf(folders, name)?.pid !== running.pid) return undefined;
  return {
    name,
    startedAt: running.startedAt,
    at,
    ...counted,
    ...trafficIn(network),
    pressure,
    temporaryVolume: scratchOf(folders, name),
  };
}

async function textsOf<F extends Files>(files: F, cgroup: string): Promise<Texts<F>> {
  const texts = Object.entries(files).map(
    async ([name, [controller, file]]) => [name, await textOf(join(statisticsFolders.folderOf(controller, cgroup), file))] as const,
  );
  return Object.fromEntries(await Promise.all(texts)) as Texts<F>;
}

async function pressureOf(cgroup: string): Promise<Pressure | undefined> {
  const folder = statisticsFolders.pressureFolderOf(cgroup);
  if (folder === undefined) return undefined;
  const texts = Object.entries(pressureFiles).map(async ([kind, file]) => [kind, await textOf(join(folder, file))] as const);
  return pressureIn(Object.fromEntries(await Promise.all(texts)));
}

/** More than any of them has. */
const textBytesMax = 16_384;

/**
 * Undefined: it is not there or, as pressure on kernels that were started without it, cannot be read. Only the reading is left to another thread: it is what
 * can take long, and each turn of that thread costs ten times what opening a file of the kernel does.
 */
function textOf(file: string): Promise<string | undefined> {
  const opened = open(file);
  if (opened === undefined) return Promise.resolve(undefined);
  const buffer = Buffer.allocUnsafe(textBytesMax);
  return new Promise((resolve) =>
    read(opened, buffer, 0, buffer.length, 0, (error, length) => {
      closeSync(opened);
      resolve(error ? undefined : buffer.toString('latin1', 0, length));
    }),
  );
}

function open(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch {
    return undefined;
  }
}
