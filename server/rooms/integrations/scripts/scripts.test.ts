import { beforeAll, expect, test } from 'vitest';
import { eachStepTwice, workThrough } from '../../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { tellIntegrations } from '../activity-hooks/tell-integrations.ts';
import * as outside from '../test-receiver.ts';
import { openReceiver } from '../test-receiver.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
});

const openProject = (script: string) => outside.openProject(owner, { type: 'script', script, events: ['project.variable.create'] });
const addVariable = (project: string, name: string) => outside.addVariable(owner, project, name);
const settle = () => outside.settle(home);

/** The scripts that were run, the newest first, each with its log. */
async function runsOf(integration: string) {
  const { json } = await owner.send('GET', `${integration}/activities`);
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  return Promise.all(json.map(async ({ id }: any) => (await owner.send('GET', `${integration}/activities/${id}`)).json));
}

test('a script knows the activity, the project and its variables, asks others, remembers, and its words are the log', async () => {
  const { url, received } = await openReceiver(201);
  const { project, projectId, first } = await openProject(`
    const storage = require('storage');
    const count = (storage.get('count') || 0) + 1;
    storage.set('count', count);
    const reply = fetch(variables.url, { method: 'POST', headers: { 'X-Count': count }, body: JSON.stringify({ token: variables.token }) });
    console.log(activity.type, activity.payload.variable.name, project.id, project.status.code);
    console.log(count, reply.ok, reply.status, reply.text(), _.first(variables.list), variables.token);`);
  for (const variable of [
    { name: 'url', value: url },
    { name: 'token', value: 'sensitive-token', is_sensitive: true },
    { name: 'list', value: '[7]', is_json: true },
  ])
    await owner.send('POST', `${first}/variables`, variable);
  await addVariable(project, 'env:A');
  await addVariable(project, 'env:B');
  await settle();
  expect(received.map(({ headers, json }) => [headers['x-count'], json.token])).toEqual([
    ['1', 'sensitive-token'],
    ['2', 'sensitive-token'],
  ]);
  const [second, earlier] = await runsOf(first);
  expect(earlier).toMatchObject({ type: 'integration.script', state: 'complete', result: 'success' });
  expect(earlier.log).toMatch(new RegExp(String.raw`^project\.variable\.create env:A ${projectId} provisioned\n1 true 201 heard 7 \S+\n$`));
  expect(second.log).toContain('env:B');
  expect(JSON.stringify([second, earlier])).not.toContain('sensitive-token');
});

test('a script that fails ends as failed, with where it failed in its log, and is run again by hand as it is then', async () => {
  const { project, first } = await openProject('function pay() {\n  undefined.price;\n}\npay();');
  await addVariable(project, 'env:A');
  await settle();
  const [failed] = await runsOf(first);
  expect(failed).toMatchObject({ state: 'complete', result: 'failure' });
  expect(failed.log).toMatch(/TypeError: .*\n +at pay \(script\.js:2/);
  await owner.send('PATCH', first, { type: 'script', script: 'console.log("paid", activity.payload.variable.name)' });
  const { status, json } = await owner.send('POST', `${first}/activities/${failed.id}/redeliver`);
  expect(status).toBe(201);
  await settle();
  const repeated = (await owner.send('GET', `${first}/activities/${json._embedded.entity.id}`)).json;
  expect(repeated).toMatchObject({ state: 'complete', result: 'success', log: 'paid env:A\n' });
});

test('a script reaches nothing but the public internet', async () => {
  const addresses = [
    'http://127.0.0.2/',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/',
    'file:///etc/passwd',
  ];
  const { project, first } = await openProject(`
    for (const address of ${JSON.stringify(addresses)}) try { fetch(address); console.log('in') } catch (error) { console.log(error.message) }`);
  await addVariable(project, 'env:A');
  await settle();
  const [{ log }] = await runsOf(first);
  const lines = log.trimEnd().split('\n');
  expect(lines).toHaveLength(addresses.length);
  for (const line of lines) expect(line).toMatch(/not a public address|no address of the web/);
});

test('what a script keeps is bounded, of one integration alone, and goes with it', async () => {
  const { project, projectId, first } = await openProject(`
    const storage = require('storage');
    storage.set('a', 'x');
    for (const value of ['x'.repeat(1e5), undefined]) try { storage.set('b', value) } catch (error) { console.log(error.message) }
    console.log(storage.get('a'), storage.get('b'), storage.get('never'));
    storage.remove('a');
    console.log(storage.get('a'));`);
  await addVariable(project, 'env:A');
  await settle();
  const [{ log }] = await runsOf(first);
  expect(log).toBe('A value of the storage has at most 65536 characters as JSON.\nx null null\nnull\n');
  const other = { type: 'script', script: 'console.log(require("storage").get("b"))', events: ['project.variable.create'] };
  const { json } = await owner.send('POST', `/projects/${projectId}/integrations`, other);
  await owner.send('DELETE', first);
  await addVariable(project, 'env:B');
  await settle();
  expect((await runsOf(`/projects/${projectId}/integrations/${json._embedded.entity.id}`)).map((run) => run.log)).toEqual(['null\n']);
  const kept = await home.platform.db.selectFrom('integration_storage').selectAll().where('key', '=', 'b').execute();
  expect(kept).toEqual([]);
});

test('a script stores any text: what the database cannot keep of it is left out, and the script is run once', async () => {
  const { project, first } = await openProject(String.raw`
    const storage = require('storage');
    storage.set('cut', ['smile \u{1f600}'.slice(0, 7), 'zero \0', 'escaped \\u0000']);
    console.log(JSON.stringify(storage.get('cut')));`);
  await addVariable(project, 'env:A');
  await settle();
  const [{ log }] = await runsOf(first);
  expect(log).toBe(`${JSON.stringify(['smile \ufffd', 'zero ', String.raw`escaped \u0000`])}\n`);
});

test('a script that is killed is run again from its beginning, and ends well', async () => {
  const { project, first } = await openProject('console.log("hello")');
  await addVariable(project, 'env:A');
  await workThrough(home.platform);
  await eachStepTwice(home.platform, async () => {
    await tellIntegrations.run(home.platform, new AbortController().signal);
    const { json } = await owner.send('GET', `${first}/activities`);
    return { id: String(json[0].id) };
  });
  const [run] = await runsOf(first);
  expect(run).toMatchObject({ state: 'complete', result: 'success', log: 'hello\nhello\n' });
});
