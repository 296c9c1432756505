import { Type } from 'typebox';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Platform } from '../platform.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../testing/platform.ts';
import { sampleOrganization } from '../testing/samples.ts';
import { activity, startActivity, type Activity, type ActivityDefinition } from './activity.ts';
import { claim } from './activity-queries.ts';
import { startRunner, type Runner } from './runner.ts';

const activitiesMax = 6;
const projectsEach = 30;

let home: TestPlatform;
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
  home = await openTestPlatform();
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

  test('so are those of others where several owners together have taken all places, one each', async () => {
    const second = await projectsOf(await home.person(), projectsEach);
    for (const project of [...(greedy ?? []), ...second]) await start(builds, project);
    run();
    await expect.poll(() => [begunOf(greedy), begunOf(second)]).toEqual([3, 3]);
    for (const project of modest ?? []) await start(builds, project);
    await expect.poll(() => begunOf(modest)).toBe(1);
    const third = await projectsOf(await home.person(), 2);
    for (const project of third) await start(builds, project);
    await expect.poll(() => begunOf(third)).toBe(1);
    expect([begunOf(greedy), begunOf(second), begunOf(modest)]).toEqual([3, 3, 1]);
  });

  test('organizations take turns in the line, and within one production comes first', async () => {
    const [first = '', second = ''] = modest ?? [];
    for (const project of (greedy ?? []).slice(0, 4)) await start(ends, project, 'production');
    await start(ends, first);
    await start(ends, second, 'production');
    const claimed: Activity[] = [];
    for (let n = 0; n < 6; n += 1) {
      const places = [{ is_patient: false, free: 1, newcomers: 0, party_most: 9, outer_most: 9 }];
      const inHand = claimed.map(({ id }) => ({ id, is_patient: false }));
      claimed.push(...(await claim(platform.db, 'one at a time', { leaseSeconds: 0, capacity: places, patient: [], except: [], inHand })));
    }
    const [one, two, three, four] = greedy ?? [];
    expect(claimed.map(({ project_id }) => project_id)).toEqual([one, second, two, first, three, four]);
    run();
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
