import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { ContainerStatistics } from '../../drivers/runtime/runtime.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment } from '../../testing/samples.ts';
import { openOwners } from '../deployments/public.ts';
import { noteUse } from './latest-use.ts';
import { openSampler } from './sample-containers.ts';

const seconds = (count: number) => count * 1000;

const statistics = (name: string, at: Date, cpuSeconds: number): ContainerStatistics => ({
  name,
  startedAt: new Date('2026-01-01T00:00:00Z'),
  at,
  cpuSeconds,
  cpuLimit: 1,
  throttledSeconds: 0,
  memoryBytes: 64e6,
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

test('the tree tells what each environment holds and uses, as it was last looked at, and who works on it; everybody sees their own part of it', async () => {
  const home = await openTestPlatform();
  const { db, config } = home.platform;
  const owner = await home.person();
  const { projectId, environmentId } = await sampleEnvironment(owner);
  const { id: stack } = await deploySample(home.platform, { projectId, environmentId });
  const containers = [`${stack}-app-shop-1-0`, `${stack}-app-shop-1-1`];

  // Two instances that each use a quarter of a processor, over a minute of looks; of the data of the environment, a tenth is its own.
  const begun = Date.now() - seconds(61);
  let now = new Date(begun);
  const look = await openSampler({
    runtime: { statistics: async () => containers.map((name) => statistics(name, now, 100 + (now.getTime() - begun) / seconds(4))) },
    volumes: {
      usages: async () =>
        new Map([
          [`stack-${stack}-storage-shop`, { bytes: 10e9, exclusiveBytes: 1e9, bytesMax: 20e9 }],
          [`temporary-${containers[0]}`, { bytes: 5, exclusiveBytes: 5, bytesMax: 10 }],
        ]),
    },
    owners: openOwners(db),
    metrics: { append: () => {} },
    file: join(config.data, 'last-look.json'),
    say: () => {},
    note: (uses, at) => noteUse(db, uses, at),
  });
  for (let second = 0; second <= 60; second += 5) {
    now = new Date(begun + seconds(second));
    await look(now);
  }

  await sql`update environments set data_taken_from = 'main', data_taken_at = '2026-11-15 09:00:00.123456+00'
    where project_id = ${projectId} and id = ${environmentId}`.execute(db);
  const activities = sql`insert into activities (id, project_id, type, queue, environments, environment_types, state, parameters)
    values ('pushed', ${projectId}, 'environment.push', 'push', ${[environmentId]}, '{staging}', 'complete', ${JSON.stringify({ user: owner.user.id })}::jsonb),
      ('renewed', ${projectId}, 'environment.certificate', 'push', ${[environmentId]}, '{staging}', 'complete', '{"user": "admin"}')`;
  await activities.execute(db);

  const { json: project } = await owner.send('GET', `/api/projects/${projectId}`);
  const { status, json } = await owner.send('GET', project._links.tree.href);
  expect(status).toBe(200);
  expect(json.map(({ id }: { id: string }) => id)).toEqual([environmentId, 'main']);
  expect(json[0]).toMatchObject({
    data: { taken_from: 'main', taken_at: '2026-11-15T09:00:00.123456+00:00', bytes: 10e9, own_bytes: 1e9 },
    uses: { memory_bytes: 128e6, measured_at: expect.any(String) },
    deployments: [{ is_successful: true }],
    people: [{ id: owner.user.id, last_active_at: expect.any(String) }],
  });
  expect(json[0].uses.cpu).toBeCloseTo(0.5, 1);
  expect(json[0].people).toHaveLength(1);
  expect(json[1]).toMatchObject({
    data: { taken_from: null, bytes: null },
    uses: { cpu: null, memory_bytes: null, measured_at: null },
    people: [],
  });

  const guest = await home.person();
  await owner.send('POST', `/projects/${projectId}/user-access`, [
    { user_id: guest.user.id, permissions: ['viewer', 'production:viewer'], auto_add_member: true },
  ]);
  const seen = await guest.send('GET', `/projects/${projectId}/tree`);
  expect(seen.json.map(({ id }: { id: string }) => id)).toEqual(['main']);

  // What nobody looks at any more is not told as if it were so now.
  await sql`update environment_use set measured_at = now() - interval '10 minutes' where project_id = ${projectId}`.execute(db);
  expect((await owner.send('GET', `/projects/${projectId}/tree`)).json[0]).toMatchObject({
    uses: { cpu: null },
    data: { bytes: null, taken_from: 'main' },
  });
});
