import { sql, type KyselyPlugin } from 'kysely';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Usage } from '../../drivers/metrics/metrics.ts';
import type { Db } from '../../kernel/sql.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment } from '../../testing/samples.ts';
import type { Allocated } from './allocated.ts';
import { lookAtAllocations } from './interruptions.ts';
import { lateMilliseconds, meterHours, passWhileNothingIsAllocated } from './meter-hours.ts';
import { countForwarded } from './forwarded-logs.ts';
import { noteBackups } from './note-backups.ts';
import { closedUntil, sumUsage, type UsageLevel } from './sums.ts';
import { quantities } from './usage-of-hour.ts';

const hour = 3_600_000;
/** A midnight of some days ago, so that the store still takes records of it. */
const start = Math.floor(Date.now() / (24 * hour)) * 24 * hour - 5 * 24 * hour;
const megabyte = 2 ** 20;

let home: TestPlatform;
let db: Db;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  ({ db } = home.platform);
  owner = await home.person();
});
beforeEach(async () => {
  await sql`truncate allocations, usage_hours, metered, metering, forwarded_logs, counted_forwardings`.execute(db);
});

const look = (now: number, bootId = 'boot', processStarted = 0) => lookAtAllocations(db, { now, bootId, processStarted });
const meter = (now: number, measured: readonly Usage[], mayClose = true, using = db) =>
  meterHours({
    db: using,
    metrics: { usage: async ({ from, to }) => measured.filter((each) => each.hour >= from && each.hour < to) },
    now: new Date(now),
    mayClose,
  });

const measuredIn = (time: number, fields: Partial<Usage> = {}): Usage => ({
  project: 'p',
  environment: 'main',
  service: 'app',
  hour: Math.floor(time / hour) * 3600,
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
  ...fields,
});

const app: Allocated = { service: 'app', kind: 'app', cpu: 0.5, memory: 1000, disk: 2000 };

const allocate = (since: number, until: number | undefined, amounts: readonly Allocated[] = [app], subject = 'deployment') =>
  sql`insert into allocations (organization_id, project_id, environment, subject, version, amounts, since, until)
    values ('o', 'p', 'main', ${subject}, 'v', ${JSON.stringify(amounts)}::jsonb, to_timestamp(${since / 1000}::double precision),
      to_timestamp(${until === undefined ? null : until / 1000}::double precision))`.execute(db);

const sums = (by: readonly UsageLevel[] = [], from = start, to = start + 240 * hour) =>
  sumUsage(db, { from: new Date(from), to: new Date(to), by });
const rows = async () => (await sql`select * from usage_hours order by hour, metered_id`.execute(db)).rows;

/** As if killed before the statement of that number. */
function killedAt(statement: number): { db: Db; isOver(): boolean } {
  let executed = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      executed += 1;
      if (executed === statement) throw new Error('killed');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return { db: db.withPlugin(plugin), isOver: () => executed < statement };
}

