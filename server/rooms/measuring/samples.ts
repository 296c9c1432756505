/**
 * From counters to samples. The kernel counts what a container used since it was started; a sample is what it used between two looks. What was remembered of the
 * last look also counts after the platform was off, since containers outlive it: what they used meanwhile is known as a whole, and is spread evenly over that time.
 */
import type { MountSampleRecord, SampleRecord } from '../../drivers/metrics/metrics.ts';
import type { ContainerStatistics, Pressure } from '../../drivers/runtime/runtime.ts';
import type { Owner } from '../deployments/public.ts';

/** The counters of a container at one look. Times are Unix milliseconds. */
export interface Counters extends Pick<
  ContainerStatistics,
  'cpuSeconds' | 'memoryBytes' | 'swapBytes' | 'networkReceivedBytes' | 'networkSentBytes'
> {
  startedAt: number;
  at: number;
  pressure?: Pressure | undefined;
}

export const countersOf = ({
  startedAt,
  at,
  cpuSeconds,
  memoryBytes,
  swapBytes,
  networkReceivedBytes,
  networkSentBytes,
  pressure,
}: ContainerStatistics): Counters => ({
  startedAt: startedAt.getTime(),
  at: at.getTime(),
  cpuSeconds,
  memoryBytes,
  swapBytes,
  networkReceivedBytes,
  networkSentBytes,
  pressure,
});

const noPressure: Pressure = { cpuSeconds: 0, memorySeconds: 0, ioSeconds: 0, irqSeconds: 0 };

/**
 * The counters that the next sample begins with. A container that was started since the last look began with nothing. Undefined: how much it had used by the last look is not
 * known, so this look is where counting begins.
 */
export function beginningOf(now: Counters, before: Counters | undefined, lastLook: number): Counters | undefined {
  if (before?.startedAt === now.startedAt) return before;
  if (now.startedAt < (before?.at ?? lastLook)) return undefined;
  return { ...now, at: now.startedAt, cpuSeconds: 0, networkReceivedBytes: 0, networkSentBytes: 0, pressure: noPressure };
}

const hourMilliseconds = 3_600_000;
/** As long as samples are kept. */
const spanMillisecondsMax = 30 * 24 * hourMilliseconds;

interface Span {
  from: number;
  to: number;
}

/** The parts of a span that lie in one hour each, so that hours add up. None: the clock was set back, or the span is longer than anything is kept. */
export function hoursOf({ from, to }: Span): Span[] {
  if (to <= from || to - from > spanMillisecondsMax) return [];
  const spans: Span[] = [];
  for (let start = from; start < to;) {
    const end = Math.min(to, (Math.floor(start / hourMilliseconds) + 1) * hourMilliseconds);
    spans.push({ from: start, to: end });
    start = end;
  }
  return spans;
}

/** A record of the last moment of the span, which is still in the same hour. */
const timeOf = ({ from, to }: Span) => Math.max(from, to % hourMilliseconds === 0 ? to - 1 : to);

/** Whole numbers, which add up to the total. */
function sharesOf(total: number, spans: readonly Span[]): number[] {
  const [start = 0, end = 0] = [spans[0]?.from, spans.at(-1)?.to];
  const until = (time: number) => Math.round((total * (time - start)) / (end - start));
  return spans.map(({ from, to }) => until(to) - until(from));
}

const growth = (from: number, to: number) => Math.max(0, to - from);

export function samplesOf(
  owner: Owner,
  limits: Pick<ContainerStatistics, 'cpuLimit' | 'memoryLimitBytes' | 'swapLimitBytes'>,
  before: Counters,
  now: Counters,
): SampleRecord[] {
  const spans = hoursOf({ from: before.at, to: now.at });
  const seconds = (now.at - before.at) / 1000;
  const received = sharesOf(growth(before.networkReceivedBytes, now.networkReceivedBytes), spans);
  const sent = sharesOf(growth(before.networkSentBytes, now.networkSentBytes), spans);
  const stalled = (kind: keyof Pressure) =>
    Math.min(1, growth((before.pressure ?? noPressure)[kind], (now.pressure ?? before.pressure ?? noPressure)[kind]) / seconds);
  return spans.map((span, nth) => ({
    ...owner,
    time: timeOf(span),
    seconds: (span.to - span.from) / 1000,
    cpuUsed: growth(before.cpuSeconds, now.cpuSeconds) / seconds,
    cpuLimit: limits.cpuLimit,
    memoryUsed: (before.memoryBytes + now.memoryBytes) / 2,
    memoryLimit: limits.memoryLimitBytes,
    swapUsed: (before.swapBytes + now.swapBytes) / 2,
    swapLimit: limits.swapLimitBytes,
    cpuPressure: stalled('cpuSeconds'),
    memoryPressure: stalled('memorySeconds'),
    ioPressure: stalled('ioSeconds'),
    irqPressure: stalled('irqSeconds'),
    receivedBytes: received[nth] ?? 0,
    sentBytes: sent[nth] ?? 0,
  }));
}

/** What was in a volume at one look. */
export interface Filled {
  at: number;
  bytes: number;
}

/** Without an earlier look, the record tells how full it is now, and stands for no time. Files of volumes are counted by nobody. */
export function mountSamplesOf(
  owner: Owner,
  mount: string,
  bytesMax: number,
  before: Filled | undefined,
  now: Filled,
): MountSampleRecord[] {
  const known = before && hoursOf({ from: before.at, to: now.at });
  const spans = known?.length ? known : [{ from: now.at, to: now.at }];
  const diskUsed = known?.length && before ? (before.bytes + now.bytes) / 2 : now.bytes;
  return spans.map((span) => ({
    ...owner,
    time: timeOf(span),
    seconds: (span.to - span.from) / 1000,
    mount,
    diskUsed,
    diskLimit: bytesMax,
    inodesUsed: 0,
    inodesLimit: 0,
  }));
}
