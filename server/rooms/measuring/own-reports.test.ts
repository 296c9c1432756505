/** Which apps report their transactions themselves, and whose tokens count: as the database has it. */
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { openReporterTokens } from '../../drivers/otlp/reporter.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import type { Stack } from '../deployments/public.ts';
import { machineName } from '../environments/public.ts';
import { openReporters } from './otlp-reporters.ts';
import { openOwnReports } from './own-reports.ts';

const hour = 60 * 60 * 1000;

let home: TestPlatform;
let projectId: string;
let stack: Stack;

beforeAll(async () => {
  home = await openTestPlatform();
  ({ projectId } = await sampleProject(await home.person()));
  stack = await deploySample(home.platform, { projectId, environmentId: 'main' });
});

const scopeOf = (environment: string) => ({ project: projectId, environment });

const addBranch = async (id: string, age: string) => {
  await sql`insert into environments (project_id, id, machine_name, title, type, parent, created_at)
    values (${projectId}, ${id}, ${machineName(id, projectId)}, ${id}, 'development', 'main', now() - ${age}::interval)`.execute(
    home.platform.db,
  );
  return scopeOf(machineName(id, projectId));
};

test('an app that reports is known at once, after a restart, and in branches that are too young to have reported', async () => {
  const { db } = home.platform;
  const main = scopeOf(stack.environment.machine_name);
  const young = await addBranch('young', '1 minute');
  const grown = await addBranch('grown', '20 minutes');
  let clock = Date.now();
  const reports = openOwnReports(db, () => clock);
  expect(reports.has(main, 'shop')).toBe(false);
  reports.note(main, 'shop');
  expect([reports.has(main, 'shop'), reports.has(main, 'other')]).toEqual([true, false]);
  await reports.share();
  const restarted = openOwnReports(db, () => clock);
  await restarted.share();
  expect([main, young, grown].map((scope) => restarted.has(scope, 'shop'))).toEqual([true, true, false]);
  clock += 15 * 60 * 1000;
  expect([restarted.has(main, 'shop'), restarted.has(young, 'shop')]).toEqual([true, false]);
  clock += hour;
  expect([reports.has(main, 'shop'), restarted.has(main, 'shop')]).toEqual([false, false]);
});

test('an environment that is gone takes what is known of it along', async () => {
  const { db } = home.platform;
  const gone = await addBranch('gone', '1 minute');
  const reports = openOwnReports(db);
  reports.note(gone, 'shop');
  await reports.share();
  await sql`delete from environments where project_id = ${projectId} and id = 'gone'`.execute(db);
  reports.note(gone, 'shop');
  await reports.share();
  const { rows } = await sql`select from own_reports where environment_id = 'gone'`.execute(db);
  expect(rows).toEqual([]);
});

test('a token counts for the stack that the environment has, and for no other', async () => {
  const { db } = home.platform;
  const tokens = openReporterTokens(home.platform.secrets);
  let clock = Date.now();
  const reporters = openReporters(db, tokens, () => clock);
  const reporter = { ...scopeOf(stack.environment.machine_name), stack: stack.id, application: 'shop', instance: 'shop.0' };
  const asked = (changes = {}) => reporters.reporterOf(`Bearer ${tokens.issue({ ...reporter, ...changes })}`);
  expect(await asked()).toEqual(reporter);
  expect(await asked({ stack: 'earlier' })).toBeUndefined();
  expect(await asked({ environment: 'gone' })).toBeUndefined();
  expect(await asked({ project: 'another' })).toBeUndefined();
  await sql`update environments set stack_id = null where project_id = ${projectId} and id = 'main'`.execute(db);
  clock += 10_000;
  expect(await asked()).toBeUndefined();
});
