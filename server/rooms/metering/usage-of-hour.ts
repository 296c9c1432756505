/** What an hour came to: pure sums of what was allocated in it and of what was measured. All times are Unix milliseconds. */
import type { Usage } from '../../drivers/metrics/metrics.ts';
import type { Allocated, AllocatedKind } from './allocated.ts';

export const quantities = [
  'allocated_time',
  'cpu_allocated',
  'memory_allocated',
  'storage_allocated',
  'cpu_used',
  'memory_used',
  'storage_used',
  'received',
  'sent',
  'requests',
  'request_bytes',
  'response_bytes',
  'forwarded_bytes',
] as const;
export type Quantity = (typeof quantities)[number];
/** Whole numbers: milliseconds, milliseconds of one CPU, seconds of one MB, bytes, requests. */
export type Quantities = Record<Quantity, number>;

export const noQuantities = (): Quantities => Object.fromEntries(quantities.map((quantity) => [quantity, 0])) as Quantities;

/** What is measured of something that nobody allocated: requests that no app answered are the router's, and logs that were forwarded are the environment's. */
export type MeteredKind = AllocatedKind | 'router' | 'logs' | 'other';

export interface Metered {
  organization_id: string;
  project_id: string;
  environment: string;
  service: string;
  kind: MeteredKind;
}

export interface AllocatedSpan extends Omit<Metered, 'service' | 'kind'> {
  amounts: readonly Allocated[];
  since: number;
  /** Infinity: there is no end yet. */
  until: number;
}

/** Logs of an environment that sinks outside took. */
export interface ForwardedLogs extends Pick<Metered, 'project_id' | 'environment'> {
  bytes: number;
}

export interface HourFacts {
  hour: number;
  /** What lies after this has not happened yet. */
  now: number;
  allocations: readonly AllocatedSpan[];
  measured: readonly Usage[];
  forwarded: readonly ForwardedLogs[];
  /** The organization that each project belongs to. */
  organizations: ReadonlyMap<string, string>;
}

export interface HourOfUsage {
  metered: Metered;
  quantities: Quantities;
}

export const hourMilliseconds = 3_600_000;
const megabyte = 2 ** 20;

const byService = ({ project_id, environment, service }: Pick<Metered, 'project_id' | 'environment' | 'service'>) =>
  JSON.stringify([project_id, environment, service]);
const keyOf = (metered: Metered) => JSON.stringify([byService(metered), metered.kind, metered.organization_id]);
/** Builds and backups are not what runs under the name. */
const isMeasured = ({ kind }: Pick<Metered, 'kind'>) => kind !== 'build' && kind !== 'backups';

export function usageOfHour({ hour, now, allocations, measured, forwarded, organizations }: HourFacts): HourOfUsage[] {
  const sums = new Map<string, HourOfUsage>();
  const owners = new Map<string, Metered>();
  const add = (metered: Metered, more: Partial<Quantities>) => {
    const sum = sums.get(keyOf(metered)) ?? { metered, quantities: noQuantities() };
    for (const quantity of quantities) sum.quantities[quantity] += more[quantity] ?? 0;
    sums.set(keyOf(metered), sum);
  };
  const ends = Math.min(hour + hourMilliseconds, now);
  for (const { amounts, since, until, ...whose } of allocations.toSorted((one, other) => one.since - other.since)) {
    const milliseconds = Math.min(until, ends) - Math.max(since, hour);
    if (milliseconds <= 0) continue;
    for (const { service, kind, ...amount } of amounts) {
      const metered = { ...whose, service, kind };
      add(metered, allocatedFor(milliseconds, amount));
      if (isMeasured(metered)) owners.set(byService(metered), metered);
    }
  }
  for (const usage of measured) {
    const { project: project_id, environment, service = '' } = usage;
    const unknown = { organization_id: organizations.get(project_id) ?? '', kind: service === '' ? 'router' : 'other' } as const;
    const whose = { project_id, environment, service };
    add(owners.get(byService(whose)) ?? { ...unknown, ...whose }, usedIn(usage));
  }
  for (const { bytes, ...whose } of forwarded)
    add({ organization_id: organizations.get(whose.project_id) ?? '', ...whose, service: '', kind: 'logs' }, { forwarded_bytes: bytes });
  return [...sums.values()].map(({ metered, quantities: exact }) => ({ metered, quantities: rounded(exact) })).filter(isSomething);
}

const allocatedFor = (milliseconds: number, { cpu, memory, disk }: Pick<Allocated, 'cpu' | 'memory' | 'disk'>): Partial<Quantities> => ({
  allocated_time: cpu > 0 ? milliseconds : 0,
  cpu_allocated: cpu * milliseconds,
  memory_allocated: (memory * milliseconds) / 1000,
  storage_allocated: (disk * milliseconds) / 1000,
});

const usedIn = (usage: Usage): Partial<Quantities> => ({
  cpu_used: usage.cpuSeconds * 1000,
  memory_used: usage.memoryByteSeconds / megabyte,
  storage_used: usage.storedByteSeconds / megabyte,
  received: usage.receivedBytes,
  sent: usage.sentBytes,
  requests: usage.requests,
  request_bytes: usage.requestBytes,
  response_bytes: usage.responseBytes,
});

/** Once for each hour, so that all sums of hours are sums of whole numbers, and the same in whatever order. */
const rounded = (exact: Quantities) =>
  Object.fromEntries(quantities.map((quantity) => [quantity, Math.round(exact[quantity])])) as Quantities;

const isSomething = ({ quantities: sum }: HourOfUsage) => quantities.some((quantity) => sum[quantity] > 0);
