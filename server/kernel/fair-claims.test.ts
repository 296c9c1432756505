import { Type } from 'typebox';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Platform } from '../platform.ts';
import { activityRow } from '../test-activities.ts';
import { openTestPlatform, type Person } from '../test-platform.ts';
import { sampleOrganization } from '../test-samples.ts';
import { activity, startActivity, type ActivityDefinition } from './activity.ts';
import { startRunner, type Runner } from './runner.ts';

const activitiesMax = 6;
const projectsEach = 30;

let platform: Platform;
let [greedy, modest]: string[][] = [];
let [mallory, ada]: Person[] = [];

/** Projects of an organization of its own. */
async function projectsOf(owner: Person, count: number): Promise<string[]> {
  const { organization_id } = await sampleOrganization(owner);
  const ids = Array.from({ length: count }, (_, n) => `${organization_id.toLowerCase()}n${n}`);
  await platform.db
    .insertInto('projects')
    .values(ids.map((id) => ({ id, organization_id, region: 'here' })))
    .execute();
  return ids;
}

beforeAll(async () => {
  const home = await openTestPlatform();
  ({ platform } = home);
  [mallory, ada] = [await home.person(), await home.person()];
  [greedy, modest] = [await projectsOf(mallory, projectsEach), await projectsOf(ada, 2)];
});

let over = new AbortController();
let began: string[] = [];
let runner: Runner | undefined;
afterEach(async () => {
  over.abort();
  while ((await openActivities()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await runner?.close();
  over = new AbortController();
  began = [];
});
const openActivities = async () =>
  (await platform.db.selectFrom('activities').select('id').where('state', 'in', ['pending', 'in_progress']).execute()).length;

const lasting = async (project: string) => {
  began.push(project);
  if (!over.signal.aborted) await new Promise((resolve) => over.signal.addEventListener('abort', resolve, { once: true }));
};
const kindOf = (type: string, changes: Partial<ActivityDefinition> = {}) =>
  activity({
    type,
    queue: 'default',
    input: Type.Object({}),
    run: ({ activity: { project_id }, step }) => step('last', () => lasting(project_id)),
    ...changes,
  });

const builds = kindOf('test.build');
const follows = kindOf('test.follow', { isPatient: true });
const waits = kindOf('test.wait', {
  run: ({ activity: { project_id }, step, wait }) => step('wait', () => wait(lasting(project_id))),
});
const ends = kindOf('test.end', { run: ({ activity: { project_id }, step }) => step('end', async () => void began.push(project_id)) });

const start = (definition: ActivityDefinition<any>, project_id: string, type = 'development') =>
  platform.db.transaction().execute((tx) => startActivity(tx, definition, { project_id, environments: [{ id: 'main', type }], input: {} }));
const run = () => (runner = startRunner([builds, follows, waits, ends], platform, { activitiesMax, leaseSeconds: 2 }));
const begunOf = (projects: readonly string[] = []) => began.filter((project) => projects.includes(project)).length;

describe('beside an organization that starts more than a runner carries out', () => {
  test.each(['production', 'development'])('another one is begun at once, though its own is not production (theirs: %s)', async (type) => {
    for (const project of greedy ?? []) await start(builds, project, type);
    run();
    await expect.poll(() => begunOf(greedy)).toBe(4);
    await start(builds, modest?.[0] ?? '');
    await expect.poll(() => begunOf(modest)).toBe(1);
    expect(begunOf(greedy)).toBe(4);
  });

  test('so is one of another organization of the same owner, and one of somebody else after that', async () => {
    const second = await projectsOf(mallory as Person, 3);
    for (const project of greedy ?? []) await start(builds, project);
    run();
    await expect.poll(() => begunOf(greedy)).toBe(4);
    for (const project of second) await start(builds, project);
    await expect.poll(() => begunOf(second)).toBe(1);
    await start(builds, modest?.[0] ?? '');
    await expect.poll(() => begunOf(modest)).toBe(1);
    expect([begunOf(greedy), begunOf(second)]).toEqual([4, 1]);
  });

  test('organizations take turns in the line, and within one production comes first, then the project that has least', async () => {
    for (const project of (greedy ?? []).slice(0, 8)) await start(ends, project, 'production');
    await start(ends, modest?.[0] ?? '');
    const live = await start(ends, modest?.[1] ?? '', 'production');
    const order = async () =>
      (
        await platform.db
          .selectFrom('activities')
          .select(['id', 'project_id'])
          .where('type', '=', ends.type)
          .orderBy('started_at')
          .execute()
      ).map(({ project_id }) => project_id);
    runner = startRunner([ends], platform, { activitiesMax: 3, leaseSeconds: 2 });
    await expect.poll(openActivities).toBe(0);
    expect((await order()).slice(0, 5).filter((project) => modest?.includes(project))).toEqual([modest?.[1], modest?.[0]]);
    expect(await activityRow(platform, live.id)).toMatchObject({ state: 'complete' });
  });

  test('what only waits for others takes no place of what can be done', async () => {
    for (const project of greedy ?? []) await start(waits, project);
    run();
    await expect.poll(() => begunOf(greedy)).toBe(projectsEach);
    for (const project of modest ?? []) await start(ends, project);
    await expect.poll(() => begunOf(modest)).toBe(2);
  });

  test('what follows something has places of its own, which are shared alike', async () => {
    for (const project of greedy ?? []) await start(follows, project);
    run();
    await expect.poll(() => begunOf(greedy)).toBe(projectsEach);
    await start(builds, modest?.[0] ?? '');
    await start(follows, modest?.[1] ?? '');
    await expect.poll(() => begunOf(modest)).toBe(2);
  });
});
