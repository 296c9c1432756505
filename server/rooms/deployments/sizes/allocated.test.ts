import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import type { Db } from '../../../kernel/sql.ts';
import { deploySample } from '../../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleEnvironment } from '../../../testing/samples.ts';
import type { Allocated } from '../../metering/public.ts';
import { changeState, forgetStack } from '../queries.ts';
import { markAsleep, markWaking } from '../running/sleep-queries.ts';
import { keepAllocationsNoted } from './allocated.ts';
import { allocatedIn } from './capacity.ts';

let home: TestPlatform;
let db: Db;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  ({ db } = home.platform);
  owner = await home.person();
});

const sorted = (amounts: readonly Allocated[]) => amounts.toSorted((one, other) => one.service.localeCompare(other.service));
const noted = async (projectId: string) =>
  (
    await sql<{ amounts: Allocated[] }>`select amounts from allocations where project_id = ${projectId} and until is null`.execute(db)
  ).rows.map(({ amounts }) => sorted(amounts));
const lookForWhatIsNotNoted = () => keepAllocationsNoted.run(home.platform, AbortSignal.timeout(60_000));

test('what a deployment is given is noted without a gap: its sizes while it runs, its disks while it rests, nothing when it is gone', async () => {
  const address = await sampleEnvironment(owner);
  const { projectId, environmentId } = address;
  const { id, model, sizes, environment } = await deploySample(home.platform, address);
  const all = sorted(allocatedIn(model, sizes));
  const resting = all.map((each) => ({ ...each, cpu: 0, memory: 0 }));
  expect(all.some(({ cpu }) => cpu > 0) && resting.some(({ disk }) => disk > 0)).toBe(true);
  expect(await noted(projectId)).toEqual([all]);
  await lookForWhatIsNotNoted();
  expect((await sql`select from allocations where project_id = ${projectId}`.execute(db)).rows).toHaveLength(1);
  await db.transaction().execute((tx) => changeState(tx, projectId, environmentId, 'pause'));
  expect(await noted(projectId)).toEqual([resting]);
  await db.transaction().execute((tx) => changeState(tx, projectId, environmentId, 'resume'));
  expect(await noted(projectId)).toEqual([all]);
  const preview = { project_id: projectId, environment_id: environmentId, machine_name: environment.machine_name, stack_id: id };
  await sql`update environments set type = 'development' where project_id = ${projectId}`.execute(db);
  expect(await markAsleep(db, { ...preview, sleep_after_seconds: 1 })).toBe(true);
  expect(await noted(projectId)).toEqual([resting]);
  await markWaking(db, projectId, environmentId);
  expect(await noted(projectId)).toEqual([all]);
  const { rows: unjoined } = await sql`select from allocations as one
    where project_id = ${projectId} and until is not null and not exists (select from allocations where project_id = ${projectId} and since = one.until)`.execute(
    db,
  );
  expect(unjoined).toEqual([]);
  await db.transaction().execute((tx) => forgetStack(tx, projectId, environmentId));
  expect(await noted(projectId)).toEqual([]);
});

test('the history of a project tells each change of what it had, and outlives its metering', async () => {
  const address = await sampleEnvironment(owner);
  const { projectId, environmentId } = address;
  const { model, sizes } = await deploySample(home.platform, address);
  const cpu = allocatedIn(model, sizes).reduce((sum, each) => (each.kind === 'service' ? sum : sum + each.cpu), 0);
  const { json: project } = await owner.send('GET', `/projects/${projectId}`);
  const history = async (resource: string) =>
    (await owner.send('GET', `/organizations/${project.organization}/projects/${projectId}/history?filter[resource]=${resource}`)).json;
  const quantities = async (resource: string) =>
    (await history(resource)).items.map(({ quantity }: { quantity: string }) => Number(quantity));
  expect(await quantities('cpu_app')).toEqual([cpu]);
  const disk = await quantities('storage_app_services');
  await db.transaction().execute((tx) => changeState(tx, projectId, environmentId, 'pause'));
  await lookForWhatIsNotNoted();
  expect(await quantities('cpu_app')).toEqual([cpu, 0]);
  expect(await quantities('storage_app_services')).toEqual(disk);
  await db.transaction().execute((tx) => changeState(tx, projectId, environmentId, 'resume'));
  await db.transaction().execute((tx) => forgetStack(tx, projectId, environmentId));
  await sql`delete from allocations where project_id = ${projectId}`.execute(db);
  expect(await quantities('cpu_app')).toEqual([cpu, 0, cpu, 0]);
  expect(await quantities('storage_app_services')).toEqual([...disk, 0]);
  const { count, items } = await history('cpu_app');
  expect({ count, first: items[0] }).toMatchObject({
    count: 4,
    first: { project_id: projectId, event_type: 'deployment', resource: 'cpu_app', quantity: String(cpu) },
  });
});

test('what was given without a note is found, and what an environment had that is gone ends', async () => {
  const address = await sampleEnvironment(owner);
  const { projectId } = address;
  const { model, sizes } = await deploySample(home.platform, address);
  await sql`delete from allocations where project_id = ${projectId}`.execute(db);
  await lookForWhatIsNotNoted();
  expect(await noted(projectId)).toEqual([sorted(allocatedIn(model, sizes))]);
  await sql`delete from environments where project_id = ${projectId}`.execute(db);
  await lookForWhatIsNotNoted();
  expect(await noted(projectId)).toEqual([]);
});
