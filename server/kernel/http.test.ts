/** What every operation gets from the kernel, seen through two toy rooms: shelves (account family) and a project's gadgets. */
import { gzipSync } from 'node:zlib';
import fastify from 'fastify';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../testing/platform.ts';
import { rooms } from '../rooms.ts';
import { serveHealth } from './health.ts';
import { isSignedReference } from './hal.ts';
import { array, created, deleted, entity, one, operation, page, updated } from './operation.ts';
import { paged } from './paging.ts';
import { closed, nullable, Time } from './schema.ts';
import type { Room } from './room.ts';
import { openDatabase, openPool, type Db } from './sql.ts';

interface Shelf {
  id: string;
  label: string;
  owner_id: string;
  created_at: string;
}

interface Gadget {
  id: string;
  status: string;
  size: number | null;
  owner_id: string;
  created_at: string;
}

/** Tables of the test's own, which the product's types do not know. */
const rowsOf = async <Row>(db: Db, statement: ReturnType<typeof sql<Row>>) => (await statement.execute(db)).rows;

const Shelf = entity({
  name: 'shelf',
  path: '/shelves/{shelf_id}',
  params: { shelf_id: Type.String() },
  schema: Type.Object({ id: Type.String(), label: Type.String(), owner_id: Type.String(), created_at: Time }),
  address: ({ id }: Shelf) => ({ shelf_id: id }),
  scope: ({ owner_id }) => ({ user: owner_id }),
  view: 'signed-in',
  references: { users: ({ owner_id }) => owner_id },
  load: async ({ shelf_id }, { db }) => (await rowsOf(db, sql<Shelf>`select * from shelves where id = ${shelf_id}`))[0],
});

const listShelves = operation({
  summary: 'List shelves',
  endpoint: 'GET /shelves',
  permission: 'signed-in',
  returns: page(Shelf, { sort: ['label', 'created_at'], filter: { label: 'string', created_at: 'time' } }),
  handle: ({ list }, { db }) => paged(db.selectFrom(sql<Shelf>`shelves`.as('shelves')).selectAll(), list),
});

const editShelf = operation({
  summary: 'Edit a shelf',
  endpoint: 'PATCH /shelves/{shelf_id}',
  on: Shelf,
  rel: 'update',
  permission: 'user:edit',
  body: closed({ label: Type.String({ minLength: 1, maxLength: 10 }) }),
  returns: updated(Shelf),
  handle: async ({ target, body }) => ({ ...target, label: body.label }),
});

const explode = operation({
  summary: 'Meet a bug',
  endpoint: 'POST /shelves',
  permission: 'public',
  returns: one(Shelf),
  handle: async () => {
    throw new Error('secret detail in a stack trace');
  },
});

const Gadget = entity({
  name: 'gadget',
  path: '/projects/{projectId}/gadgets/{gadgetId}',
  params: { projectId: Type.String(), gadgetId: Type.String() },
  schema: Type.Object({ id: Type.String(), status: Type.String(), size: nullable(Type.Integer()), created_at: Time }),
  address: ({ id }: Gadget) => ({ projectId: 'p1', gadgetId: id }),
  scope: ({ owner_id }) => ({ user: owner_id }),
  view: 'signed-in',
  links: ({ size }) => (size === null ? {} : { 'pf:doors': [{ href: 'https://a.example.org/' }, { href: 'https://b.example.org/' }] }),
  load: async ({ gadgetId }, { db }) => (await rowsOf(db, sql<Gadget>`select * from gadgets where id = ${gadgetId}`))[0],
});

const listGadgets = operation({
  summary: 'List gadgets',
  endpoint: 'GET /projects/{projectId}/gadgets',
  permission: 'signed-in',
  query: Type.Object({ sizes: Type.Optional(Type.Array(Type.Integer())) }),
  returns: array(Gadget),
  handle: ({ query }, { db }) =>
    rowsOf(
      db,
      sql<Gadget>`select * from gadgets where ${query.sizes ?? null}::int[] is null or size = any(${query.sizes ?? null}) order by id`,
    ),
});

