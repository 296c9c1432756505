/** From the names of volumes on the machine to what the store has of an environment: bytes that are on disk once are counted once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ContainerStatistics } from '../../drivers/runtime/runtime.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment } from '../../testing/samples.ts';
import { shop, worker } from '../../testing/stack.ts';
import { openOwners } from '../deployments/public.ts';
import { openSampler } from './sample-containers.ts';

const hourSeconds = 3600;
/** An hour that is over, in Unix seconds. */
const hour = (Math.floor(Date.now() / 1000 / hourSeconds) - 1) * hourSeconds;
const momentOf = (seconds: number) => new Date((hour + seconds) * 1000);

/** A shop whose two instances have two folders of one disk, one of which its worker has as well. */
function shopWithOneDisk() {
  const model = shop();
  const folder = (source_path: string, service: string | null = null) => ({ source: 'storage' as const, source_path, service });
  const app = model.applications['shop'];
  if (app) app.mounts = { '/public/uploads': folder('uploads'), '/var/exports': folder('exports') };
  if (app) app.workers = { queue: worker({ mounts: { '/public/uploads': folder('uploads', 'shop') } }) };
  return model;
}

const idle = (name: string, at: Date): ContainerStatistics => ({
  name,
  startedAt: momentOf(0),
  at,
  cpuSeconds: 0,
  cpuLimit: 1,
  throttledSeconds: 0,
  memoryBytes: 0,
  memoryLimitBytes: 1e9,
  swapBytes: 0,
  swapLimitBytes: 0,
  outOfMemoryKills: 0,
  pids: 1,
  diskReadBytes: 0,
  diskWrittenBytes: 0,
  networkReceivedBytes: 0,
  networkSentBytes: 0,
  pressure: undefined,
  temporaryVolume: `temporary-${name}`,
});

test('a disk counts once, however many instances, workers and mounts have it; what goes with each container counts beside it', async () => {
  const home = await openTestPlatform();
  const { db, metrics, config } = home.platform;
  const address = await sampleEnvironment(await home.person());
  const { id } = await deploySample(home.platform, address, { model: shopWithOneDisk() });
  const containers = [`${id}-app-shop-1-0`, `${id}-app-shop-1-1`, `${id}-app-shop--queue-1-0`];
  const [diskBytes, temporaryBytes] = [1e9, 1e6];
  const usages = new Map([
    [`stack-${id}-storage-shop`, { bytes: diskBytes, exclusiveBytes: diskBytes, bytesMax: 2e9 }],
    ...containers.map((name) => [`temporary-${name}`, { bytes: temporaryBytes, exclusiveBytes: temporaryBytes, bytesMax: 2e9 }] as const),
  ]);
  let now = momentOf(600);
  const look = await openSampler({
    runtime: { statistics: async () => containers.map((name) => idle(name, now)) },
    volumes: { usages: async () => usages },
    owners: openOwners(db),
    metrics,
    file: join(config.data, 'last-look.json'),
    say: () => {},
  });
  const minutes = 3;
  await look(now);
  for (let minute = 1; minute <= minutes; minute++) {
    now = momentOf(600 + minute * 60);
    await look(now);
  }
  await metrics.settled();
  const used = (await metrics.usage({ from: hour, to: hour + hourSeconds })).filter(({ project }) => project === address.projectId);
  const sum = (of: 'diskByteSeconds' | 'storedByteSeconds') => used.reduce((total, usage) => total + usage[of], 0);
  expect(sum('storedByteSeconds')).toBe(diskBytes * minutes * 60);
  expect(sum('diskByteSeconds')).toBe((diskBytes + containers.length * temporaryBytes) * minutes * 60);
});

test('every minute of the clock has a look at volumes, however long looks take, and what has come is looked at soon', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-volumes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const owner = { project: 'p', environment: 'main-abc', service: 'app', instance: 'app.0' };
  const looks: number[] = [];
  const containers = ['first'];
  let now = momentOf(600);
  const look = await openSampler({
    runtime: { statistics: async () => containers.map((name) => idle(name, now)) },
    volumes: {
      usages: async () => {
        looks.push((now.getTime() - momentOf(600).getTime()) / 1000);
        return new Map();
      },
    },
    owners: async () => ({ ofContainer: () => owner, ofVolume: () => owner }),
    metrics: { append: () => {} },
    file: join(folder, 'last-look.json'),
    say: () => {},
  });
  for (let second = 2; second < 200; second += 7) {
    if (second > 30) containers[1] = 'second';
    now = momentOf(600 + second);
    await look(now);
  }
  expect(looks).toEqual([2, 37, 65, 121, 184]);
});
