/**
 * A greedy organization beside a modest one, as their people notice it: over HTTP and by pushes, for each thing that is limited, shared, and needs no machine. What
 * does need one is in fair-shares-of-the-machine.test.ts, and builds are in rooms/builds/greedy-builds.test.ts.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { activitiesOf } from '../../../kernel/room.ts';
import { startRunner, type Runner } from '../../../kernel/runner.ts';
import type { Work } from '../../../kernel/activity.ts';
import { commitOf, packedObject, packOf, treeOf, type PackedObject } from '../../../drivers/git/test-packs.ts';
import type { Machine } from '../../../machine.ts';
import { prepareImages } from '../stack/stack-locations.ts';
import type { Stack } from '../public.ts';
import { rooms } from '../../../rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleOrganization, sampleProject } from '../../../testing/samples.ts';

const projectsMany = 8;
const variablesEach = 15;
const largePushes = 5;

let home: TestPlatform;
let runner: Runner;
let [mallory, ada]: [Person, Person] = [] as never;
let [greedy, modest]: [string[], string] = [] as never;

beforeAll(async () => {
  home = await openTestPlatform();
  [mallory, ada] = [await home.person(), await home.person()];
  const { organization_id } = await sampleOrganization(mallory);
  greedy = [];
  for (let n = 0; n < projectsMany; n += 1) greedy.push((await sampleProject(mallory, organization_id)).projectId);
  modest = (await sampleProject(ada)).projectId;
  runner = startRunner(activitiesOf(rooms), home.platform);
});
afterAll(() => runner.close());

const stateOf = async (person: Person, project: string, id: string): Promise<string> =>
  (await person.send('GET', `/projects/${project}/activities/${id}`)).json.state;

test('the line of activities: one of the modest is done while most of the greedy wait', async () => {
  const setVariable = async (person: Person, project: string, name: string): Promise<string> => {
    const { status, json } = await person.send('POST', `/projects/${project}/variables`, { name, value: 'x' });
    expect(status).toBe(201);
    return json._embedded.activities[0].id;
  };
  const waiting = greedy.flatMap((project) => Array.from({ length: variablesEach }, (_, n) => setVariable(mallory, project, `v${n}`)));
  await Promise.race(waiting);
  const id = await setVariable(ada, modest, 'v');
  await expect.poll(() => stateOf(ada, modest, id), { interval: 20 }).toBe('complete');
  const open = await home.platform.db
    .selectFrom('activities')
    .select('id')
    .where('project_id', 'in', greedy)
    .where('state', '<>', 'complete')
    .execute();
  expect(open.length + greedy.length * variablesEach - (await settled(waiting))).toBeGreaterThan(projectsMany);
  await Promise.all(waiting);
});

/** How many have been answered by now. */
const settled = async (all: readonly Promise<unknown>[]) => {
  const pending = Symbol('pending');
  const now = await Promise.all(all.map((each) => Promise.race([each, new Promise((resolve) => setImmediate(resolve, pending))])));
  return now.filter((each) => each !== pending).length;
};

test('connections to the database: a request of the modest is answered among the first of a flood', async () => {
  const flood = 300;
  const all = Array.from({ length: flood }, () => mallory.send('GET', `/projects/${greedy[0]}/activities?count=100`));
  await Promise.race(all);
  expect((await ada.send('GET', `/projects/${modest}/activities`)).status).toBe(200);
  expect(await settled(all)).toBeLessThan(flood / 2);
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200]));
});

const empty = packedObject('blob', Buffer.alloc(0));

/** More files than may be deployed, in as many folders as it takes to look at them for a while. */
function manyFiles(): PackedObject[] {
  const folders = Array.from({ length: 130 }, (_, folder) => {
    const names = Array.from({ length: 4000 }, (__, n) => `f${folder}-${String(n).padStart(4, '0')}`);
    return packedObject('tree', treeOf(names.map((name) => ({ mode: '100644', name, id: empty.id }))));
  });
  const entries = folders.map(({ id }, n) => ({ mode: '40000', name: `d${String(n).padStart(3, '0')}`, id }));
  const root = packedObject('tree', treeOf(entries));
  return [empty, ...folders, root, packedObject('commit', commitOf(root.id))];
}

const push = async (person: Person, project: string, objects: readonly PackedObject[], branch: string): Promise<string> => {
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
  const commands = `${line(`${'0'.repeat(40)} ${objects.at(-1)?.id} refs/heads/${branch}\0report-status`)}0000`;
  const { text } = await home.send({
    method: 'POST',
    url: `/git/${project}.git/git-receive-pack`,
    headers: { authorization: `Bearer ${person.accessToken}`, 'content-type': 'application/x-git-receive-pack-request' },
    payload: Buffer.concat([Buffer.from(commands), packOf(objects)]),
  });
  return text;
};

test('checks of pushes: a push of the modest is through while those of the greedy are looked at', async () => {
  const large = manyFiles();
  const root = packedObject('tree', treeOf([{ mode: '100644', name: 'file', id: empty.id }]));
  const small = [empty, root, packedObject('commit', commitOf(root.id))];
  const pushes = greedy.slice(0, largePushes).map((project) => push(mallory, project, large, 'bomb'));
  expect(await push(ada, modest, small, 'feature')).toContain('ok refs/heads/feature');
  expect(await settled(pushes)).toBeLessThan(pushes.length);
  for (const answer of await Promise.all(pushes)) expect(answer).toContain('ng refs/heads/bomb');
});

test('images: what the greedy need for the first time keeps no other image from being prepared', async () => {
  const over = Promise.withResolvers<void>();
  const begun: string[] = [];
  const machineOf = (ensure: () => Promise<void>, name: string) => {
    const images = {
      built: async () => false,
      ensure: async () => {
        begun.push(name);
        await ensure();
      },
    };
    return { images } as unknown as Machine;
  };
  const stack = { model: { applications: { app: { type: 'nodejs:22' } }, tasks: {}, services: {} }, slugs: {} } as unknown as Stack;
  const prepare = (project: string, name: string, ensure: () => Promise<void>) => {
    const { signal } = new AbortController();
    const work = { activity: { project_id: project, is_urgent: false }, wait: (others: Promise<unknown>) => others, log: () => {} };
    return prepareImages(work as unknown as Work<unknown>, home.platform.db, machineOf(ensure, name), stack, signal);
  };
  const all = greedy.map((project) => prepare(project, 'greedy', () => over.promise));
  await expect.poll(() => begun).toEqual(['greedy', 'greedy']);
  await prepare(modest, 'modest', async () => {});
  expect(begun).toEqual(['greedy', 'greedy', 'modest']);
  over.resolve();
  await Promise.all(all);
});