const getGadget = operation({
  summary: 'Get a gadget',
  endpoint: 'GET /projects/{projectId}/gadgets/{gadgetId}',
  on: Gadget,
  permission: 'signed-in',
  returns: one(Gadget),
  handle: async ({ target }) => target,
});

const createGadget = operation({
  summary: 'Create a gadget',
  endpoint: 'POST /projects/{projectId}/gadgets',
  permission: 'signed-in',
  body: closed({ id: Type.String(), size: Type.Optional(Type.Integer()) }),
  returns: created(Gadget),
  handle: async ({ caller, body }, { db }) => {
    const [gadget] = await rowsOf(
      db,
      sql<Gadget>`insert into gadgets (id, size, owner_id) values (${body.id}, ${body.size ?? null}, ${caller.id}) returning *`,
    );
    if (!gadget) throw new Error('An insert returns its row');
    return gadget;
  },
});

const pauseGadget = operation({
  summary: 'Pause a gadget',
  endpoint: 'POST /projects/{projectId}/gadgets/{gadgetId}/pause',
  on: Gadget,
  rel: '#pause',
  permission: 'user:edit',
  allowedWhen: ({ status }) => status === 'active',
  returns: updated(Gadget),
  handle: async ({ target }, { db }) => {
    await sql`update gadgets set status = 'paused' where id = ${target.id}`.execute(db);
    return { ...target, status: 'paused' };
  },
});

const deleteGadget = operation({
  summary: 'Delete a gadget',
  endpoint: 'DELETE /projects/{projectId}/gadgets/{gadgetId}',
  on: Gadget,
  rel: '#delete',
  permission: 'user:edit',
  returns: deleted,
  handle: async () => {},
});

const toys: Room = {
  name: 'Toys',
  about: 'For this test.',
  operations: { listShelves, editShelf, explode, listGadgets, getGadget, createGadget, pauseGadget, deleteGadget },
};

let test_: TestPlatform;
let ada: Person;

beforeAll(async () => {
  test_ = await openTestPlatform([...rooms, toys]);
  ada = await test_.person();
  const { db } = test_.platform;
  await sql`create table shelves (id text primary key, label text not null, owner_id text not null, created_at timestamptz not null default now())`.execute(
    db,
  );
  await sql`create table gadgets (id text primary key, status text not null default 'active', size int, owner_id text not null,
            created_at timestamptz not null default '2017-11-09 14:55:11.100839+00')`.execute(db);
  await sql`insert into shelves (id, label, owner_id, created_at)
            select 's' || n, 'label ' || lpad((n / 2)::text, 2, '0'), ${ada.user.id}, '2026-01-01 12:00:00.123456+00'::timestamptz + n * interval '1 day'
            from generate_series(1, 45) n`.execute(db);
});

