/** Sweeps over all operations: a new one is held to these the moment it is declared. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { statusOf } from './kernel/openapi.ts';
import type { Operation } from './kernel/operation.ts';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { permissions, type Permission } from './permissions.ts';
import { openTestPlatform, type Person, type Reply, type TestPlatform } from './testing/platform.ts';
import { absentAddress, fill, isAlwaysRefused, sampleAddress, sampleBody, thereIsNone } from './testing/samples.ts';

const operations = operationsOf(rooms);
const guarded = operations.filter(({ permission }) => permission !== 'public');
const targeted = guarded.filter(({ on, path }) => on && on.view !== 'signed-in' && path.includes('{'));
const linked = operations.filter(({ on, rel }) => on && rel);

let platform: TestPlatform;
let stranger: Person;
let operator: Person;
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
let document: any;

beforeAll(async () => {
  platform = await openTestPlatform();
  document = (await platform.send({ method: 'GET', url: '/openapi.json' })).json;
  [stranger, operator] = [await platform.person(), await platform.person({ is_operator: true })];
});

/** A person who may carry out the operation on a sample of the owner's: the owner, except for what only operators do. */
function somebodyWhoMay({ permission }: Operation, owner: Person): Person {
  const roles = Object.hasOwn(permissions, permission) ? permissions[permission as Permission] : [];
  return roles.length === 1 && roles[0] === 'operator' ? operator : owner;
}

/** Carries out the operation as the person, on a sample of the owner's. */
const perform = async (person: Person, operation: Operation, owner: Person, address: Record<string, string>) =>
  person.send(operation.method, fill(operation.path, address), await sampleBody(operation, owner, address));

test.for(guarded)('$endpoint refuses those without a token', async ({ method, path, example }) => {
  const url = fill(path, {});
  const request = { method, url, ...(example !== undefined && { payload: example as object }) };
  for (const headers of [
    {},
    { authorization: 'Bearer rubbish' },
    { authorization: `Bearer ${stranger.accessToken}x` },
    { authorization: 'Basic eDp5' },
  ]) {
    const reply = await platform.send({ ...request, headers });
    expect(reply).toMatchObject({ status: 401, headers: { 'www-authenticate': expect.stringContaining('Bearer') } });
  }
});

test.for(targeted)('$endpoint answers a stranger alike for what is absent and what is invisible', async (operation) => {
  const owner = await platform.person({ strong: true });
  const address = await sampleAddress(operation, owner);
  const body = await sampleBody(operation, owner, address);
  const ask = (at: Record<string, string>) => stranger.send(operation.method, fill(operation.path, at), body);
  const [invisible, absent] = [await ask(address), await ask(absentAddress)];
  expect([403, 404]).toContain(invisible.status);
  expect({ status: invisible.status, body: invisible.json }).toEqual({ status: absent.status, body: absent.json });
});

describe.for(linked)('$endpoint', (operation) => {
  test('is offered exactly when it would be let through', async () => {
    const owner = await platform.person({ strong: true });
    for (const person of [owner, stranger, operator]) {
      const entity = operation.on;
      if (!entity) throw new Error('Only targeted operations have links');
      const address = await sampleAddress(operation, owner);
      const { json } = await person.send('GET', fill(entity.path, address));
      const offered = json?._links?.[operation.rel ?? ''] !== undefined;
      const { status } = await perform(person, operation, owner, address);
      expect({ person: person.user.username, letThrough: ![401, 403, 404, 409].includes(status) }).toEqual({
        person: person.user.username,
        letThrough: offered,
      });
    }
  });

  test('is found at the address its link gives', async () => {
    const owner = await platform.person({ strong: true });
    const address = await sampleAddress(operation, owner);
    const person = somebodyWhoMay(operation, owner);
    const { json } = await person.send('GET', fill(operation.on?.path ?? '', address));
    const { href, method = operation.method } = json._links[operation.rel ?? ''];
    const body = await sampleBody(operation, owner, address);
    expect((await person.send(method, href, body)).status).toBe(statusOf(operation.returns, operation.family));
  });
});

describe('the OpenAPI document', () => {
  test('is valid, in both forms, and names every operation', async () => {
    const { json } = await platform.send({ method: 'GET', url: '/openapi.json' });
    expect(await new Validator().validate(structuredClone(json))).toMatchObject({ valid: true });
    const yaml = await platform.send({ method: 'GET', url: '/openapi.yaml' });
    expect(await new Validator().validate(yaml.text)).toMatchObject({ valid: true });
    const documented = Object.entries(json.paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual(operations.map(({ endpoint }) => endpoint).sort());
    expect(json.info.version).toBe('1.0');
  });

  test('is a page for people, too', async () => {
    const { text, status } = await platform.send({ method: 'GET', url: '/docs' });
    expect(status).toBe(200);
    for (const { summary } of operations) expect(text).toContain(summary.replaceAll("'", '&#39;'));
  });
});

test.for(operations.filter((operation) => !thereIsNone(operation) && !isAlwaysRefused(operation)))(
  '$endpoint succeeds with its example and answers as documented',
  async (operation) => {
    const { method, path } = operation;
    const owner = await platform.person({ strong: true });
    const reply = await perform(somebodyWhoMay(operation, owner), operation, owner, await sampleAddress(operation, owner));
    const responses = document.paths[path][method.toLowerCase()].responses;
    const [documentedStatus] = Object.keys(responses);
    expect({ status: reply.status, body: reply.text }).toMatchObject({ status: Number(documentedStatus) });
    const { content = {} } = responses[String(reply.status)];
    const [type = ''] = Object.keys(content);
    expect(String(reply.headers['content-type'] ?? '').split(';', 1)[0]).toBe(type);
    /** For text that is streamed, only the content type is documented. */
    const { schema } = content['application/json'] ?? {};
    expect(schema ? mismatches(reply, schema, document) : type === '' ? reply.text : '').toBe('');
  },
);

/** The schema is not validated here: another test does so, and doing it for each operation would take most of the time. */
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);

function mismatches({ json }: Reply, schema: object, { components }: { components: object }) {
  const validate = ajv.compile({ ...schema, components });
  validate(json);
  return ajv.errorsText(validate.errors).replace('No errors', '');
}
