/** As if an app had been measured: its load is what a test says. */
import type { RequestRecord, SampleRecord, Scope } from '../../drivers/metrics/metrics.ts';
import type { Platform } from '../../platform.ts';

const idle = { swapUsed: 0, swapLimit: 0, ioPressure: 0, irqPressure: 0, receivedBytes: 0, sentBytes: 0 };

/** One sample in each of the minutes before; `cpu` is in percent. */
export async function measure({ metrics }: Platform, scope: Scope, now: Date, minutes: number, cpu: number): Promise<void> {
  const end = Math.floor(now.getTime() / 60_000) * 60_000;
  const samples = Array.from({ length: minutes }, (_, nth): SampleRecord => ({
    ...idle,
    ...scope,
    time: end - (nth + 1) * 60_000 + 30_000,
    service: 'app',
    instance: 'app.0',
    seconds: 5,
    cpuUsed: cpu / 100,
    cpuLimit: 1,
    memoryUsed: 500,
    memoryLimit: 1000,
    cpuPressure: 0.2,
    memoryPressure: 0.2,
  }));
  metrics.append('samples', samples);
  await metrics.settled();
}

/** One request in each of the minutes before. */
export async function visit({ metrics }: Platform, scope: Scope, now: Date, minutes: number, milliseconds: number): Promise<void> {
  const end = Math.floor(now.getTime() / 60_000) * 60_000;
  const requests = Array.from({ length: minutes }, (_, nth): RequestRecord => ({
    ...scope,
    time: end - (nth + 1) * 60_000 + 30_000,
    application: 'app',
    domain: 'example.org',
    method: 'GET',
    url: '/',
    ip: '192.0.2.1',
    userAgent: 'test',
    status: 200,
    wallTime: milliseconds * 1000,
    requestBytes: 100,
    responseBytes: 100,
  }));
  metrics.append('requests', requests);
  await metrics.settled();
}

export const later = (time: Date, minutes: number) => new Date(time.getTime() + minutes * 60_000);