describe('a page of a long list', () => {
  test('is walked forwards and backwards by its links, while rows are added', async () => {
    const first = await ada.send('GET', '/shelves?sort=-label&page[size]=20');
    expect(first.json.count).toBe(45);
    expect(first.json._links.previous).toBeUndefined();
    const second = await ada.send('GET', first.json._links.next.href);
    await sql`insert into shelves (id, label, owner_id) values ('new', 'zzz', 'x')`.execute(test_.platform.db);
    const third = await ada.send('GET', second.json._links.next.href);
    expect(third.json._links.next).toBeUndefined();
    const ids = [first, second, third].flatMap(({ json }) => json.items.map(({ id }: Shelf) => id));
    expect(new Set(ids).size).toBe(45);
    const back = await ada.send('GET', third.json._links.previous.href);
    expect(back.json.items).toEqual(second.json.items);
    await sql`delete from shelves where id = 'new'`.execute(test_.platform.db);
  });

  test('is narrowed by filters in each of their spellings', async () => {
    const idsOf = async (query: string) =>
      (await ada.send('GET', `/shelves?${query}&page[size]=100`)).json.items.map(({ id }: Shelf) => id);
    expect(await idsOf('filter[label]=label 01')).toEqual(['s2', 's3']);
    expect(await idsOf('filter[label][in]=label 01,label 22')).toHaveLength(4);
    expect(await idsOf('filter%5Blabel%5D%5Bends%5D=22')).toEqual(['s44', 's45']);
    expect(await idsOf('filter[label][contains]=%25')).toEqual([]);
    expect(await idsOf('filter[created_at][lt]=2026-01-03T12:00:00Z')).toEqual(['s1']);
    const inTwo = 'filter[label][value][0]=label 01&filter[label][value][1]=label 22';
    expect(await idsOf(`${inTwo}&filter[label][operator]=IN`)).toHaveLength(4);
    expect(await idsOf(`${inTwo}&filter[label][operator]=NOT IN`)).toHaveLength(41);
    expect(await idsOf('filter[label][value]=label 22&filter[label][operator]=STARTS_WITH')).toEqual(['s44', 's45']);
    expect(await idsOf('filter[label][value]=label 01')).toEqual(['s2', 's3']);
    expect(await idsOf('filter[label][IN]=label 01')).toEqual(['s2', 's3']);
    expect(await idsOf('filter[created_at][value]=2026-02-14T00:00:00Z&filter[created_at][operator]=>')).toEqual(['s44', 's45']);
    const { status, json } = await ada.send('GET', '/shelves?filter[label][value]=x&filter[label][operator]=LIKE');
    expect([status, Object.keys(json.detail)]).toEqual([400, ['filter[label][like]']]);
  });

  test('is found by its number, for clients that count pages', async () => {
    const second = await ada.send('GET', '/shelves?range=20&page=2');
    expect(second.json.items.map(({ id }: Shelf) => id).slice(0, 2)).toEqual(['s21', 's22']);
    const third = await ada.send('GET', second.json._links.next.href);
    expect([third.json.items.length, third.json._links.next]).toEqual([5, undefined]);
    expect((await ada.send('GET', third.json._links.previous.href)).json.items).toEqual(second.json.items);
    expect((await ada.send('GET', '/shelves?range=20&page=9')).json.items).toEqual([]);
  });

  test('names every bad parameter at once', async () => {
    const { status, json } = await ada.send(
      'GET',
      '/shelves?page[size]=0&page[after]=rubbish&sort=colour&filter[weight]=1&filter[created_at][gt]=x',
    );
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual(['filter[created_at][gt]', 'filter[weight]', 'page[after]', 'page[size]', 'sort']);
  });

  test('links to what it mentions, signed', async () => {
    const { json } = await ada.send('GET', '/shelves');
    const url = new URL(json._links['ref:users:0'].href, 'http://x');
    expect(url.pathname).toBe('/ref/users');
    const ids = url.searchParams.get('in')?.split(',') ?? [];
    expect(ids).toEqual([ada.user.id]);
    const signature = url.searchParams.get('sig') ?? '';
    expect(isSignedReference('users', ids, signature, ada.user, test_.platform.secrets)).toBe(true);
    expect(isSignedReference('users', [...ids, 'another'], signature, ada.user, test_.platform.secrets)).toBe(false);
  });

  test('has milliseconds in its dates and methods on its actions, as the account family does', async () => {
    const { json } = await ada.send('GET', '/shelves?page[size]=1');
    expect(json.items[0]).toMatchObject({
      created_at: '2026-01-02T12:00:00.123Z',
      _links: { self: { href: '/shelves/s1' }, update: { href: '/shelves/s1', method: 'PATCH' } },
    });
  });
});

