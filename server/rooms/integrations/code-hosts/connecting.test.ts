import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { testApp } from '../../../drivers/code-hosts/github/test-github.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { forgetIntegrations } from '../forget-integrations.ts';
import { keepWebhooks } from './register-webhook.ts';
import { connectedHosts, deliver, hostsOnThisMachine, reachOnly, serveHost, type ConnectedHost } from './test-code-hosts.ts';

let home: TestPlatform;
let owner: Person;
let project: string;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, hostsOnThisMachine);
  owner = await home.person();
  project = `/projects/${(await sampleProject(owner)).projectId}`;
});

const hostOf = (type: string) => connectedHosts.find((each) => each.type === type) ?? expect.fail(`There is no host ${type}`);

async function serve({ type, wire, body }: ConnectedHost) {
  const host = await serveHost(wire);
  if (type === 'bitbucket') reachOnly(home, host);
  const whole = { type, ...body(host.state.origin) };
  return { host, body: whole, hooks: () => [...host.state.hooks.values()].map((hook) => JSON.stringify(hook)) };
}

const add = (body: object) => owner.send('POST', `${project}/integrations`, body);
const added = async (body: object) => {
  const { json, status, text } = await add(body);
  expect({ status, text }).toMatchObject({ status: 201 });
  return json._embedded.entity;
};
const secretOf = async (id: string): Promise<string> => {
  const { secrets, db } = home.platform;
  const row = await db.selectFrom('integrations').select('secrets_sealed').where('id', '=', id).executeTakeFirstOrThrow();
  return JSON.parse(secrets.open(`integration ${id}`, row.secrets_sealed)).webhook_secret;
};
const look = ({ run }: Reconciler) => run(home.platform, new AbortController().signal);
const pauseIsOver = () => sql`update delivery_lanes set due_at = now()`.execute(home.platform.db);

describe.for(connectedHosts)('$type', (connected) => {
  const { fields, stranger, elsewhere } = connected;

  test('is asked before it is connected: what it refuses is refused under the field that is wrong', async () => {
    const { body, hooks } = await serve(connected);
    const refusal = await add({ ...body, ...stranger });
    expect(refusal.status).toBe(400);
    expect(refusal.json.detail).toEqual({ [fields.credential]: expect.stringContaining('does not accept the credential') });
    expect((await add({ ...body, ...elsewhere })).json.detail).toEqual({
      [fields.repository]: expect.stringContaining('Check the name'),
    });
    await deliver(home);
    expect(hooks()).toEqual([]);
  });

  test('is told where to call, with a secret that nobody is shown, and told to stop when the integration goes', async () => {
    const { body, hooks } = await serve(connected);
    const entity = await added(body);
    await deliver(home);
    const secret = await secretOf(entity.id);
    expect(hooks()).toEqual([expect.stringContaining(`${home.platform.config.url}${entity._links['#hook'].href}`)]);
    expect(hooks()[0]).toContain(secret);
    const path = `${project}/integrations/${entity.id}`;
    expect((await owner.send('GET', path)).text).not.toContain(secret);
    await owner.send('DELETE', path);
    await deliver(home);
    expect(hooks()).toEqual([]);
    expect(home.logLines.join('')).not.toContain(secret);
  });

  test('is asked by a validation, which says what is wrong now', async () => {
    const { host, body, hooks } = await serve(connected);
    const { id } = await added(body);
    const validate = () => owner.send('POST', `${project}/integrations/${id}/validate`);
    expect((await validate()).json).toEqual({ status: 'OK', code: 200 });
    expect(hooks()).toHaveLength(1);
    host.state.instead.push({ status: 401 }, { status: 401 }, { status: 401 });
    expect((await validate()).json.detail).toEqual({ [fields.credential]: expect.stringContaining('does not accept the credential') });
  });
});

test('a host that is away is no reason to refuse: it is told where to call when it is back, and a validation says so meanwhile', async () => {
  const { host, body, hooks } = await serve(hostOf('gitea'));
  const away = () => host.state.instead.push(...Array.from({ length: 3 }, () => ({ status: 503 })));
  away();
  const { id } = await added(body);
  away();
  await deliver(home);
  expect(hooks()).toEqual([]);
  away();
  const { json } = await owner.send('POST', `${project}/integrations/${id}/validate`);
  expect(json.detail).toEqual({ base_url: expect.stringContaining('trouble of its own') });
  await pauseIsOver();
  await deliver(home);
  expect(hooks()).toHaveLength(1);
});

test('an address that the installation does not visit is refused under its field', async () => {
  const detail = (await add({ ...hostOf('gitea').body('http://10.1.2.3'), type: 'gitea' })).json.detail;
  expect(detail).toEqual({ base_url: expect.stringContaining('is not a public address') });
});

test('a webhook goes from a host that is away as soon as that is back, and the integration is gone at once', async () => {
  const { host, body, hooks } = await serve(hostOf('gitlab'));
  const { id } = await added(body);
  await deliver(home);
  host.state.instead.push(...Array.from({ length: 3 }, () => ({ status: 502 })));
  const path = `${project}/integrations/${id}`;
  await owner.send('DELETE', path);
  await deliver(home);
  expect([(await owner.send('GET', path)).status, hooks().length]).toEqual([404, 1]);
  await pauseIsOver();
  await deliver(home);
  expect(hooks()).toEqual([]);
  const rows = await home.platform.db.selectFrom('deliveries').selectAll().where('kind', '=', 'integration.remove_hooks').execute();
  expect(rows.every(({ payload_sealed }) => payload_sealed === null)).toBe(true);
});

