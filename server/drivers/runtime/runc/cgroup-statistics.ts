/**
 * What the files of a control group say about what its processes used and may use, for both versions of control groups. Which files those are, and what their
 * texts mean, is all there is here; `statistics.ts` reads them. A file that is not there counts as empty: kernels leave out what they were built without.
 */
import type { ContainerStatistics, Pressure } from '../runtime.ts';

export type Counted = Omit<
  ContainerStatistics,
  'name' | 'startedAt' | 'at' | 'networkReceivedBytes' | 'networkSentBytes' | 'temporaryVolume'
>;

/** Each file by the controller that it belongs to, which is the name of a folder in version 1. */
export type Files = Readonly<Record<string, readonly [controller: string, file: string]>>;
export type Texts<F extends Files> = Partial<Record<keyof F, string | undefined>>;

/** What a container without a limit may use. */
export interface WholeMachine {
  cpus: number;
  memoryBytes: number;
}

const numberIn = (text: string | undefined) => Number(text ?? 0) || 0;
/** The number behind a word at the start of a line. */
const countIn = (text: string | undefined, word: string) => Number(new RegExp(`^${word} (\\d+)`, 'm').exec(text ?? '')?.[1] ?? 0);
const sumIn = (text: string | undefined, number: RegExp) =>
  [...(text ?? '').matchAll(number)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
/** A limit that is no number, or larger than what there is, is none. */
const limitIn = (text: string | undefined, whole: number) => {
  const limit = Number.parseInt(text ?? '', 10);
  return limit >= 0 ? Math.min(limit, whole) : whole;
};
const atLeastNothing = (value: number) => Math.max(0, value);

export const filesOfVersion1 = {
  cpuUsage: ['cpuacct', 'cpuacct.usage'],
  cpuStat: ['cpu', 'cpu.stat'],
  cpuQuota: ['cpu', 'cpu.cfs_quota_us'],
  cpuPeriod: ['cpu', 'cpu.cfs_period_us'],
  memory: ['memory', 'memory.usage_in_bytes'],
  memoryStat: ['memory', 'memory.stat'],
  memoryLimit: ['memory', 'memory.limit_in_bytes'],
  withSwapLimit: ['memory', 'memory.memsw.limit_in_bytes'],
  outOfMemory: ['memory', 'memory.oom_control'],
  pids: ['pids', 'pids.current'],
  io: ['blkio', 'blkio.throttle.io_service_bytes_recursive'],
  ioAlone: ['blkio', 'blkio.throttle.io_service_bytes'],
} as const satisfies Files;

/** The limit of swap is written as one of memory and swap together. */
export function countedByVersion1(texts: Texts<typeof filesOfVersion1>, whole: WholeMachine): Omit<Counted, 'pressure'> {
  const [quota, period] = [numberIn(texts.cpuQuota), numberIn(texts.cpuPeriod)];
  const memoryLimitBytes = limitIn(texts.memoryLimit, whole.memoryBytes);
  const io = texts.io ?? texts.ioAlone;
  return {
    cpuSeconds: numberIn(texts.cpuUsage) / 1e9,
    cpuLimit: quota > 0 && period > 0 ? quota / period : whole.cpus,
    throttledSeconds: countIn(texts.cpuStat, 'throttled_time') / 1e9,
    memoryBytes: atLeastNothing(numberIn(texts.memory) - countIn(texts.memoryStat, 'total_inactive_file')),
    memoryLimitBytes,
    swapBytes: countIn(texts.memoryStat, 'total_swap'),
    swapLimitBytes:
      texts.withSwapLimit === undefined ? 0 : atLeastNothing(limitIn(texts.withSwapLimit, whole.memoryBytes) - memoryLimitBytes),
    outOfMemoryKills: countIn(texts.outOfMemory, 'oom_kill'),
    pids: numberIn(texts.pids),
    diskReadBytes: sumIn(io, / Read (\d+)/g),
    diskWrittenBytes: sumIn(io, / Write (\d+)/g),
  };
}

export const filesOfVersion2 = {
  cpuStat: ['', 'cpu.stat'],
  cpuMax: ['', 'cpu.max'],
  memory: ['', 'memory.current'],
  memoryStat: ['', 'memory.stat'],
  memoryMax: ['', 'memory.max'],
  swap: ['', 'memory.swap.current'],
  swapMax: ['', 'memory.swap.max'],
  memoryEvents: ['', 'memory.events'],
  pids: ['', 'pids.current'],
  io: ['', 'io.stat'],
} as const satisfies Files;

export function countedByVersion2(texts: Texts<typeof filesOfVersion2>, whole: WholeMachine): Omit<Counted, 'pressure'> {
  const [quota = 'max', period = ''] = (texts.cpuMax ?? '').trim().split(' ');
  return {
    cpuSeconds: countIn(texts.cpuStat, 'usage_usec') / 1e6,
    cpuLimit: Number(quota) > 0 ? Number(quota) / Number(period) : whole.cpus,
    throttledSeconds: countIn(texts.cpuStat, 'throttled_usec') / 1e6,
    memoryBytes: atLeastNothing(numberIn(texts.memory) - countIn(texts.memoryStat, 'inactive_file')),
    memoryLimitBytes: limitIn(texts.memoryMax, whole.memoryBytes),
    swapBytes: numberIn(texts.swap),
    swapLimitBytes: texts.swapMax === undefined ? 0 : limitIn(texts.swapMax, whole.memoryBytes),
    outOfMemoryKills: countIn(texts.memoryEvents, 'oom_kill'),
    pids: numberIn(texts.pids),
    diskReadBytes: sumIn(texts.io, /rbytes=(\d+)/g),
    diskWrittenBytes: sumIn(texts.io, /wbytes=(\d+)/g),
  };
}

export const pressureFiles = { cpu: 'cpu.pressure', memory: 'memory.pressure', io: 'io.pressure', irq: 'irq.pressure' } as const;
export type PressureTexts = Partial<Record<keyof typeof pressureFiles, string | undefined>>;

const stalledSeconds = (text: string | undefined, who: 'some' | 'full') => {
  const [, microseconds] = new RegExp(`^${who} .*total=(\\d+)`, 'm').exec(text ?? '') ?? [];
  return microseconds === undefined ? undefined : Number(microseconds) / 1e6;
};

/** Interrupts stop everybody, so their file has no line for some; older kernels, and those built without, have no such file. */
export function pressureIn(texts: PressureTexts): Pressure | undefined {
  const [cpuSeconds, memorySeconds, ioSeconds] = [texts.cpu, texts.memory, texts.io].map((text) => stalledSeconds(text, 'some'));
  if (cpuSeconds === undefined || memorySeconds === undefined || ioSeconds === undefined) return undefined;
  return { cpuSeconds, memorySeconds, ioSeconds, irqSeconds: stalledSeconds(texts.irq, 'full') ?? 0 };
}

/** What came into a network namespace and left it by the link named eth0, as /proc/<pid>/net/dev tells. */
export function trafficIn(text: string | undefined) {
  const [, received = 0, sent = 0] = /^\s*eth0:\s*(\d+)(?:\s+\d+){7}\s+(\d+)/m.exec(text ?? '') ?? [];
  return { networkReceivedBytes: Number(received), networkSentBytes: Number(sent) };
}
