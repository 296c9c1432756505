/** What the store of measurements knows of services, minute by minute: in percent of what they may use, and how long requests to them took. */
import type { ResourcesRow, TrafficPoint } from '../../drivers/metrics/questions.ts';
import { minuteSeconds, type Minute, type ScaledService } from './decide.ts';
import { directions, triggerNames } from './settings.ts';

/** The range that has to be read: the longest duration of a trigger that is on. Both ends are whole minutes; Unix seconds. */
export function rangeFor(services: readonly Pick<ScaledService, 'settings'>[], now: number): { from: number; to: number } {
  const seconds = services.flatMap(({ settings: { triggers } }) =>
    triggerNames.flatMap((name) => (triggers[name].enabled ? directions.map((direction) => triggers[name][direction].duration) : [])),
  );
  const to = Math.floor(now / minuteSeconds) * minuteSeconds;
  return { from: to - Math.max(minuteSeconds, ...seconds), to };
}

/** The average of each minute in which there were requests, by the minute's beginning; in milliseconds. */
export type Latencies = ReadonlyMap<number, number>;

export const latenciesOf = (timeline: readonly TrafficPoint[]): Latencies =>
  new Map(timeline.filter(({ count }) => count > 0).map(({ timestamp, consumed, count }) => [timestamp, consumed / count / 1000]));

/** By service. A minute without a limit says nothing about how much of it is used; in one without requests nobody had to wait. */
export function minutesOf(rows: readonly ResourcesRow[], latencies: ReadonlyMap<string, Latencies>): Map<string, Minute[]> {
  const minutes = new Map<string, Minute[]>();
  for (const row of rows) {
    const minute = minuteOf(row, latencies.get(row.service));
    if (minute) minutes.set(row.service, [...(minutes.get(row.service) ?? []), minute]);
  }
  return minutes;
}

function minuteOf({ timestamp, mount, used, limits }: ResourcesRow, latencies: Latencies = new Map()): Minute | undefined {
  const { cpu_limit = 0, memory_limit = 0 } = limits;
  if (timestamp === undefined || mount !== undefined || cpu_limit <= 0 || memory_limit <= 0) return undefined;
  const average = (measure: string) => used[measure]?.avg ?? 0;
  return {
    at: timestamp,
    cpu: (average('cpu_used') / cpu_limit) * 100,
    memory: (average('memory_used') / memory_limit) * 100,
    cpu_pressure: average('cpu_pressure') * 100,
    memory_pressure: average('memory_pressure') * 100,
    latency: latencies.get(timestamp) ?? 0,
  };
}
