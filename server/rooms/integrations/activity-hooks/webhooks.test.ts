import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startReconcilers } from '../../../kernel/reconciler.ts';
import { deliveryKindsOf } from '../../../kernel/room.ts';
import { rooms } from '../../../rooms.ts';
import { workThrough } from '../../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { startDeliveries } from '../../deliveries/work.ts';
import * as outside from '../test-receiver.ts';
import { openReceiver, pausesAreOver, type Received } from '../test-receiver.ts';
import { fastlyDelivery, webhookDelivery } from './hook-delivery.ts';
import { tellIntegrations } from './tell-integrations.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
});

const openProject = (...hooks: object[]) => outside.openProject(owner, ...hooks.map((hook) => ({ type: 'webhook', ...hook })));
const addVariable = (project: string, name: string) => outside.addVariable(owner, project, name);
const settle = () => outside.settle(home);
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
const activitiesOf = async (integration: string): Promise<any[]> => (await owner.send('GET', `${integration}/activities`)).json;
const namesTold = (received: Received[]) => received.map(({ json }) => json.payload.variable.name);

test('an activity that has come to its end is posted as the API shows it, signed with the shared key', async () => {
  const { url, origin, received } = await openReceiver(200);
  const { project, ids, first } = await openProject({ url, shared_key: 'key' });
  const { json } = await addVariable(project, 'env:A');
  await settle();
  expect(received).toHaveLength(1);
  const [{ headers, text, json: posted }] = received as [Received];
  const shown = (await owner.send('GET', `${project}/activities/${json._embedded.activities[0].id}`)).json;
  const { _links: links, ...fields } = posted;
  // What a reader may do, and what not just now, depends on who reads.
  const { _links: _shownLinks, _not_now: _shownReasons, ...shownFields } = shown;
  expect(fields).toEqual(shownFields);
  expect(fields).toMatchObject({ type: 'project.variable.create', state: 'complete', result: 'success' });
  expect(links.self.href).toBe(`${home.platform.config.url}/api${project}/activities/${shown.id}`);
  const [header = '', , signature] = String(headers['x-jws-signature']).split('.');
  expect(signature).toBe(createHmac('sha256', 'key').update(`${header}.${text}`).digest('base64url'));
  const [delivery] = await activitiesOf(first);
  expect(delivery).toMatchObject({ type: 'integration.webhook', integration: ids[0], state: 'complete', result: 'success' });
  expect(delivery).toMatchObject({
    id: headers['x-delivery-id'],
    payload: { activity: shown.id, activity_type: 'project.variable.create' },
  });
  const { log } = (await owner.send('GET', `${first}/activities/${delivery.id}`)).json;
  const [sent, answered] = log.split('\n');
  expect(sent).toBe(`Attempt 1: POST ${origin}/…, ${Buffer.byteLength(text)} bytes`);
  expect(answered).toMatch(/^Attempt 1: HTTP 200: heard \(\d+ ms\)$/);
});

test('only those hear of an activity whom it concerns', async () => {
  const [deletions, states] = [await openReceiver(200), await openReceiver(200)];
  const { project } = await openProject(
    { url: deletions.url, events: ['project.variable.delete'] },
    { url: states.url, events: ['project.variable.*'], states: ['pending', 'in_progress', 'complete'] },
  );
  await addVariable(project, 'env:A');
  await settle();
  expect(deletions.received).toEqual([]);
  expect(states.received.map(({ json: { state, result, completion_percent } }) => ({ state, result, completion_percent }))).toEqual([
    { state: 'pending', result: null, completion_percent: 0 },
    { state: 'in_progress', result: null, completion_percent: 0 },
    { state: 'complete', result: 'success', completion_percent: 100 },
  ]);
});

test('a receiver that fails is asked again, and what comes later waits for it', async () => {
  const { url, received } = await openReceiver(503, 429, 200);
  const { project, first } = await openProject({ url });
  await addVariable(project, 'env:A');
  await addVariable(project, 'env:B');
  await settle();
  expect((await activitiesOf(first)).map(({ state, result }) => [state, result])).toEqual([
    ['pending', null],
    ['in_progress', null],
  ]);
  for (const _ of [1, 2]) {
    await pausesAreOver(home);
    await settle();
  }
  expect(namesTold(received)).toEqual(['env:A', 'env:A', 'env:A', 'env:B']);
  const [later, earlier] = await activitiesOf(first);
  expect([later.result, earlier.result]).toEqual(['success', 'success']);
  const { log } = (await owner.send('GET', `${first}/activities/${earlier.id}`)).json;
  expect([...log.matchAll(/HTTP (\d+)/g)].map(([, status]) => status)).toEqual(['503', '429', '200']);
});

