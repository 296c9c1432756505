/**
 * What is charged of what was metered, in one table. Of what is allocated, the price is for one of it over a whole month, and a part of a month costs that part; of what
 * adds up, it is for one of it.
 */
import type { MeteredKind, Quantity } from '../metering/public.ts';

export interface Feature {
  title: string;
  unit: string;
  /** What counts, of which kinds; undefined where nothing of it is metered here. */
  of?: { kinds: readonly MeteredKind[]; quantity: Quantity };
  /** How many of the metered quantity are one unit: of what is allocated, one unit for a second. */
  size: bigint;
  isAllocated: boolean;
  /** Whether it is cheaper in a green region. */
  isGreen: boolean;
}

const programs = ['app', 'worker', 'task'] as const;
const running = [...programs, 'service'] as const;
const measured = [...running, 'router', 'other'] as const;

const cpuMilliseconds = 1000n;
const megabytesInGigabyte = 1024n;
const hourSeconds = 3600n;
const gigabyte = 2n ** 30n;

export const features = {
  cpu_app: feature('CPU of applications', 'CPU', { kinds: programs, quantity: 'cpu_allocated' }, cpuMilliseconds, true),
  memory_app: feature('Memory of applications', 'GB', { kinds: programs, quantity: 'memory_allocated' }, megabytesInGigabyte, true),
  cpu_services: feature('CPU of services', 'CPU', { kinds: ['service'], quantity: 'cpu_allocated' }, cpuMilliseconds, true),
  memory_services: feature('Memory of services', 'GB', { kinds: ['service'], quantity: 'memory_allocated' }, megabytesInGigabyte, true),
  storage_app_services: feature(
    'Storage of applications and services',
    'GB',
    { kinds: running, quantity: 'storage_allocated' },
    megabytesInGigabyte,
    false,
  ),
  backup_storage: feature('Storage of backups', 'GB', { kinds: ['backups'], quantity: 'storage_allocated' }, megabytesInGigabyte, false),
  build_cpu: adding('CPU of builds', 'CPU hours', { kinds: ['build'], quantity: 'cpu_allocated' }, cpuMilliseconds * hourSeconds, true),
  build_memory: adding(
    'Memory of builds',
    'GB hours',
    { kinds: ['build'], quantity: 'memory_allocated' },
    megabytesInGigabyte * hourSeconds,
    true,
  ),
  egress_bandwidth: adding('Traffic out', 'GB', { kinds: measured, quantity: 'response_bytes' }, gigabyte, false),
  ingress_requests: adding('Requests in', 'requests', { kinds: measured, quantity: 'requests' }, 1n, false),
  logs_fwd_content_size: adding('Forwarded logs', 'GB', { kinds: ['logs'], quantity: 'forwarded_bytes' }, gigabyte, false),
  fastly_bandwidth: adding('CDN traffic', 'GB', undefined, gigabyte, false),
  fastly_requests: adding('CDN requests', 'requests', undefined, 1n, false),
} as const satisfies Record<string, Feature>;

export type FeatureName = keyof typeof features;
export const featureNames = Object.keys(features) as FeatureName[];

type Counted = Feature['of'];

function feature(title: string, unit: string, of: Counted, size: bigint, isGreen: boolean): Feature {
  return { title, unit, ...(of && { of }), size, isAllocated: true, isGreen };
}

function adding(title: string, unit: string, of: Counted, size: bigint, isGreen: boolean): Feature {
  return { title, unit, ...(of && { of }), size, isAllocated: false, isGreen };
}
