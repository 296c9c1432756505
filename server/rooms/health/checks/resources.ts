/** Disks and memory of apps and services, on average over some minutes. */
import { diskMount } from '../../../drivers/metrics/metrics.ts';
import type { ResourcesRow } from '../../../drivers/metrics/questions.ts';
import { check, type Reading, type Thresholds } from './check.ts';

const gigabyte = 2 ** 30;

/** Of what is free; the smaller of both counts, so that large disks are not reported while there is plenty of room. */
const lowDisk = { warning: { percent: 20, bytes: 4 * gigabyte }, critical: { percent: 10, bytes: 2 * gigabyte } };

function diskThresholds(limitBytes: number): Thresholds {
  const usedPercent = ({ percent, bytes }: { percent: number; bytes: number }) => 100 - Math.min(percent, (bytes / limitBytes) * 100);
  const warning = usedPercent(lowDisk.warning);
  return { warning, critical: usedPercent(lowDisk.critical), recovery: warning };
}

export const disk = check({
  source: 'resources',
  title: (service) => `The disk of ${service} is nearly full`,
  quietSeconds: 600,
  read: (rows) =>
    worstOfEach(rows.filter(({ mount }) => mount === diskMount).flatMap((row) => usedOf(row, 'disk'))).map(({ service, used, limit }) => ({
      subject: service,
      value: (used / limit) * 100,
      text: `${service} uses ${inGigabytes(used)} of its disk of ${inGigabytes(limit)}; ${inGigabytes(Math.max(0, limit - used))} are free.`,
      thresholds: diskThresholds(limit),
    })),
});

const memoryThresholds = { warning: 90, critical: 97, recovery: 85 };

export const memory = check({
  source: 'resources',
  title: (service) => `${service} has nearly no memory left`,
  quietSeconds: 900,
  read: (rows) =>
    worstOfEach(rows.filter(({ mount }) => mount === undefined).flatMap((row) => usedOf(row, 'memory'))).map(
      ({ service, used, limit }): Reading => ({
        subject: service,
        value: (used / limit) * 100,
        text: `${service} uses ${inGigabytes(used)} of ${inGigabytes(limit)} of memory on average. At its limit, its processes are killed.`,
        thresholds: memoryThresholds,
      }),
    ),
});

interface Used {
  service: string;
  used: number;
  limit: number;
}

function usedOf({ service, used, limits }: ResourcesRow, what: 'disk' | 'memory'): Used[] {
  const [average, limit] = [used[`${what}_used`]?.avg, limits[`${what}_limit`] ?? 0];
  return average === undefined || limit <= 0 ? [] : [{ service, used: average, limit }];
}

/** Of several instances, the one that is closest to its limit. */
function worstOfEach(all: readonly Used[]): Used[] {
  const share = ({ used, limit }: Used) => used / limit;
  return [...Map.groupBy(all, ({ service }) => service).values()].flatMap((own) => own.toSorted((a, b) => share(b) - share(a)).slice(0, 1));
}

const inGigabytes = (bytes: number) => `${(bytes / gigabyte).toFixed(2)} GB`;