describe('an hour', () => {
  test('is what was allocated in it, for as long as it was, and what was measured', async () => {
    await look(start);
    await allocate(start - hour, start + hour / 2);
    await allocate(start + hour / 2, undefined, [{ ...app, cpu: 1 }]);
    await meter(start + hour, [
      measuredIn(start, { cpuSeconds: 12.3456, memoryByteSeconds: 5 * megabyte, requests: 3, responseBytes: 99 }),
    ]);
    expect(await sums(['organization_id', 'project_id', 'environment', 'service', 'kind'])).toEqual([
      {
        organization_id: 'o',
        project_id: 'p',
        environment: 'main',
        service: 'app',
        kind: 'app',
        start: undefined,
        allocated_time: hour,
        cpu_allocated: 0.75 * hour,
        memory_allocated: 1000 * 3600,
        storage_allocated: 2000 * 3600,
        cpu_used: 12_346,
        memory_used: 5,
        storage_used: 0,
        received: 0,
        sent: 0,
        requests: 3,
        request_bytes: 0,
        response_bytes: 99,
        forwarded_bytes: 0,
      },
    ]);
  });

  test('of something that was given nothing is not written down, and that of a disk alone is no time in which something ran', async () => {
    await look(start);
    const [nothing, disk] = [
      { ...app, service: 'task', cpu: 0, memory: 0, disk: 0 },
      { ...app, cpu: 0, memory: 0 },
    ];
    await allocate(start, undefined, [nothing, disk]);
    await meter(start + hour, []);
    expect(await sums(['service'])).toMatchObject([
      { service: 'app', allocated_time: 0, cpu_allocated: 0, storage_allocated: 2000 * 3600 },
    ]);
  });

  test('that is under way counts as far as it is', async () => {
    await look(start);
    await allocate(start - hour, undefined);
    await meter(start + hour / 4, []);
    expect(await sums()).toMatchObject([{ allocated_time: hour / 4, cpu_allocated: hour / 8 }]);
  });

  test('is corrected by what comes late until it is closed, and never changes from then on', async () => {
    await look(start);
    const measured = [measuredIn(start, { cpuSeconds: 10 })];
    await meter(start + hour + 1, measured);
    measured.push(measuredIn(start, { cpuSeconds: 5, service: 'late' }));
    await meter(start + hour + lateMilliseconds, measured);
    const closed = await rows();
    expect(await sums()).toMatchObject([{ cpu_used: 15_000 }]);
    measured.push(measuredIn(start, { cpuSeconds: 100, service: 'too-late' }));
    await allocate(start, start + hour);
    await meter(start + hour + 2 * lateMilliseconds, measured);
    expect(await rows()).toEqual(closed);
  });

  test('is not closed while measurements may still be on their way', async () => {
    await look(start);
    await meter(start + 10 * hour, [], false);
    await meter(start + 10 * hour, [measuredIn(start, { requests: 1 })]);
    expect(await sums()).toMatchObject([{ requests: 1 }]);
  });
});

test('forwarded logs are counted once, whichever statement the platform is killed at, and stay when what counted them begins anew', async () => {
  const now = Math.floor(Date.now() / hour) * hour;
  await look(now);
  const counting = { name: 'i-p-main', generation: 'first', projectId: 'p', environment: 'main' };
  for (const bytes of [1000, 2500])
    for (let statement = 1, isDone = false; !isDone; statement++) {
      const killed = killedAt(statement);
      await countForwarded(killed.db, { ...counting, bytes }).catch((error: unknown) => {
        if (!String(error).includes('killed')) throw error;
      });
      isDone = killed.isOver();
    }
  await countForwarded(db, { ...counting, bytes: 2500 });
  await countForwarded(db, { ...counting, generation: 'second', bytes: 40 });
  expect(await passWhileNothingIsAllocated(db, new Date(now + 5 * hour))).toBe(false);
  await meter(now + 3 * hour, []);
  expect(await sums(['project_id', 'environment', 'kind'], now, now + hour)).toMatchObject([
    { project_id: 'p', environment: 'main', kind: 'logs', forwarded_bytes: 2540 },
  ]);
  expect(await passWhileNothingIsAllocated(db, new Date(now + 5 * hour))).toBe(true);
});

test('while nothing is allocated, hours pass by themselves', async () => {
  await look(start);
  expect(await passWhileNothingIsAllocated(db, new Date(start + 100 * hour))).toBe(true);
  expect(await closedUntil(db)).toEqual(new Date(start + 99 * hour));
  await allocate(start + 100 * hour, undefined);
  expect(await passWhileNothingIsAllocated(db, new Date(start + 200 * hour))).toBe(false);
});

