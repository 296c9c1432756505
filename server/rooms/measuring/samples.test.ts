import { expect, test } from 'vitest';
import { beginningOf, hoursOf, mountSamplesOf, samplesOf, type Counters } from './samples.ts';

const hour = 3_600_000;
const noon = Date.UTC(2026, 10, 16, 12);
const owner = { project: 'p', environment: 'main-bvxea6i', service: 'app', instance: 'app.0' };
const limits = { cpuLimit: 2, memoryLimitBytes: 1000, swapLimitBytes: 0 };

const counters = (at: number, fields: Partial<Counters> = {}): Counters => ({
  startedAt: noon - hour,
  at,
  cpuSeconds: 0,
  memoryBytes: 400,
  swapBytes: 0,
  networkReceivedBytes: 0,
  networkSentBytes: 0,
  pressure: { cpuSeconds: 0, memorySeconds: 0, ioSeconds: 0, irqSeconds: 0 },
  ...fields,
});

test('a sample is what was used between two looks', () => {
  const pressure = { cpuSeconds: 1.25, memorySeconds: 0, ioSeconds: 0.5, irqSeconds: 0.005 };
  const now = counters(noon + 5000, { cpuSeconds: 7, memoryBytes: 600, networkReceivedBytes: 30, networkSentBytes: 50, pressure });
  expect(samplesOf(owner, limits, counters(noon, { cpuSeconds: 2, networkSentBytes: 10 }), now)).toEqual([
    {
      ...owner,
      time: noon + 5000,
      seconds: 5,
      cpuUsed: 1,
      cpuLimit: 2,
      memoryUsed: 500,
      memoryLimit: 1000,
      swapUsed: 0,
      swapLimit: 0,
      cpuPressure: 0.25,
      memoryPressure: 0,
      ioPressure: 0.1,
      irqPressure: 0.001,
      receivedBytes: 30,
      sentBytes: 40,
    },
  ]);
});

test('what was used while the platform was off adds up, spread over the hours of that time', () => {
  const [from, to] = [noon - 90_000, noon + 2 * hour + 30_000];
  const before = counters(from, { cpuSeconds: 100 });
  const samples = samplesOf(owner, limits, before, counters(to, { cpuSeconds: 832, networkReceivedBytes: 1001 }));
  expect(samples.map(({ time, seconds }) => [Math.floor((time - noon) / hour), seconds])).toEqual([
    [-1, 90],
    [0, 3600],
    [1, 3600],
    [2, 30],
  ]);
  expect(samples.reduce((sum, { seconds, cpuUsed }) => sum + seconds * cpuUsed, 0)).toBeCloseTo(732);
  expect(samples.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0)).toBe(1001);
});

test('a container that was started again since the last look began with nothing, and yields nothing negative', () => {
  const before = counters(noon, { cpuSeconds: 500, networkSentBytes: 900 });
  const now = counters(noon + 5000, { startedAt: noon + 3000, cpuSeconds: 1, networkSentBytes: 10 });
  const beginning = beginningOf(now, before, noon);
  expect(beginning).toMatchObject({ at: noon + 3000, cpuSeconds: 0, networkSentBytes: 0 });
  expect(samplesOf(owner, limits, beginning!, now)).toMatchObject([{ seconds: 2, cpuUsed: 0.5, sentBytes: 10 }]);
});

test('of a container that ran before anybody looked, the first look only remembers where counting begins', () => {
  expect(beginningOf(counters(noon + 5000, { cpuSeconds: 86_400 }), undefined, noon)).toBeUndefined();
});

test('a clock that was set back, or a gap longer than anything is kept, yields no sample', () => {
  expect(hoursOf({ from: noon, to: noon - 1 })).toEqual([]);
  expect(hoursOf({ from: noon, to: noon + 31 * 24 * hour })).toEqual([]);
});

test('a volume that is seen for the first time tells how full it is, and stands for no time', () => {
  const sample = { ...owner, mount: '/mnt', diskLimit: 1000 };
  expect(mountSamplesOf(owner, '/mnt', 1000, undefined, { at: noon + 1, bytes: 300 })).toMatchObject([
    { ...sample, seconds: 0, diskUsed: 300 },
  ]);
  const later = mountSamplesOf(owner, '/mnt', 1000, { at: noon + 1, bytes: 300 }, { at: noon + 60_001, bytes: 500 });
  expect(later).toMatchObject([{ ...sample, seconds: 60, diskUsed: 400 }]);
});
