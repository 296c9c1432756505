import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readConfig } from '../../config.ts';
import type { Usage } from '../../drivers/metrics/metrics.ts';
import { accountOfDay, parts, totalOf, type Part } from './energy.ts';
import { methodOf, type Method } from './method.ts';

const hour = Date.UTC(2026, 0, 31) / 1000;

const usageIn = (nth: number, more: Partial<Usage>): Usage => ({
  project: 'shop',
  environment: 'main-abc',
  hour: hour + nth * 3600,
  transactions: 0,
  requests: 0,
  requestBytes: 0,
  responseBytes: 0,
  cpuSeconds: 0,
  memoryByteSeconds: 0,
  diskByteSeconds: 0,
  storedByteSeconds: 0,
  receivedBytes: 0,
  sentBytes: 0,
  ...more,
});

const usual: Method = { ...methodOf(readConfig({})), processors: 8, memoryBytes: 32e9 };

test('the example of the guide is what the platform works out', () => {
  const guide = readFileSync(new URL('../../../docs/using/carbon.md', import.meta.url), 'utf8');
  const [, example = ''] = guide.split('## An example');
  const number = (pattern: RegExp) => Number(pattern.exec(example)?.[1]);
  const [processors, machineGb] = [number(/(\d+) processors/), number(/and (\d+) GB of memory/)];
  const [cpuSeconds, memoryGb, diskGb] = [number(/used (\d+) seconds/), number(/([\d.]+) GB of memory and/), number(/([\d.]+) GB of disk/)];
  const trafficGb = number(/sent and got (\d+) GB/);

  const day = Array.from({ length: 24 }, (_, nth) =>
    usageIn(nth, {
      cpuSeconds: cpuSeconds / 24,
      memoryByteSeconds: memoryGb * 1e9 * 3600,
      diskByteSeconds: diskGb * 1e9 * 3600,
      requestBytes: (trafficGb * 1e9) / 48,
      responseBytes: (trafficGb * 1e9) / 48,
    }),
  );
  const { environments, own } = accountOfDay(day, { ...usual, processors, memoryBytes: machineGb * 1e9 });
  const [{ energy, emissions } = { energy: {} as Record<Part, bigint>, emissions: 0n }] = environments;

  const wattHours = (micro: bigint) => Number(micro) / 1e6;
  for (const part of parts) expect([part, wattHours(energy[part])]).toEqual([part, number(new RegExp(`\`${part}\` .*\\| +([\\d.]+) \\|`))]);
  expect(wattHours(totalOf(energy))).toBe(number(/\| sum .*\| ([\d.]+) \|/));
  expect(Number(emissions) / 1e9).toBe(number(/the value of that day is ([\d.]+\d)/));
  expect(wattHours(own.energy)).toBe(number(/([\d.]+) Wh are the platform's own/));
});

test('the coefficients that the guide calls usual are the defaults', () => {
  const guide = readFileSync(new URL('../../../docs/using/carbon.md', import.meta.url), 'utf8');
  const [, method = ''] = guide.split('## The method');
  const told = ['3.5', '0.74', '0.392', '1.2', '1', '1.58'];
  expect([...method.matchAll(/^\|.*\| ([\d.]+) +\|$/gm)].map(([, value]) => value).slice(0, told.length)).toEqual(told);
  const { full, idle, memory, disk, network, pue, carbonIntensity } = methodOf(readConfig({}));
  expect([full, idle, memory, disk, network, pue].map(String)).toEqual(told);
  expect(carbonIntensity).toBe(480);
});

const anyUsage = fc
  .record({
    project: fc.constantFrom('shop', 'blog'),
    environment: fc.constantFrom('main-abc', 'next-def', 'fix-ghi'),
    nth: fc.integer({ min: 0, max: 23 }),
    cpuSeconds: fc.double({ min: 0, max: 28_800, noNaN: true }),
    memoryByteSeconds: fc.double({ min: 0, max: 40e9 * 3600, noNaN: true }),
    diskByteSeconds: fc.double({ min: 0, max: 1e12 * 3600, noNaN: true }),
    responseBytes: fc.nat(),
  })
  .map(({ nth, ...more }) => usageIn(nth, more));

test('environments and the platform share what the machine drew at rest, whatever was measured', () => {
  fc.assert(
    fc.property(fc.array(anyUsage, { maxLength: 40 }), (usage) => {
      const { environments, own } = accountOfDay(usage, usual);
      const hours = new Set(usage.filter((each) => each.cpuSeconds + each.memoryByteSeconds > 0).map((each) => each.hour)).size;
      const drawn = Math.round(hours * (8 * usual.idle + 32 * usual.memory) * usual.pue * 1e6);
      const charged = environments.reduce((sum, { energy }) => sum + energy.idle + energy.memory, 0n);
      // An environment's parts are rounded one by one: all of them together are off by half a microwatt-hour each, at most.
      expect(Math.abs(Number(charged + own.energy) - drawn)).toBeLessThanOrEqual(environments.length);
      expect(environments.every(({ energy }) => parts.every((part) => energy[part] >= 0n))).toBe(true);
    }),
  );
});

test('what one environment is charged with does not depend on the others', () => {
  const mine = usageIn(3, { cpuSeconds: 100, memoryByteSeconds: 1e9 * 3600 });
  const other = usageIn(3, { environment: 'next-def', cpuSeconds: 9000, memoryByteSeconds: 20e9 * 3600 });
  expect(accountOfDay([mine, other], usual).environments[0]).toEqual(accountOfDay([mine], usual).environments[0]);
});