describe('sums', () => {
  /** Made from numbers that follow each other in no visible order, the same in each run. */
  function* numbers(): Generator<number, never> {
    for (let seed = 42; ;) yield (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  }

  test('of hours are the sums of records, whichever statement the platform is killed at, at every level', async () => {
    const { metrics } = home.platform;
    const next = numbers();
    const random = (most: number) => Math.floor(next.next().value * most);
    const hours = 5;
    const totals = { cpu: 0, memory: 0, stored: 0, received: 0, requests: 0, bytes: 0 };
    for (let nth = 0; nth < 300; nth++) {
      const scope = { project: `metered${random(3)}`, environment: `e${random(2)}`, time: start + random(hours * hour) };
      const instance = { service: `s${random(3)}`, instance: 's.0' };
      const sample = { seconds: 1 + random(9), cpuUsed: random(1000) / 1000, memoryUsed: random(2 ** 30), receivedBytes: random(10_000) };
      const zeros = {
        cpuLimit: 1,
        memoryLimit: 1,
        swapUsed: 0,
        swapLimit: 0,
        cpuPressure: 0,
        memoryPressure: 0,
        ioPressure: 0,
        irqPressure: 0,
      };
      metrics.append('samples', [{ ...scope, ...instance, ...sample, ...zeros, sentBytes: 0 }]);
      const disk = { diskUsed: random(2 ** 30), diskLimit: 1, inodesUsed: 0, inodesLimit: 0 };
      metrics.append('mounts', [{ ...scope, ...instance, seconds: 60, mount: '/mnt', ...disk }]);
      metrics.append('mounts', [{ ...scope, ...instance, seconds: 60, mount: '/tmp', ...disk }]);
      const texts = { domain: 'd', method: 'GET', url: '/', ip: '192.0.2.1', userAgent: 'u' };
      const request = { requestBytes: random(500), responseBytes: random(5000) };
      metrics.append('requests', [{ ...scope, application: instance.service, ...texts, status: 200, wallTime: 1, ...request }]);
      totals.cpu += sample.cpuUsed * sample.seconds * 1000;
      totals.memory += (sample.memoryUsed * sample.seconds) / megabyte;
      totals.stored += (disk.diskUsed * 60) / megabyte;
      totals.received += sample.receivedBytes;
      totals.requests += 1;
      totals.bytes += request.responseBytes;
    }
    await metrics.settled();
    await look(start);
    const now = new Date(start + hours * hour + lateMilliseconds);
    for (let statement = 1, isDone = false; !isDone; statement++) {
      const killed = killedAt(statement);
      await meterHours({ db: killed.db, metrics, now, mayClose: true }).catch((error: unknown) => {
        if (!String(error).includes('killed')) throw error;
      });
      isDone = killed.isOver();
    }
    await meterHours({ db, metrics, now, mayClose: true });
    const [all] = await sums();
    const cells = (await rows()).length;
    expect(cells).toBeGreaterThan(50);
    expect(all).toMatchObject({ requests: totals.requests, received: totals.received, response_bytes: totals.bytes });
    for (const [sum, total] of [
      [all?.cpu_used, totals.cpu],
      [all?.memory_used, totals.memory],
      [all?.storage_used, totals.stored],
    ] as const)
      expect(Math.abs((sum ?? 0) - total)).toBeLessThanOrEqual(cells / 2);
    for (const by of [['project_id'], ['project_id', 'environment'], ['service'], ['kind', 'environment']] as const)
      for (const quantity of quantities)
        expect(
          (await sums(by)).reduce((sum, each) => sum + each[quantity], 0),
          `${by.join(' ')} ${quantity}`,
        ).toBe(all?.[quantity]);
    const daily = await sumUsage(db, { from: new Date(start), to: new Date(start + 240 * hour), by: [], grain: 'day' });
    expect(daily).toMatchObject([{ start: new Date(start), cpu_used: all?.cpu_used }]);
  });
});

describe('what is allocated', () => {
  test('counts while the platform is off, and hours of days are caught up with', async () => {
    await look(start);
    await allocate(start, undefined);
    await meter(start + 1, []);
    const back = start + 50 * hour;
    await look(back, 'boot', back - 1);
    await meter(back, []);
    expect(await sums()).toMatchObject([{ allocated_time: 50 * hour, cpu_allocated: 25 * hour }]);
    expect(await rows()).toHaveLength(50);
  });

  test('does not count while the machine is off, except for what is kept on disks', async () => {
    await look(start);
    await allocate(start, undefined);
    await look(start + 2 * hour);
    await look(start + 10 * hour, 'another boot');
    await meter(start + 12 * hour, []);
    expect(await sums()).toMatchObject([{ cpu_allocated: 0.5 * 4 * hour, storage_allocated: 2000 * 12 * 3600 }]);
  });

  test('a build that ended with the platform counts until the platform was last seen', async () => {
    await look(start);
    await allocate(start, undefined, [{ ...app, kind: 'build', disk: 0 }], 'build x');
    await look(start + hour / 2);
    await look(start + 3 * hour, 'boot', start + 3 * hour - 1);
    await meter(start + 5 * hour, []);
    expect(await sums(['kind'])).toMatchObject([{ kind: 'build', allocated_time: hour / 2 }]);
  });

  const open = async (projectId: string) => {
    const { rows: found } = await sql<{ subject: string; amounts: Allocated[] }>`
      select subject, amounts from allocations where project_id = ${projectId} and until is null`.execute(db);
    return found;
  };

  test('stays when the environment and its project are gone, and so does what they used', async () => {
    const { projectId } = await sampleEnvironment(owner);
    await look(start);
    await allocate(start, start + hour);
    await sql`update allocations set project_id = ${projectId}`.execute(db);
    await sql`delete from environments where project_id = ${projectId}`.execute(db);
    await sql`delete from projects where id = ${projectId}`.execute(db);
    await meter(start + 2 * hour, [measuredIn(start, { project: projectId, cpuSeconds: 1 })]);
    expect(await sums(['project_id', 'organization_id'])).toMatchObject([
      { project_id: projectId, organization_id: 'o', allocated_time: hour, cpu_used: 1000 },
    ]);
  });

  test('backups take what they added to the store, until they are gone', async () => {
    const { projectId, environmentId } = await sampleEnvironment(owner);
    const insert = (id: string, bytesAdded: number) =>
      sql`insert into backups (id, project_id, environment_id, environment_type, safe, automated, commit_id, stack_sealed, stored)
        values (${id}, ${projectId}, ${environmentId}, 'development', true, false, '', '', ${JSON.stringify({ bytesAdded })}::jsonb)`.execute(
        db,
      );
    await insert('01ARZ3NDEKTSV4RRFFQ69G5FAV', 3 * megabyte);
    await insert('01ARZ3NDEKTSV4RRFFQ69G5FAW', 4 * megabyte);
    await noteBackups(db);
    await noteBackups(db);
    expect(await open(projectId)).toMatchObject([{ subject: 'backups', amounts: [{ kind: 'backups', disk: 7 }] }]);
    await sql`delete from backups where project_id = ${projectId}`.execute(db);
    await noteBackups(db);
    expect(await open(projectId)).toEqual([]);
  });
});

test('a year of an environment with an app and a database takes some 3 MB', async () => {
  await sql`insert into metered (organization_id, project_id, environment, service, kind) select 'o', 'p', 'main', service, 'app'
    from unnest(array['app', 'db']) as service`.execute(db);
  await sql`insert into usage_hours select id, '2026-01-01Z'::timestamptz + make_interval(hours => nth), 3600000, 1800000, 3600000, 3600000, 12345, 12345, 12345,
      1234567, 1234567, 1000, 1234567, 12345678 from metered, generate_series(0, 8759) as nth`.execute(db);
  const { rows: sizes } = await sql<{ bytes: string }>`select pg_total_relation_size('usage_hours') as bytes`.execute(db);
  expect(Number(sizes[0]?.bytes)).toBeLessThan(3.5 * megabyte);
});
