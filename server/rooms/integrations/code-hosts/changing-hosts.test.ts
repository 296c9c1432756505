/** Hosts that do not stay as they were: a name that others took over, a repository that was renamed, a host that wants to be left alone, and strangers who call in its name. */
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { testApp } from '../../../drivers/code-hosts/github/test-github.ts';
import { workThrough } from '../../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { deliver } from './test-code-hosts.ts';
import { openMirroredHost, type TestedHost } from './test-mirrored-host.ts';
import { connectMirrored, look, pushed, requested } from './test-mirrored-project.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
});

const connect = (type: TestedHost, settings: object = {}) => connectMirrored(home, owner, type, settings);

/** As if so much time had passed that the host's turn has come. */
async function lookNow(integrationId: string) {
  await sql`update code_mirrors set sync_at = now() where integration_id = ${integrationId}`.execute(home.platform.db);
  await look(home);
  await workThrough(home.platform);
}

test('a repository that took over the name is not fetched, and not asked to call, and the project goes on where the name is given back', async () => {
  const { host, first, projectId, integration, integrationId, environments, fetches, happens } = await connect('github');
  const mirrored = () => home.platform.git.refsUnder(projectId, 'refs/mirror/');
  const [refs, before] = [await mirrored(), (await fetches()).length];
  host.state.id = 666;
  host.commit('main', { 'README.md': 'mine now\n' });
  host.pullRequest(5, { 'evil.txt': '1' });
  for (const _look of [1, 2, 3]) await lookNow(integrationId);
  expect((await environments())['main']).toMatchObject({ head_commit: first });
  expect(Object.keys(await environments())).toEqual(['main']);
  expect(await mirrored()).toEqual(refs);
  // It is told once, in an activity that everybody sees, and whenever somebody asks.
  expect((await fetches()).slice(0, -before)).toMatchObject([{ result: 'failure' }]);
  const [{ id }] = await fetches();
  const { text } = await owner.send('GET', `${integration}/activities/${id}/log`);
  expect(text).toContain('acme/shop at GitHub is another repository than the one that was connected');
  expect(await owner.send('POST', `${integration}/validate`)).toMatchObject({
    status: 400,
    json: { detail: { repository: expect.stringContaining('delete the integration and add it again') } },
  });
  await deliver(home);
  expect([...host.state.hooks.values()]).toEqual([]);

  host.state.id = 4711;
  const ours = host.commit('main', { 'README.md': 'ours again\n' });
  await happens(pushed(host, 'main'));
  expect((await environments())['main']).toMatchObject({ head_commit: ours });
});

test('an integration that is given another repository fetches from that one at once', async () => {
  const { host, integration, integrationId, environments } = await connect('gitea');
  const other = await openMirroredHost('gitea');
  try {
    other.state.id = 815;
    const head = other.commit('main', { 'README.md': 'elsewhere\n' });
    expect((await owner.send('PATCH', integration, { ...other.body, build_pull_requests: true })).status).toBe(200);
    await workThrough(home.platform);
    expect((await environments())['main']).toMatchObject({ head_commit: head });
    expect(host.state.id).not.toBe(other.state.id);
    await lookNow(integrationId);
  } finally {
    other.closeHost();
  }
});

test.for(['github', 'gitlab', 'gitea', 'bitbucket', 'bitbucket_server'] as const)(
  'a repository of %s that was renamed is fetched under its new name',
  async (type) => {
    const { host, integrationId, environments, happens } = await connect(type);
    host.rename('store');
    const head = host.commit('main', { 'README.md': 'renamed\n' });
    await lookNow(integrationId);
    expect((await environments())['main']).toMatchObject({ head_commit: head });
    const wanted = host.pullRequest(6, { 'topic.txt': '1' });
    await happens(requested(6, 'opened'));
    expect((await environments())['pr-6']).toMatchObject({ head_commit: wanted });
  },
);

test('a host that wants to be left alone is, whoever has news meanwhile, and then all of it is fetched', async () => {
  const { host, integration, integrationId, post, environments, fetches } = await connect('github');
  const settle = () => workThrough(home.platform);
  const wanted = host.pullRequest(9, { 'topic.txt': '1' });
  host.state.instead = Array.from({ length: 2 }, () => ({ status: 429, headers: { 'retry-after': '120' }, body: {} }));
  await post(requested(9, 'opened'));
  await settle();
  host.state.instead = [];
  const [asked, before] = [host.state.requests.length, (await fetches()).length];
  const head = host.commit('main', { 'README.md': 'news\n' });
  expect((await post(pushed(host, 'main'))).status).toBe(200);
  expect((await home.send({ method: 'POST', url: `${integration}/hook`, payload: {} })).status).toBe(200);
  await settle();
  await look(home);
  await settle();
  expect({ asked: host.state.requests.length, fetches: (await fetches()).length }).toEqual({ asked, fetches: before });
  expect(await environments()).not.toHaveProperty('pr-9');

  await sql`update code_mirrors set quiet_until = now() where integration_id = ${integrationId}`.execute(home.platform.db);
  await lookNow(integrationId);
  expect(await environments()).toMatchObject({ main: { head_commit: head }, 'pr-9': { head_commit: wanted } });
});

test('calls that prove nothing are refused when they are too many, and shut out no delivery of the host', async () => {
  const { host, integration, happens, post } = await connect('github');
  const stranger = () => home.send({ method: 'POST', url: `${integration}/hook`, payload: {} });
  expect((await stranger()).status).toBe(200);
  expect((await post(pushed(host, 'main'), 'another secret')).status).toBe(401);
  await sql`update attempts set count = 300 where key like '% of hook %'`.execute(home.platform.db);
  expect((await stranger()).status).toBe(429);
  expect((await post(pushed(host, 'main'), 'another secret')).status).toBe(429);
  expect(await happens(pushed(host, 'main'))).toBe(200);
});

test('an App is given a token once, and not again for each delivery and each fetch', async () => {
  const app = { app_id: testApp.appId, private_key: testApp.privateKey };
  const { host, integrationId, happens, environments } = await connect('github', { token: undefined, app });
  const head = host.commit('main', { 'README.md': 'news\n' });
  await happens(pushed(host, 'main'));
  await lookNow(integrationId);
  await deliver(home);
  expect((await environments())['main']).toMatchObject({ head_commit: head });
  expect(host.state.requests.filter(({ path }) => path.endsWith('/access_tokens'))).toHaveLength(1);
});