test('a webhook goes with its project, too', async () => {
  const { body, hooks } = await serve(hostOf('gitlab'));
  const { projectId } = await sampleProject(owner);
  await owner.send('POST', `/projects/${projectId}/integrations`, body);
  await deliver(home);
  expect(hooks()).toHaveLength(1);
  await home.platform.db.updateTable('projects').set({ status: 'deleted' }).where('id', '=', projectId).execute();
  await look(forgetIntegrations);
  await deliver(home);
  const rows = await home.platform.db.selectFrom('integrations').select('id').where('project_id', '=', projectId).execute();
  expect([rows, hooks()]).toEqual([[], []]);
});

test('a webhook that somebody removed at the host is registered again after a week, and one that was refused after a day', async () => {
  const { host, body, hooks } = await serve(hostOf('gitea'));
  const { id } = await added(body);
  const daysPass = async (days: number) => {
    await sql`update deliveries set created_at = created_at - make_interval(days => ${days}) where integration_id = ${id}`.execute(
      home.platform.db,
    );
    await look(keepWebhooks);
    await deliver(home);
  };
  await deliver(home);
  host.state.hooks.clear();
  await daysPass(2);
  expect(hooks()).toHaveLength(0);
  host.state.instead.push({ status: 403 });
  await daysPass(6);
  expect(hooks()).toHaveLength(0);
  await daysPass(2);
  expect(hooks()).toHaveLength(1);
});

test('where the repository becomes another one, its host is told, and the former one not to call any more', async () => {
  const { body, hooks } = await serve(hostOf('gitlab'));
  const other = await serve(hostOf('gitlab'));
  const { id } = await added(body);
  await deliver(home);
  const path = `${project}/integrations/${id}`;
  const refused = await owner.send('PATCH', path, { ...other.body, token: 'wrong' });
  expect(refused.json.detail).toEqual({ token: expect.stringContaining('does not accept') });
  expect((await owner.send('PATCH', path, other.body)).status).toBe(200);
  await deliver(home);
  expect([hooks().length, other.hooks().length]).toEqual([0, 1]);
});

test('a host that limits requests is left alone for as long as it asks', async () => {
  const { host, body, hooks } = await serve(hostOf('github'));
  const { id } = await added(body);
  host.state.instead.push({ status: 429, headers: { 'retry-after': '3000' } });
  await deliver(home);
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from due_at - now())::float8 as seconds from delivery_lanes where order_key = ${`code host ${id}`}`.execute(
    home.platform.db,
  );
  expect([(rows[0]?.seconds ?? 0) > 2900, hooks().length]).toEqual([true, 0]);
  await pauseIsOver();
  await deliver(home);
  expect(hooks()).toHaveLength(1);
});

describe('an App of GitHub in the place of a token', () => {
  const app = { app_id: testApp.appId, private_key: testApp.privateKey };
  const body = { type: 'github', repository: 'acme/shop', app };
  const keyLine = testApp.privateKey.split('\n')[1] ?? '';

  async function reachGithub() {
    const { host, hooks } = await serve(hostOf('github'));
    reachOnly(home, host);
    return { host, hooks };
  }

  test('is used as the credential; its key is sealed, and shown to nobody', async () => {
    const { hooks } = await reachGithub();
    const entity = await added(body);
    expect(entity).toMatchObject({ token_type: 'github_app', app: { app_id: testApp.appId } });
    await deliver(home);
    expect(hooks()).toHaveLength(1);
    const { rows } = await sql`select * from integrations where id = ${entity.id}`.execute(home.platform.db);
    const seen = [JSON.stringify(rows), (await owner.send('GET', `${project}/integrations/${entity.id}`)).text, ...home.logLines];
    expect(seen.join('')).not.toContain(keyLine);
  });

  test('stays where something else is changed, and goes where a token is given', async () => {
    const { host } = await reachGithub();
    const { _links } = await added(body);
    const edit = async (change: object) => (await owner.send('PATCH', _links['#edit'].href, change)).json._embedded.entity;
    expect(await edit({ build_draft_pull_requests: false })).toMatchObject({ token_type: 'github_app' });
    const changed = await edit({ token: host.state.token });
    expect(changed).toMatchObject({ token_type: 'classic_personal_token' });
    expect(changed).not.toHaveProperty('app');
  });

  test.for<[string, object, Record<string, unknown>]>([
    ['beside a token', { token: 'a' }, { app: 'is given in the place of a token; send one of them' }],
    ['with a key that is none', { app: { ...app, private_key: 'no key' } }, { 'app.private_key': 'must be a key in PEM' }],
    ['without its key', { app: { app_id: '1' } }, { 'app.private_key': 'is required' }],
  ])('is refused %s', async ([, change, detail]) => {
    await reachGithub();
    const reply = await add({ ...body, ...change });
    expect({ status: reply.status, detail: reply.json.detail }).toEqual({ status: 400, detail });
  });
});
