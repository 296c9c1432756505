/** An organization that does not pay: what runs is paused, what everybody is told, and what comes back. On a machine that only remembers what it is told. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eachStepTwice, workThrough } from '../../testing/activities.ts';
import { openMemoryMachine, type MemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { resumeOrganization, suspendOrganization } from '../organizations/work.ts';
import { followSuspensions } from './follow-suspensions.ts';

const timeout = 120_000;

let folder: string;
let machine: MemoryMachine;
let home: TestPlatform;
let owner: Person;
let organizationId: string;
let projectId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-suspension-'));
  machine = openMemoryMachine(folder);
  home = await openTestPlatform(undefined, async () => machine);
});
afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
};

const at = (environment: string, rest = '') => `/projects/${projectId}/environments/${environment}${rest}`;
const status = async (environment: string) => (await owner.send('GET', at(environment))).json.status as string;
const statuses = async () => Object.fromEntries(await Promise.all(names.map(async (name) => [name, await status(name)] as const)));
const names = ['main', 'feature', 'held', 'idle'];
const look = () => followSuspensions.run(home.platform, new AbortController().signal);
const follow = async () => {
  await look();
  await workThrough(home.platform);
};
const inTransaction = (change: typeof resumeOrganization) =>
  home.platform.db.transaction().execute((tx) => change(tx, home.platform, organizationId));
const suspend = () =>
  inTransaction((tx, platform, address) => suspendOrganization(tx, platform, address, 'the invoice of October is not paid'));
const resume = () => inTransaction(resumeOrganization);
const run = async (environment: string, verb: string) => {
  expect(await owner.send('POST', at(environment, `/${verb}`), {})).toMatchObject({ status: 200 });
  await workThrough(home.platform);
};

/** `main` and `feature` run, `held` is paused by hand, `idle` does not run. */
beforeEach(async () => {
  owner = await home.person({ strong: true });
  organizationId = (await sampleOrganization(owner)).organization_id;
  ({ projectId } = await sampleProject(owner, organizationId));
  const { git, db } = home.platform;
  const head = commitFiles(git.path(projectId), undefined, files);
  await git.moveBranch(projectId, 'main', undefined, head);
  await db.updateTable('environments').set({ head_commit: head }).where('project_id', '=', projectId).execute();
  await run('main', 'activate');
  for (const name of ['feature', 'held', 'idle']) {
    await owner.send('POST', at('main', '/branch'), { name });
    await workThrough(home.platform);
  }
  await run('held', 'pause');
  await run('idle', 'deactivate');
}, timeout);

const before = { main: 'active', feature: 'active', held: 'paused', idle: 'inactive' };
const meanwhile = { main: 'paused', feature: 'paused', held: 'paused', idle: 'inactive' };

test('what runs is paused, visitors and members are told, and exactly that comes back', { timeout }, async () => {
  expect(await statuses()).toEqual(before);
  await suspend();
  const letter = (await home.mail(owner.user.email)).at(-1);
  expect(letter?.subject).toMatch(/^The organization .* is suspended$/);
  expect(letter?.text).toContain('(the invoice of October is not paid)');
  await follow();
  expect(await statuses()).toEqual(meanwhile);
  const told = [...machine.edge.table].filter(([cluster]) => cluster.startsWith(projectId)).map(([, { state }]) => state);
  expect(told).toEqual(['paused', 'paused', 'paused']);
  expect((await owner.send('GET', `/organizations/${organizationId}`)).json).toMatchObject({ status: 'suspended' });
  expect((await owner.send('GET', `/projects/${projectId}`)).json).toMatchObject({
    status: { code: 'suspended' },
    subscription: { suspended: true },
  });
  const { json } = await owner.send('GET', at('main', '/activities?type=environment.pause'));
  expect(json[0].text).toContain('as **its organization is suspended**');

  const refused = await owner.send('POST', at('main', '/resume'), {});
  expect(refused).toMatchObject({
    status: 402,
    json: { message: expect.stringMatching(/is suspended \(the invoice .*\): .*You can still read, pay/) },
  });
  expect((await owner.send('GET', at('main'))).json._links).not.toHaveProperty('#resume');
  await look();
  await workThrough(home.platform);
  expect(await statuses()).toEqual(meanwhile);

  await resume();
  expect((await home.mail(owner.user.email)).at(-1)?.text).toContain('no longer suspended');
  await follow();
  await follow();
  expect(await statuses()).toEqual(before);
  expect((await owner.send('GET', `/projects/${projectId}`)).json.status).toEqual({ code: 'provisioned', message: 'ok' });
});

test(
  'a pause that is killed at any step goes on, and an organization that is resumed and suspended meanwhile ends as it was last wanted',
  { timeout },
  async () => {
    await suspend();
    await eachStepTwice(home.platform, async () => {
      await look();
      const { json } = await owner.send('GET', at('main', '/activities?type=environment.pause'));
      return json[0];
    });
    expect(await statuses()).toEqual(meanwhile);
    // Nothing is carried out between these.
    await resume();
    await look();
    await suspend();
    await look();
    await workThrough(home.platform);
    expect(await statuses()).toEqual(meanwhile);
    await resume();
    await look();
    await suspend();
    await resume();
    await follow();
    expect(await statuses()).toEqual(before);
  },
);

test('what was begun before is ended and paused then; what is deleted meanwhile stays deleted', { timeout }, async () => {
  expect(await owner.send('POST', at('held', '/resume'), {})).toMatchObject({ status: 200 });
  await suspend();
  await follow();
  await follow();
  expect(await status('held')).toBe('paused');
  expect(await owner.send('POST', at('feature', '/deactivate'), {})).toMatchObject({ status: 200 });
  await workThrough(home.platform);
  expect(await owner.send('DELETE', at('feature'))).toMatchObject({ status: 200 });
  await workThrough(home.platform);
  await resume();
  await follow();
  expect([await status('main'), await status('held')]).toEqual(['active', 'active']);
  expect((await owner.send('GET', at('feature'))).status).toBe(404);
});

test(
  'neither deleting a variable nor what was asked for before starts anything while the organization is suspended',
  { timeout },
  async () => {
    expect((await owner.send('POST', at('main', '/variables'), { name: 'env:COLOUR', value: 'red' })).status).toBe(201);
    await workThrough(home.platform);
    expect((await owner.send('POST', at('feature', '/redeploy'), {})).status).toBe(200);
    await suspend();
    await follow();
    expect(await statuses()).toEqual(meanwhile);
    const { status: answer, json } = await owner.send('DELETE', at('main', '/variables/env:COLOUR'));
    expect(answer).toBe(200);
    await workThrough(home.platform);
    expect(await statuses()).toEqual(meanwhile);
    for (const id of [json._embedded.activities[0].id, await newestOf('feature', 'environment.redeploy')])
      expect((await owner.send('GET', `/projects/${projectId}/activities/${id}`)).json).toMatchObject({
        result: 'success',
        log: expect.stringContaining('while the organization is suspended'),
      });
  },
);

const newestOf = async (environment: string, type: string): Promise<string> =>
  (await owner.send('GET', at(environment, `/activities?type=${type}`))).json[0].id;
