/**
 * What containers use: every few seconds a sample of each for the store of measurements, and every minute how full volumes are. Apps, workers, services and tasks
 * are sampled; builds belong to no environment and are not. Volumes count once, however many containers have them, and also while none runs. With the volumes,
 * what each environment uses now is written down (latest-use.ts).
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskMount, temporaryMount, type Metrics, type MountSampleRecord } from '../../drivers/metrics/metrics.ts';
import type { ContainerStatistics, Runtime } from '../../drivers/runtime/runtime.ts';
import type { Volumes } from '../../drivers/volumes/volumes.ts';
import type { Listener } from '../../kernel/listener.ts';
import { openOwners, type Owners } from '../deployments/public.ts';
import { noteUse, openUseTally, type EnvironmentUse, type UseTally } from './latest-use.ts';
import { beginningOf, countersOf, mountSamplesOf, samplesOf, type Counters, type Filled } from './samples.ts';

const everyMilliseconds = 5000;
/**
 * Asking what is in volumes starts programs of the file system, so it is done once in each minute of the clock, by which people look at it; and soon after a container
 * has come, whose volumes nobody has seen yet.
 */
const minuteMilliseconds = 60_000;
const volumesSoonestMilliseconds = 10_000;
/** A container that could not be read for so long is forgotten. */
const rememberedMilliseconds = 3_600_000;

export const sampleContainers: Listener = {
  name: 'sample containers',
  listen: async ({ config, db, log, metrics, machine }, signal) => {
    const { runtime, volumes } = await machine();
    const owners = openOwners(db);
    const file = join(config.data, 'measuring', 'last-look.json');
    const look = await openSampler({
      runtime,
      volumes,
      owners,
      metrics,
      file,
      say: (sentence) => log.info(sentence),
      note: (uses, at) => noteUse(db, uses, at),
    });
    let isFailing = false;
    while (!signal.aborted) {
      try {
        await look(new Date());
        isFailing = false;
      } catch (error) {
        if (!isFailing) log.warn({ error }, 'what containers use could not be looked at; it is tried again all the time');
        isFailing = true;
      }
      await sleep(everyMilliseconds, undefined, { signal }).catch(() => {});
    }
  },
};

/** What is kept of the last look, in memory and in a file. */
interface LastLook {
  at: number;
  containers: Map<string, Counters>;
  volumesAt: number;
  volumes: Map<string, Filled>;
}

export interface SamplerParts {
  runtime: Pick<Runtime, 'statistics'>;
  volumes: Pick<Volumes, 'usages'>;
  owners: (containers: readonly string[]) => Promise<Owners>;
  metrics: Pick<Metrics, 'append'>;
  /** Where the last look is remembered while the platform is off. */
  file: string;
  say: (sentence: string) => void;
  /** Writes down what environments use now. */
  note?: (uses: readonly EnvironmentUse[], at: Date) => Promise<void>;
}

/** Returns what is to be called every few seconds. */
export async function openSampler(parts: SamplerParts): Promise<(now: Date) => Promise<void>> {
  let last = await readLook(parts.file);
  let hasSaid = false;
  const tally = openUseTally();
  return async (now) => {
    const all = await parts.runtime.statistics();
    const owners = await parts.owners(all.map(({ name }) => name));
    if (!hasSaid && all.some(({ pressure }) => !pressure)) {
      parts.say('This kernel does not tell how long containers wait for processors, memory and disks; their pressure is shown as 0.');
      hasSaid = true;
    }
    last ??= { at: now.getTime(), containers: new Map(), volumesAt: -Infinity, volumes: new Map() };
    const containers = sampleEach(parts, owners, all, last, tally);
    const areDue = areVolumesDue(last, now, all);
    const { volumesAt, volumes } = areDue ? await sampleVolumes(parts, owners, all, last, now, tally) : last;
    if (areDue) await parts.note?.(tally.take(now), now);
    last = { at: now.getTime(), containers, volumesAt, volumes };
    // Records are on their way for half a second: whoever is killed meanwhile loses these seconds, and counts none of them twice.
    await writeLook(parts.file, last);
  };
}

function areVolumesDue({ volumesAt, containers }: LastLook, now: Date, all: readonly ContainerStatistics[]): boolean {
  const minuteOf = (time: number) => Math.floor(time / minuteMilliseconds);
  if (minuteOf(now.getTime()) !== minuteOf(volumesAt)) return true;
  return now.getTime() - volumesAt >= volumesSoonestMilliseconds && all.some(({ name }) => !containers.has(name));
}

function sampleEach(
  { metrics }: SamplerParts,
  owners: Owners,
  all: readonly ContainerStatistics[],
  last: LastLook,
  tally: UseTally,
): Map<string, Counters> {
  const counters = new Map([...last.containers].filter(([, { at }]) => at > last.at - rememberedMilliseconds));
  for (const statistics of all) {
    const owner = owners.ofContainer(statistics.name);
    if (!owner) continue;
    const now = countersOf(statistics);
    const before = beginningOf(now, last.containers.get(statistics.name), last.at);
    const samples = before ? samplesOf(owner, statistics, before, now) : [];
    metrics.append('samples', samples);
    tally.countContainer(owner, statistics, samples);
    counters.set(statistics.name, now);
  }
  return counters;
}

async function sampleVolumes(
  { volumes, metrics }: SamplerParts,
  owners: Owners,
  all: readonly ContainerStatistics[],
  last: LastLook,
  now: Date,
  tally: UseTally,
): Promise<Pick<LastLook, 'volumesAt' | 'volumes'>> {
  const usages = await volumes.usages();
  const temporary = new Map(all.map(({ name, temporaryVolume }) => [temporaryVolume, name]));
  const filled = new Map<string, Filled>();
  const records: MountSampleRecord[] = [];
  for (const [name, { bytes, exclusiveBytes, bytesMax }] of usages) {
    const container = temporary.get(name);
    const owner = container === undefined ? owners.ofVolume(name) : owners.ofContainer(container);
    if (!owner) continue;
    if (container === undefined) tally.countVolume(owner, bytes, exclusiveBytes);
    const found = { at: now.getTime(), bytes };
    records.push(...mountSamplesOf(owner, container === undefined ? diskMount : temporaryMount, bytesMax, last.volumes.get(name), found));
    filled.set(name, found);
  }
  metrics.append('mounts', records);
  return { volumesAt: now.getTime(), volumes: filled };
}

interface StoredLook {
  at: number;
  containers: [string, Counters][];
  volumesAt: number;
  volumes: [string, Filled][];
}

/** Undefined: there was none, or the power failed while it was written. */
async function readLook(file: string): Promise<LastLook | undefined> {
  try {
    const { at, containers, volumesAt, volumes } = JSON.parse(await readFile(file, 'utf8')) as StoredLook;
    return { at, containers: new Map(containers), volumesAt, volumes: new Map(volumes) };
  } catch {
    return undefined;
  }
}

async function writeLook(file: string, { at, containers, volumesAt, volumes }: LastLook): Promise<void> {
  const stored: StoredLook = { at, containers: [...containers], volumesAt, volumes: [...volumes] };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify(stored));
  await rename(`${file}.new`, file);
}