test('where something cannot be told at the moment, what came later waits for it, in that project alone', async () => {
  const [one, other] = [await openReceiver(200), await openReceiver(200)];
  const [first, second] = [await openProject({ url: one.url }), await openProject({ url: other.url })];
  for (const name of ['env:A', 'env:B', 'env:C']) await addVariable(first.project, name);
  await addVariable(second.project, 'env:A');
  await workThrough(home.platform);
  const { secrets } = home.platform;
  onTestFinished(() => void (home.platform.secrets = secrets));
  let isBroken = true;
  const open: typeof secrets.open = (...asked) => {
    if (!isBroken) return secrets.open(...asked);
    isBroken = false;
    throw new Error('not at the moment');
  };
  home.platform.secrets = { ...secrets, open };
  await tellIntegrations.run(home.platform, new AbortController().signal);
  home.platform.secrets = secrets;
  const recorded = async ({ first: integration }: typeof second) => (await activitiesOf(integration)).length;
  expect([await recorded(first), await recorded(second)]).toEqual([0, 1]);
  await settle();
  expect(namesTold(one.received)).toEqual(['env:A', 'env:B', 'env:C']);
});

test.for([302, 404])('a receiver that answers %i is not asked again', async (status) => {
  const { url, received } = await openReceiver(status);
  const { project, first } = await openProject({ url });
  await addVariable(project, 'env:A');
  await settle();
  await pausesAreOver(home);
  await settle();
  expect(received).toHaveLength(1);
  expect(await activitiesOf(first)).toMatchObject([{ state: 'complete', result: 'failure' }]);
});

test('nothing is sent to addresses that are not public', async () => {
  const { project, first } = await openProject({ url: 'http://127.0.0.2:9/' });
  await addVariable(project, 'env:A');
  await settle();
  const [delivery] = await activitiesOf(first);
  const { log } = (await owner.send('GET', `${first}/activities/${delivery.id}`)).json;
  expect(log).toContain('127.0.0.2 is not a public address');
});

test('neither the address nor what is sent is stored where it can be read, and projects without webhooks note nothing', async () => {
  const { project, projectId } = await openProject({ url: 'http://127.0.0.1:9/token-in-address', shared_key: 'key-of-the-hook' });
  await addVariable(project, 'env:A');
  await settle();
  const { rows } = await sql`
    select deliveries.*, attempts.* from deliveries left join delivery_attempts as attempts on attempts.delivery_id = deliveries.id
    where project_id = ${projectId}`.execute(home.platform.db);
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toMatch(/token-in-address|key-of-the-hook|env:A/);
  const other = await openProject();
  await addVariable(other.project, 'env:A');
  const { rows: events } = await sql`select * from activity_events where project_id = ${other.projectId}`.execute(home.platform.db);
  expect(events).toEqual([]);
});

test('a receiver hears at once, without anybody looking from time to time', async () => {
  const { url, received } = await openReceiver(200);
  const { project } = await openProject({ url });
  const [reconcilers, deliveries] = [
    startReconcilers([{ ...tellIntegrations, everySeconds: 600 }], home.platform),
    startDeliveries([webhookDelivery], home.platform),
  ];
  onTestFinished(async () => {
    await reconcilers.close();
    await deliveries.close();
  });
  await addVariable(project, 'env:A');
  await workThrough(home.platform);
  await expect.poll(() => namesTold(received), { timeout: 20_000 }).toEqual(['env:A']);
});

