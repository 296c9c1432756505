import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { offeredIntegrations } from '../projects/public.ts';
import { mismatchesWithDefinition } from '../../testing/published-replies.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleMember, sampleProject } from '../../testing/samples.ts';
import { bodies, bodyFor, leak } from './test-bodies.ts';

let home: TestPlatform;
let owner: Person;
let viewer: Person;
let project: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  viewer = await home.person();
  const { organization_id, projectId } = await sampleProject(owner);
  project = `/projects/${projectId}`;
  await sampleMember(owner, organization_id);
  const access = [{ user_id: viewer.user.id, permissions: ['viewer'], auto_add_member: true }];
  await owner.send('POST', `${project}/user-access`, access);
});

const add = async (body: object) => {
  const { json } = await owner.send('POST', `${project}/integrations`, body);
  return json._embedded.entity;
};

/** The published definitions of replies, by type; Gitea is not among them. */
const definitions: Record<string, string> = {
  bitbucket: 'BitbucketIntegration',
  bitbucket_server: 'BitbucketServerIntegration',
  blackfire: 'BlackfireIntegration',
  'cdn.fastly': 'FastlyIntegration',
  github: 'GithubIntegration',
  gitlab: 'GitLabIntegration',
  'health.email': 'EmailIntegration',
  'health.pagerduty': 'PagerDutyIntegration',
  'health.slack': 'SlackIntegration',
  'health.webhook': 'HealthWebHookIntegration',
  httplog: 'HttpLogIntegration',
  newrelic: 'NewRelicIntegration',
  otlplog: 'OtlpLogIntegration',
  script: 'ScriptIntegration',
  splunk: 'SplunkIntegration',
  sumologic: 'SumologicIntegration',
  syslog: 'SyslogIntegration',
  webhook: 'WebHookIntegration',
};

test.for(bodies)('$type is created, read as published, changed and deleted', async (body) => {
  const reply = await owner.send('POST', `${project}/integrations`, body);
  expect(reply).toMatchObject({
    status: 201,
    json: { status: 'Created', code: 201, _embedded: { activities: [], entity: { type: body.type } } },
  });
  const { id } = reply.json._embedded.entity;
  expect(id).toMatch(/^[a-z0-9]{13}$/);
  const path = `${project}/integrations/${id}`;
  const { json } = await owner.send('GET', path);
  const definition = definitions[body.type];
  expect(definition === undefined ? [] : mismatchesWithDefinition(definition, json)).toEqual([]);
  expect(await owner.send('PATCH', path, body)).toMatchObject({ status: 200, json: { _embedded: { entity: { id, type: body.type } } } });
  expect((await owner.send('DELETE', path)).status).toBe(200);
  expect((await owner.send('GET', path)).status).toBe(404);
});

test('the bodies of these tests are of every type that projects are offered', async () => {
  expect(bodies.map(({ type }) => type).sort()).toEqual([...offeredIntegrations].sort());
  const { json } = await owner.send('GET', `${project}/capabilities`);
  expect(Object.keys(json.integrations.config).sort()).toEqual([...offeredIntegrations].sort());
});

test.for(bodies)('secrets of $type are not in the database, nor in what viewers are sent', async (body) => {
  const { id } = await add(body);
  const { rows } = await sql`select * from integrations where id = ${id}`.execute(home.platform.db);
  expect(JSON.stringify(rows)).not.toContain(leak);
  const { status, text } = await viewer.send('GET', `${project}/integrations/${id}`);
  expect({ status, leaked: text.includes(leak) }).toEqual({ status: 200, leaked: false });
  expect((await viewer.send('GET', `${project}/integrations`)).text).not.toContain(leak);
  expect(home.logLines.join('')).not.toContain(leak);
});

/** What those who manage integrations are shown again, as published. */
const shownAgain: Record<string, object> = {
  webhook: { shared_key: leak, url: `https://hooks.example.org/${leak}` },
  'health.pagerduty': { routing_key: leak },
  'health.webhook': { url: `https://hooks.example.org/${leak}` },
  httplog: { url: `https://logs.example.org/${leak}`, headers: { authorization: leak } },
  otlplog: { headers: { authorization: leak } },
  script: { script: `console.log(${JSON.stringify(leak)})` },
  sumologic: { url: `https://logs.example.org/${leak}` },
};

