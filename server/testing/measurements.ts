/** One of everything that is measured of an environment, some minutes ago. */
import type { MountSampleRecord, RequestRecord, SampleRecord, Scope, SpanRecord, TransactionRecord } from '../drivers/metrics/metrics.ts';
import type { Platform } from '../platform.ts';
import { machineName } from '../rooms/environments/public.ts';

export const scopeIn = (projectId: string, environmentId: string): Scope => ({
  project: projectId,
  environment: machineName(environmentId, projectId),
});

export const sampleTransaction = (scope: Scope, time: number, more: Partial<TransactionRecord> = {}): TransactionRecord => ({
  ...scope,
  time,
  context: 'web',
  transaction: 'home page',
  application: 'api',
  instance: 'api.0',
  status: 200,
  httpHost: 'example.org',
  host: 'api.0',
  framework: 'express',
  language: 'nodejs',
  method: 'get',
  runtime: 'Node.js 24',
  os: 'Linux',
  wallTime: 20_000,
  peakMemory: 2 ** 24,
  output: 500,
  ...more,
});

export const sampleSpan = (scope: Scope, time: number, more: Partial<SpanRecord> = {}): SpanRecord => ({
  ...sampleTransaction(scope, time),
  trace: '1',
  span: 'select 1',
  label: 'SELECT 1',
  service: 'db',
  spanTime: 5000,
  ...more,
});

export const sampleRequest = (scope: Scope, time: number, more: Partial<RequestRecord> = {}): RequestRecord => ({
  ...scope,
  time,
  application: 'api',
  domain: 'example.org',
  method: 'GET',
  url: '/',
  ip: '192.0.2.1',
  userAgent: 'curl/8',
  status: 200,
  wallTime: 20_000,
  requestBytes: 100,
  responseBytes: 500,
  ...more,
});

export const sampleUse = (scope: Scope, time: number, more: Partial<SampleRecord> = {}): SampleRecord => ({
  ...scope,
  time,
  service: 'api',
  instance: 'api.0',
  seconds: 10,
  cpuUsed: 0.25,
  cpuLimit: 0.5,
  memoryUsed: 2 ** 27,
  memoryLimit: 2 ** 28,
  swapUsed: 0,
  swapLimit: 0,
  cpuPressure: 0.1,
  memoryPressure: 0,
  ioPressure: 0,
  irqPressure: 0,
  receivedBytes: 1,
  sentBytes: 1,
  ...more,
});

export const sampleMount = (scope: Scope, time: number, more: Partial<MountSampleRecord> = {}): MountSampleRecord => ({
  ...scope,
  time,
  service: 'api',
  instance: 'api.0',
  seconds: 10,
  mount: '/mnt',
  diskUsed: 2 ** 20,
  diskLimit: 2 ** 30,
  inodesUsed: 10,
  inodesLimit: 1000,
  ...more,
});

export async function measureSample({ metrics }: Platform, projectId: string, environmentId: string): Promise<void> {
  const scope = scopeIn(projectId, environmentId);
  const time = Date.now() - 600_000;
  metrics.append('transactions', [sampleTransaction(scope, time)]);
  metrics.append('spans', [sampleSpan(scope, time)]);
  metrics.append('requests', [sampleRequest(scope, time)]);
  metrics.append('samples', [sampleUse(scope, time)]);
  metrics.append('mounts', [sampleMount(scope, time)]);
  await metrics.settled();
}