describe('the project family', () => {
  const at = '/api/projects/p1/gadgets';

  test('answers mutations with the entity embedded, and lists with a bare array', async () => {
    const { status, json } = await ada.send('POST', '/projects/p1/gadgets', { id: 'one', size: 3 });
    expect(status).toBe(201);
    expect(json).toMatchObject({ status: 'Created', code: 201, _embedded: { activities: [], entity: { id: 'one', size: 3 } } });
    await ada.send('POST', at, { id: 'two' });
    expect((await ada.send('GET', at)).json.map(({ id }: Gadget) => id)).toEqual(['one', 'two']);
    for (const query of ['sizes[]=3', 'sizes[0]=3', 'sizes=3']) expect((await ada.send('GET', `${at}?${query}`)).json).toHaveLength(1);
  });

  test('shows an entity as it was embedded: microseconds, links under /api, meta', async () => {
    const { json } = await ada.send('GET', '/projects/p1/gadgets/one');
    expect(json.created_at).toBe('2017-11-09T14:55:11.100839+00:00');
    expect(json._links.self).toMatchObject({
      href: `${at}/one`,
      meta: { type: 'object', properties: { size: { type: ['integer', 'null'] } } },
    });
    expect(json._links['#pause']).toMatchObject({ href: `${at}/one/pause`, meta: { post: { summary: 'Pause a gadget' } } });
    expect(json._links['pf:doors']).toEqual([{ href: 'https://a.example.org/' }, { href: 'https://b.example.org/' }]);
    expect(JSON.stringify(json)).not.toContain('owner_id');
  });

  test('offers an action exactly while it is possible', async () => {
    const { json } = await ada.send('POST', `${at}/one/pause`);
    expect(json._embedded.entity.status).toBe('paused');
    expect(json._embedded.entity._links['#pause']).toBeUndefined();
    expect(await ada.send('POST', `${at}/one/pause`)).toMatchObject({ status: 409, json: { code: 409, status: 'Conflict' } });
    const stranger = await test_.person();
    expect(Object.keys((await stranger.send('GET', `${at}/two`)).json._links)).toEqual(['self']);
    expect((await stranger.send('DELETE', `${at}/two`)).status).toBe(403);
  });

  test('says of an action that is not possible just now why, to those who may, and about one thing only', async () => {
    const refused = (await ada.send('POST', `${at}/one/pause`)).json.message;
    expect((await ada.send('GET', `${at}/one`)).json._not_now).toEqual({ '#pause': refused });
    expect((await ada.send('GET', `${at}/two`)).json).not.toHaveProperty('_not_now');
    expect((await (await test_.person()).send('GET', `${at}/one`)).json).not.toHaveProperty('_not_now');
    for (const row of (await ada.send('GET', at)).json) expect(row).not.toHaveProperty('_not_now');
  });

  test('deletes with an answer that embeds what was deleted', async () => {
    expect(await ada.send('DELETE', `${at}/two`)).toMatchObject({ status: 200, json: { code: 200, _embedded: { entity: { id: 'two' } } } });
  });
});