test.for(bodies)('of $type those who manage it are shown again what is not write-only', async (body) => {
  const entity = await add(body);
  expect(entity).toMatchObject(shownAgain[body.type] ?? {});
  const shown = JSON.stringify({ ...entity, ...Object.fromEntries(Object.keys(shownAgain[body.type] ?? {}).map((name) => [name, null])) });
  expect(shown).not.toContain(leak);
});

test('what is not said is what is usual, and stays as it is when something else is changed', async () => {
  const entity = await add(bodyFor('webhook'));
  expect(entity).toMatchObject({ events: ['*'], environments: ['*'], excluded_environments: [], states: ['complete'], result: '*' });
  const path = `${project}/integrations/${entity.id}`;
  await owner.send('PATCH', path, { ...bodyFor('webhook'), events: ['environment.push'] });
  const { json } = await owner.send('PATCH', path, { type: 'webhook', url: 'https://elsewhere.example.org/', result: 'failure' });
  expect(json._embedded.entity).toMatchObject({ events: ['environment.push'], result: 'failure', shared_key: leak });
});

test.for<[string, object, Record<string, string>]>([
  ['no type', { url: 'https://example.org' }, { type: 'is required' }],
  ['an unknown type', { type: 'hipchat' }, { type: expect.stringContaining('must be one of bitbucket, ') as string }],
  ['a type that is no text', { type: 7 }, { type: expect.stringContaining('must be one of') as string }],
  ['nothing but the type', { type: 'github' }, { token: 'is required', repository: 'is required' }],
  ['a field of another type', { ...bodyFor('github'), channel: '#a' }, { channel: 'is not a known field' }],
  ['a field that replies have', { ...bodyFor('github'), token_type: 'github_app' }, { token_type: 'is not a known field' }],
  ['a repository without its owner', { ...bodyFor('github'), repository: 'shop' }, { repository: 'must have the form owner/name' }],
  ['half of the credentials', { ...bodyFor('bitbucket'), app_credentials: { key: 'k' } }, { 'app_credentials.secret': 'is required' }],
  [
    'pruning without fetching',
    { ...bodyFor('github'), fetch_branches: false },
    { prune_branches: 'needs fetch_branches; send false for both' },
  ],
  [
    'an address of another kind',
    { ...bodyFor('webhook'), url: 'ftp://example.org/' },
    { url: 'must be a full address that begins with https:// or http://' },
  ],
  [
    'a state that there is not',
    { ...bodyFor('webhook'), states: ['done'] },
    { 'states.0': expect.stringContaining('must be one of pending') as string },
  ],
  [
    'a recipient that is nobody',
    { type: 'health.email', recipients: ['#everybody'] },
    { 'recipients.0': 'must be an e-mail address, #admins or #viewers' },
  ],
  [
    'more extra fields than are sent',
    { ...bodyFor('syslog'), extra: { a: 'x'.repeat(5000) } },
    { extra: 'must be at most 4096 bytes as JSON' },
  ],
])('%s is refused, under its field', async ([, body, detail]) => {
  const { status, json } = await owner.send('POST', `${project}/integrations`, body);
  expect({ status, detail: json.detail }).toEqual({ status: 400, detail });
});

test('a change names the type and all that it requires again, and never another type', async () => {
  const { id } = await add(bodyFor('github'));
  const patch = async (body: object) => (await owner.send('PATCH', `${project}/integrations/${id}`, body)).json.detail;
  expect(await patch({ token: 'new', repository: 'acme/shop' })).toEqual({ type: 'is required' });
  expect(await patch({ type: 'github', build_draft_pull_requests: false })).toEqual({ token: 'is required', repository: 'is required' });
  expect(await patch(bodyFor('gitlab'))).toEqual({ type: expect.stringContaining('cannot be changed from github') });
});

test('its link takes the fields that change alone, as released clients send them, and holds them to the same rules', async () => {
  const { _links, id } = await add(bodyFor('github'));
  const edit = (body: object) => owner.send('PATCH', _links['#edit'].href, body);
  expect((await edit({ fetch_branches: false, prune_branches: false })).json._embedded.entity).toMatchObject({ id, fetch_branches: false });
  expect((await edit({ prune_branches: true })).json.detail).toEqual({ prune_branches: 'needs fetch_branches; send false for both' });
  expect((await edit({ nonsense: 1 })).json.detail).toEqual({ nonsense: 'is not a known field' });
  expect((await edit({ type: 'gitlab' })).status).toBe(400);
  expect((await edit({ repository: '/acme/other' })).json._embedded.entity.repository).toBe('acme/other');
});