describe('by hand', () => {
  test('something is sent again to where the webhook leads now, and what waits with it', async () => {
    const [wrong, right] = [await openReceiver(404, 503), await openReceiver(200)];
    const { project, first } = await openProject({ url: wrong.url });
    await addVariable(project, 'env:A');
    await settle();
    await addVariable(project, 'env:B');
    await settle();
    const [waiting, failed] = await activitiesOf(first);
    expect([waiting.state, failed.result]).toEqual(['in_progress', 'failure']);
    expect(Object.keys(failed._links)).toContain('#redeliver');
    expect(Object.keys(waiting._links)).not.toContain('#redeliver');
    expect((await owner.send('POST', `${first}/activities/${waiting.id}/redeliver`)).status).toBe(409);
    await owner.send('PATCH', first, { type: 'webhook', url: right.url });
    const { status, json } = await owner.send('POST', `${first}/activities/${failed.id}/redeliver`);
    expect({ status, entity: json._embedded.entity }).toMatchObject({ status: 201, entity: { payload: { repeats: failed.id } } });
    await settle();
    expect(namesTold(right.received)).toEqual(['env:B', 'env:A']);
    const repeated = (await owner.send('GET', `${first}/activities/${json._embedded.entity.id}`)).json;
    expect(repeated).toMatchObject({ state: 'complete', result: 'success' });
  });

  test('what waits is cancelled, and is not sent', async () => {
    const { url, received } = await openReceiver(503, 200);
    const { project, first } = await openProject({ url });
    await addVariable(project, 'env:A');
    await addVariable(project, 'env:B');
    await settle();
    const [, failing] = await activitiesOf(first);
    expect(await owner.send('POST', `${first}/activities/${failing.id}/cancel`)).toMatchObject({
      status: 200,
      json: { _embedded: { entity: { state: 'cancelled' } } },
    });
    expect((await owner.send('POST', `${first}/activities/${failing.id}/cancel`)).status).toBe(400);
    await pausesAreOver(home);
    await settle();
    expect(namesTold(received)).toEqual(['env:A', 'env:B']);
  });
});

test('what was sent is listed by state, result, type and moment, and its log is streamed to its end', async () => {
  const { url } = await openReceiver(404, 200);
  const { project, first } = await openProject({ url });
  for (const name of ['env:A', 'env:B', 'env:C']) await addVariable(project, name);
  await settle();
  const all = await activitiesOf(first);
  const listed = async (query: string) =>
    (await owner.send('GET', `${first}/activities?${query}`)).json.map(({ id }: { id: string }) => all.findIndex((each) => each.id === id));
  expect(await listed('result=failure')).toEqual([2]);
  expect(await listed('result=success&count=1')).toEqual([0]);
  expect(await listed('state=pending')).toEqual([]);
  expect(await listed('type=integration.webhook')).toEqual([0, 1, 2]);
  expect(await listed('type=environment.push')).toEqual([]);
  expect(await listed(`starts_at=${encodeURIComponent(all[1].created_at)}`)).toEqual([1, 2]);
  const { text } = await owner.send('GET', `${first}/activities/${all[0].id}/log`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(0).data.message).toContain('POST');
  expect(lines.at(-1)).toEqual({ seal: true });
});

test('what was sent is found through its own integration alone, and goes with it', async () => {
  const { url } = await openReceiver(200);
  const { project, first, ids } = await openProject({ url }, { url, events: [] });
  await addVariable(project, 'env:A');
  await settle();
  const [{ id }] = await activitiesOf(first);
  expect((await owner.send('GET', `${project}/integrations/${ids[1]}/activities/${id}`)).status).toBe(404);
  await owner.send('DELETE', first);
  const { rows } = await sql`select from deliveries where id = ${id}`.execute(home.platform.db);
  expect(rows).toEqual([]);
});

test('the cache of Fastly is emptied when something happens that was named', async () => {
  const { origin, received } = await openReceiver(503, 200);
  const fastly = { type: 'cdn.fastly', token: 'fastly-token', service_id: 'SU1Z0isxPaozGVKXdv0eY', events: ['project.variable.create'] };
  const { project, first } = await outside.openProject(owner, fastly);
  await addVariable(project, 'env:A');
  const kinds = [...deliveryKindsOf(rooms).filter(({ kind }) => kind !== fastlyDelivery().kind), fastlyDelivery(origin)];
  await outside.settle(home, kinds);
  await pausesAreOver(home);
  await outside.settle(home, kinds);
  const asked = { method: 'POST', path: '/service/SU1Z0isxPaozGVKXdv0eY/purge_all', headers: { 'fastly-key': 'fastly-token' }, text: '' };
  expect(received).toMatchObject([asked, asked]);
  const [delivery] = await activitiesOf(first);
  expect(delivery).toMatchObject({ type: 'integration.cdn.fastly', result: 'success' });
  const { text } = await owner.send('GET', `${first}/activities/${delivery.id}`);
  expect(text).not.toContain('fastly-token');
});
