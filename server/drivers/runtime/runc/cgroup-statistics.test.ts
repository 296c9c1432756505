import { expect, test } from 'vitest';
import type { ContainerStatistics } from '../runtime.ts';
import { countedByVersion1, countedByVersion2, pressureIn, trafficIn } from './cgroup-statistics.ts';
import { openStatistics } from './statistics.ts';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuntimeFolders } from './runtime-folders.ts';

const whole = { cpus: 8, memoryBytes: 16 * 2 ** 30 };
const megabyte = 2 ** 20;

/** In the form in which the kernel writes them, with the same numbers for both: of a container of half a core and 128 MB. */
const textsOfVersion1 = {
  cpuUsage: '1532093817\n',
  cpuStat: 'nr_periods 37\nnr_throttled 12\nthrottled_time 845302118\nnr_bursts 0\nburst_time 0\n',
  cpuQuota: '50000\n',
  cpuPeriod: '100000\n',
  memory: '52428800\n',
  memoryStat:
    'cache 20971520\nrss 30408704\nswap 0\ninactive_file 4194304\nhierarchical_memory_limit 134217728\ntotal_cache 20971520\ntotal_swap 1048576\ntotal_inactive_anon 0\ntotal_inactive_file 16777216\n',
  memoryLimit: '134217728\n',
  withSwapLimit: '167772160\n',
  outOfMemory: 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
  pids: '7\n',
  io: '254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 8192\n254:0 Total 12288\n254:16 Read 1024\n254:16 Write 0\nTotal 13312\n',
};

const textsOfVersion2 = {
  cpuStat:
    'usage_usec 1532093\nuser_usec 1200000\nsystem_usec 332093\nnice_usec 0\nnr_periods 37\nnr_throttled 12\nthrottled_usec 845302\nnr_bursts 0\n',
  cpuMax: '50000 100000\n',
  memory: '52428800\n',
  memoryStat: 'anon 30408704\nfile 20971520\nkernel 1048576\ninactive_anon 0\nactive_file 4194304\ninactive_file 16777216\n',
  memoryMax: '134217728\n',
  swap: '1048576\n',
  swapMax: '33554432\n',
  memoryEvents: 'low 0\nhigh 0\nmax 41\noom 4\noom_kill 3\noom_group_kill 0\n',
  pids: '7\n',
  io: '254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n254:16 rbytes=1024 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n',
};

const meant = {
  cpuLimit: 0.5,
  memoryBytes: 34 * megabyte,
  memoryLimitBytes: 128 * megabyte,
  swapBytes: megabyte,
  swapLimitBytes: 32 * megabyte,
  outOfMemoryKills: 3,
  pids: 7,
  diskReadBytes: 5120,
  diskWrittenBytes: 8192,
};

test('both versions of control groups are understood to say the same', () => {
  expect(countedByVersion1(textsOfVersion1, whole)).toEqual({ ...meant, cpuSeconds: 1.532093817, throttledSeconds: 0.845302118 });
  expect(countedByVersion2(textsOfVersion2, whole)).toEqual({ ...meant, cpuSeconds: 1.532093, throttledSeconds: 0.845302 });
});

test('without a limit a container may use the whole machine', () => {
  const unlimited1 = {
    ...textsOfVersion1,
    cpuQuota: '-1\n',
    memoryLimit: '9223372036854771712\n',
    withSwapLimit: '9223372036854771712\n',
  };
  const unlimited2 = { ...textsOfVersion2, cpuMax: 'max 100000\n', memoryMax: 'max\n', swapMax: 'max\n' };
  const most = { cpuLimit: 8, memoryLimitBytes: whole.memoryBytes };
  expect(countedByVersion1(unlimited1, whole)).toMatchObject({ ...most, swapLimitBytes: 0 });
  expect(countedByVersion2(unlimited2, whole)).toMatchObject({ ...most, swapLimitBytes: whole.memoryBytes });
});

test('what a kernel was built without counts as nothing', () => {
  const { withSwapLimit: _, io, ...without } = textsOfVersion1;
  expect(countedByVersion1({ ...without, ioAlone: io }, whole)).toMatchObject({ swapLimitBytes: 0, diskWrittenBytes: 8192 });
  const { swap: __, swapMax: ___, ...withoutSwap } = textsOfVersion2;
  expect(countedByVersion2(withoutSwap, whole)).toMatchObject({ swapBytes: 0, swapLimitBytes: 0, memoryBytes: 34 * megabyte });
});

const stalled = (some: number, full: number) =>
  `some avg10=1.53 avg60=0.87 avg300=0.22 total=${some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=${full}\n`;

test('pressure is the time in which somebody waited, to the microsecond; interrupts are what stopped everybody', () => {
  const texts = { cpu: stalled(1_000_001, 5), memory: stalled(250, 0), io: stalled(0, 0) };
  const seconds = { cpuSeconds: 1.000001, memorySeconds: 0.00025, ioSeconds: 0 };
  expect(pressureIn({ ...texts, irq: 'full avg10=0.00 avg60=0.00 avg300=0.00 total=70\n' })).toEqual({ ...seconds, irqSeconds: 0.00007 });
  expect(pressureIn(texts)).toEqual({ ...seconds, irqSeconds: 0 });
  expect(pressureIn({ ...texts, memory: undefined })).toBeUndefined();
});

test('traffic is that of the link to others, in both directions', () => {
  const recorded = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  999999    1000    0    0    0     0          0         0   999999    1000    0    0    0     0       0          0
  eth0: 123456     100    0    0    0     0          0         0    65432      90    0    0    0     0       0          0\n`;
  expect(trafficIn(recorded)).toEqual({ networkReceivedBytes: 123_456, networkSentBytes: 65_432 });
  expect(trafficIn(undefined)).toEqual({ networkReceivedBytes: 0, networkSentBytes: 0 });
});

test('one whose numbers do not come is left out, and is not asked for again before they have come', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-statistics-'));
  const folders = openRuntimeFolders(folder, { runFolder: join(folder, 'run') });
  for (const name of ['hanging', 'quick']) mkdirSync(join(folders.runContainers, name), { recursive: true });
  const comes = Promise.withResolvers<void>();
  const asked: string[] = [];
  const read = async (name: string) => {
    asked.push(name);
    if (name === 'hanging') await comes.promise;
    return { name } as ContainerStatistics;
  };
  const statistics = openStatistics(folders, read, 20);
  const names = async () => (await statistics()).map(({ name }) => name);
  expect(await names()).toEqual(['quick']);
  expect(await names()).toEqual(['quick']);
  expect(asked.filter((name) => name === 'hanging')).toHaveLength(1);
  comes.resolve();
  await expect.poll(names).toEqual(['hanging', 'quick']);
  rmSync(folder, { recursive: true });
});