test('a validation tells what keeps an integration from doing anything', async () => {
  const validate = async (body: object) => owner.send('POST', `${project}/integrations/${(await add(body)).id}/validate`);
  expect(await validate(bodyFor('webhook'))).toMatchObject({ status: 200, json: { status: 'OK', code: 200 } });
  expect(await validate({ type: 'syslog' })).toMatchObject({ status: 400, json: { detail: { host: 'is not set, so nothing is sent' } } });
  expect(await validate({ type: 'health.email', recipients: [] })).toMatchObject({ status: 400 });
  expect(await validate(bodyFor('health.email'))).toMatchObject({
    status: 400,
    json: { detail: { recipients: 'get no mail: this installation has no mail server (OFFSHOOT_SMTP_URL)' } },
  });
});

test('hosts of code have an address that they call without a token, so often a minute', async () => {
  const { id, _links } = await add(bodyFor('gitea'));
  const call = (url: string) => home.send({ method: 'POST', url, payload: { anything: ['goes'] } });
  expect(_links['#hook'].href).toBe(`/api${project}/integrations/${id}/hook`);
  expect((await call(_links['#hook'].href)).json).toEqual({ status: 'OK', code: 200 });
  const { rows } = await sql<{ is_noted: boolean }>`select hooked_at is not null as is_noted from integrations where id = ${id}`.execute(
    home.platform.db,
  );
  expect(rows).toEqual([{ is_noted: true }]);
  expect((await call(`${project}/integrations/absent/hook`)).status).toBe(404);
  await sql`update attempts set count = 300 where key like 'unproven call of hook %'`.execute(home.platform.db);
  expect((await call(_links['#hook'].href)).status).toBe(429);
  expect((await add(bodyFor('webhook')))._links).not.toHaveProperty('#hook');
});

test('a project has at most so many integrations', async () => {
  const { projectId } = await sampleProject(owner);
  const settings = JSON.stringify({});
  const secrets_sealed = home.platform.secrets.seal('integration x', '{}');
  const rows = Array.from({ length: 100 }, (_, n) => ({
    id: `${projectId}${n}`,
    project_id: projectId,
    type: 'blackfire',
    hears_activities: false,
    settings,
    secrets_sealed,
  }));
  await home.platform.db.insertInto('integrations').values(rows).execute();
  expect((await owner.send('POST', `/projects/${projectId}/integrations`, { type: 'blackfire' })).status).toBe(409);
});

test('variables of an integration: a sensitive one is sealed and never shown', async () => {
  const { id } = await add(bodyFor('script'));
  const variables = `${project}/integrations/${id}/variables`;
  const { json } = await owner.send('POST', variables, { name: 'TOKEN', value: leak, is_sensitive: true });
  expect(json._embedded.entity).toMatchObject({ id: 'TOKEN', is_sensitive: true });
  expect(json._embedded.entity).not.toHaveProperty('value');
  await owner.send('POST', variables, { name: 'URL', value: 'https://example.org' });
  expect((await owner.send('GET', variables)).json).toMatchObject([{ name: 'TOKEN' }, { name: 'URL', value: 'https://example.org' }]);
  expect((await owner.send('POST', variables, { name: 'URL', value: 'again' })).status).toBe(409);
  const change = await owner.send('PATCH', `${variables}/URL`, { name: 'PLACE', value: '{}', is_json: true });
  expect(change.json._embedded.entity).toMatchObject({ id: 'PLACE', is_json: true });
  expect((await owner.send('PATCH', `${variables}/TOKEN`, { is_sensitive: false })).json.detail).toHaveProperty('is_sensitive');
  expect((await owner.send('PATCH', `${variables}/PLACE`, { value: 'no JSON' })).json.detail).toHaveProperty('value');
  const { rows } = await sql`select * from integration_variables where integration_id = ${id}`.execute(home.platform.db);
  expect(JSON.stringify(rows)).not.toContain(leak);
  expect((await owner.send('DELETE', `${variables}/PLACE`)).status).toBe(200);
  expect((await owner.send('GET', variables)).json).toHaveLength(1);
});