describe('a bad request', () => {
  const bad = (payload: string, contentType = 'application/json') =>
    test_.send({
      method: 'PATCH',
      url: '/shelves/s1',
      headers: { authorization: `Bearer ${ada.accessToken}`, 'content-type': contentType },
      payload,
    });

  test.for([
    ['not JSON', '{"label":', 'body', 400],
    ['an unknown field', '{"label":"a","colour":"red"}', 'colour', 400],
    ['a wrong type', '{"label":5}', 'label', 400],
    ['a missing field', '{}', 'label', 400],
    ['a NUL character', String.raw`{"label":"a\u0000"}`, 'label', 400],
    ['half of a surrogate pair', String.raw`{"label":"a\ud800"}`, 'label', 400],
    ['half of a surrogate pair deep inside', String.raw`{"label":{"a":["b","\uDC00"]}}`, 'label.a.1', 400],
    ['half of a surrogate pair in a name', String.raw`{"label":{"\ud800":1}}`, 'label must not have a field name', 400],
    ['nesting without end', `{"label":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'body is nested', 400],
    ['a poisoned prototype', '{"__proto__":{"label":"a"}}', 'body', 400],
    ['a list', '[]', 'body', 400],
    ['null', 'null', 'body', 400],
    ['too much', `{"label":"${'a'.repeat(1024 * 1024)}"}`, '1 MiB', 413],
  ] as const)('with %s is answered with a sentence that names it', async ([, payload, named, expected]) => {
    const { status, json } = await bad(payload);
    expect(status).toBe(expected);
    expect(json.error).toBe(json.message);
    expect(json.message).toContain(named);
  });

  test('of another content type is told to send JSON', async () => {
    expect(await bad('label=a', 'application/x-www-form-urlencoded')).toMatchObject({
      status: 415,
      json: { message: expect.stringContaining('JSON') },
    });
    expect((await bad('{"label":"a"}', 'application/xml')).status).toBe(415);
  });

  test('is none that is JSON without saying so, as curl sends it', async () => {
    expect((await bad('{"label":"label 00"}', 'application/x-www-form-urlencoded')).status).toBe(200);
    expect((await bad(' {"label":"label 00"}', 'text/plain; charset=utf-8')).status).toBe(200);
    const headers = { authorization: `Bearer ${ada.accessToken}` };
    expect((await test_.send({ method: 'PATCH', url: '/shelves/s1', headers, payload: '{"label":"label 00"}' })).status).toBe(200);
  });

  test('to an unknown path is 404, with a known path and another method 405', async () => {
    expect((await ada.send('GET', '/nowhere')).status).toBe(404);
    expect(await ada.send('DELETE', '/shelves')).toMatchObject({ status: 405, headers: { allow: 'GET, POST, HEAD' } });
    expect((await ada.send('GET', '/shelves/%E0%A4%A')).status).toBe(400);
    expect((await ada.send('GET', `/shelves/${'x'.repeat(600)}`)).status).toBeGreaterThanOrEqual(400);
  });

  test('that meets a bug is answered without a stack trace, and logged under its request id', async () => {
    const { status, text, headers } = await test_.send({ method: 'POST', url: '/shelves' });
    expect(status).toBe(500);
    expect(text).not.toContain('secret detail');
    expect(text).toContain(headers['x-request-id']);
    expect(test_.logLines.find((line) => line.includes('secret detail'))).toContain(headers['x-request-id']);
  });
});

describe('a compressed body', () => {
  const send = (payload: Buffer, encoding = 'gzip') =>
    test_.send({
      method: 'PATCH',
      url: '/shelves/s1',
      headers: { authorization: `Bearer ${ada.accessToken}`, 'content-type': 'application/json', 'content-encoding': encoding },
      payload,
    });

  test('is read', async () => {
    expect(await send(gzipSync('{"label":"label 00"}'))).toMatchObject({ status: 200, json: { label: 'label 00' } });
  });

  test('is refused where it is too much, broken, or of another kind', async () => {
    expect((await send(gzipSync(`{"label":"${'a'.repeat(64 * 1024 * 1024)}"}`))).status).toBe(413);
    expect((await send(Buffer.from('not gzip'))).status).toBe(400);
    expect((await send(gzipSync('{"label":"label 00"}').subarray(0, 12))).status).toBe(400);
    expect((await send(Buffer.from('{}'), 'br')).status).toBe(415);
  });
});

describe('pages of other origins', () => {
  const origin = 'https://console.example.org';

  test('may call with a token, and never with cookies', async () => {
    const asked = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization,content-type' };
    const { status, headers } = await test_.send({ method: 'OPTIONS', url: '/shelves/s1', headers: asked });
    expect({ status, headers }).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': '*', 'access-control-allow-methods': expect.stringContaining('PATCH') },
    });
    expect(headers['access-control-allow-headers']).toContain('authorization');
    for (const token of [ada.accessToken, 'rubbish']) {
      const reply = await test_.send({ method: 'GET', url: '/shelves', headers: { origin, authorization: `Bearer ${token}` } });
      expect(reply.headers['access-control-allow-origin']).toBe('*');
      expect(reply.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test('see nothing of pages that people sign in with', async () => {
    for (const url of ['/password-reset', '/openapi.json', '/oauth2/authorize'])
      expect((await test_.send({ method: 'GET', url, headers: { origin } })).headers['access-control-allow-origin']).toBeUndefined();
  });
});

test('every reply has a request id and security headers; large ones are compressed for those who ask', async () => {
  const { headers } = await test_.send({ method: 'GET', url: '/openapi.json', headers: { 'accept-encoding': 'br' } });
  expect(headers).toMatchObject({ 'content-encoding': 'br', 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
  expect(headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
});

test('whoever watches the platform learns without a token whether it has its database', async () => {
  const reply = await test_.send({ method: 'GET', url: '/health' });
  expect([reply.status, reply.json, reply.headers['cache-control']]).toEqual([200, { status: 'ok' }, 'no-store']);
  const away = openDatabase(openPool('postgres://nobody@127.0.0.1:1/none'));
  const http = fastify();
  serveHealth(http, away);
  const refused = await http.inject('/health');
  expect([refused.statusCode, refused.json()]).toEqual([503, { status: 'unavailable', detail: 'The database does not answer.' }]);
  await away.destroy();
});
