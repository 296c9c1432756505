import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import { rooms } from '../../rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { machineName } from '../environments/public.ts';
import { variablesMax } from './limits.ts';
import { effectiveVariables } from './public.ts';

let home: TestPlatform;
let ada: Person;
let projectId: string;
let organization_id: string;

beforeAll(async () => {
  home = await openTestPlatform();
  const runner = startRunner(activitiesOf(rooms), home.platform);
  afterAll(() => runner.close());
  ada = await home.person({ first_name: 'Ada', last_name: 'Lovelace' });
  ({ projectId, organization_id } = await sampleProject(ada));
});

let planted = 0;

interface Branch {
  id: string;
  at: string;
}

/** A new branch of the project, below the given one. */
async function plant(parent: Branch | null = null, type = 'development', project_id = projectId): Promise<Branch> {
  planted += 1;
  const id = `branch/${planted}`;
  const row = { project_id, id, machine_name: machineName(id, project_id), title: `Branch ${planted}`, type, parent: parent?.id ?? null };
  await home.platform.db.insertInto('environments').values(row).execute();
  return { id, at: `/projects/${project_id}/environments/${encodeURIComponent(id)}/variables` };
}

const projectAt = () => `/projects/${projectId}/variables`;
const add = (at: string, name: string, value: string, more: object = {}) => ada.send('POST', at, { name, value, ...more });
const one = (at: string, name: string) => `${at}/${encodeURIComponent(name)}`;
const effective = (environment: Branch) => effectiveVariables(home.platform.db, home.platform.secrets, projectId, environment.id);

async function untilDone(activityId: string) {
  await expect.poll(async () => (await ada.send('GET', `/projects/${projectId}/activities/${activityId}`)).json.state).toBe('complete');
  return (await ada.send('GET', `/projects/${projectId}/activities/${activityId}`)).json;
}

test('a project variable is added, read, changed, renamed and deleted, each with one activity', async () => {
  const added = await add(projectAt(), 'env:LIFE', 'one');
  expect(added).toMatchObject({ status: 201, json: { status: 'Created', code: 201 } });
  const { entity, activities } = added.json._embedded;
  const href = `/api/projects/${projectId}/variables/env%3ALIFE`;
  expect(entity).toMatchObject({
    id: 'env:LIFE',
    name: 'env:LIFE',
    value: 'one',
    is_json: false,
    is_sensitive: false,
    visible_build: true,
    visible_runtime: true,
    application_scope: [],
    attributes: {},
    _links: { self: { href }, '#edit': { href }, '#delete': { href } },
  });
  expect(activities).toHaveLength(1);
  expect(await untilDone(activities[0].id)).toMatchObject({
    type: 'project.variable.create',
    result: 'success',
    environments: [],
    text: 'Ada Lovelace added project variable env:LIFE',
    description: `<user data-id="${ada.user.id}">Ada Lovelace</user> added project variable <variable>env:LIFE</variable>`,
    payload: { user: { id: ada.user.id, display_name: 'Ada Lovelace' }, variable: { name: 'env:LIFE', is_sensitive: false } },
    log: expect.stringContaining('env:LIFE takes effect'),
  });

  for (const path of [one(projectAt(), 'env:LIFE'), `${projectAt()}/env:LIFE`, href]) {
    const { json } = await ada.send('GET', path);
    expect(json).toMatchObject({ id: 'env:LIFE', value: 'one', created_at: expect.stringMatching(/\.\d{6}\+00:00$/) });
  }
  expect((await ada.send('GET', projectAt())).json.map(({ name }: { name: string }) => name)).toContain('env:LIFE');

  const changes = { value: 'two', visible_build: false, application_scope: ['app'], attributes: { team: 'blue' }, name: 'env:LIVES' };
  const changed = await ada.send('PATCH', href, changes);
  expect(changed).toMatchObject({
    status: 200,
    json: { _embedded: { entity: { id: 'env:LIVES', ...changes }, activities: [{ type: 'project.variable.update' }] } },
  });
  expect((await ada.send('GET', href)).status).toBe(404);

  const deleted = await ada.send('DELETE', one(projectAt(), 'env:LIVES'));
  expect(deleted).toMatchObject({ status: 200, json: { _embedded: { activities: [{ type: 'project.variable.delete' }] } } });
  expect(deleted.json._embedded.activities).toHaveLength(1);
  expect((await ada.send('DELETE', one(projectAt(), 'env:LIVES'))).status).toBe(404);
});

test('an environment variable lives in its environment', async () => {
  const branch = await plant();
  const added = await add(branch.at, 'env:LIFE', 'one');
  expect(added.status).toBe(201);
  const { entity, activities } = added.json._embedded;
  expect(entity).toMatchObject({
    id: 'env:LIFE',
    value: 'one',
    project: projectId,
    environment: branch.id,
    inherited: false,
    visible_build: false,
    visible_runtime: true,
    is_enabled: true,
    is_inheritable: true,
    _links: { self: { href: `/api${branch.at}/env%3ALIFE` } },
  });
  expect(await untilDone(activities[0].id)).toMatchObject({
    type: 'environment.variable.create',
    environments: [branch.id],
    text: `Ada Lovelace added variable env:LIFE to Branch ${planted}`,
    payload: { environment: { id: branch.id }, variable: { name: 'env:LIFE' } },
    log: expect.stringContaining('is not active: nothing is built or deployed'),
  });
  expect((await ada.send('GET', branch.at)).json).toMatchObject([{ id: 'env:LIFE', environment: branch.id }]);
  expect((await ada.send('PATCH', `${branch.at}/env:LIFE`, { value: 'two', name: 'plain' })).json._embedded).toMatchObject({
    entity: { id: 'plain', value: 'two', inherited: false },
    activities: [{ type: 'environment.variable.update', text: `Ada Lovelace modified variable plain on Branch ${planted}` }],
  });
  expect((await ada.send('DELETE', `${branch.at}/plain`)).json._embedded).toMatchObject({
    activities: [{ type: 'environment.variable.delete', text: `Ada Lovelace deleted variable plain from Branch ${planted}` }],
  });
  expect((await ada.send('GET', branch.at)).json).toEqual([]);
});

describe('inheritance', () => {
  /** Letters are values; `private`: not inheritable, `off`: not enabled, `-`: none. What is set where, and with what each is deployed. */
  test.for([
    { set: ['P', '-', '-', '-'], deployed: ['P', 'P', 'P'] },
    { set: ['P', 'R', '-', '-'], deployed: ['R', 'R', 'R'] },
    { set: ['P', 'R', 'C', '-'], deployed: ['R', 'C', 'C'] },
    { set: ['P', 'R', 'C', 'L'], deployed: ['R', 'C', 'L'] },
    { set: ['-', '-', '-', 'L'], deployed: ['-', '-', 'L'] },
    { set: ['P', 'R private', '-', '-'], deployed: ['R', 'P', 'P'] },
    { set: ['-', 'R private', '-', '-'], deployed: ['R', '-', '-'] },
    { set: ['P', 'R', 'C private', '-'], deployed: ['R', 'C', 'R'] },
    { set: ['P', 'R', 'C off', '-'], deployed: ['R', '-', '-'] },
    { set: ['P', 'R', 'C off private', '-'], deployed: ['R', '-', 'R'] },
    { set: ['P', 'R', 'C off', 'L'], deployed: ['R', '-', 'L'] },
    { set: ['P', 'R off', '-', '-'], deployed: ['-', '-', '-'] },
    { set: ['P', 'R off private', '-', '-'], deployed: ['-', 'P', 'P'] },
    { set: ['P', '-', '-', 'L off'], deployed: ['P', 'P', '-'] },
  ])('$set (project, root, child, leaf) is deployed as $deployed', async ({ set, deployed }) => {
    const root = await plant();
    const child = await plant(root);
    const leaf = await plant(child);
    const name = `tree-${planted}`;
    for (const [n, at] of [projectAt(), root.at, child.at, leaf.at].entries()) {
      const [value = '', ...marks] = set[n]?.split(' ') ?? [];
      if (value === '-') continue;
      const settings = { is_enabled: !marks.includes('off'), is_inheritable: !marks.includes('private') };
      expect((await add(at, name, value, n === 0 ? {} : settings)).status).toBe(201);
    }
    const found = await Promise.all([root, child, leaf].map(effective));
    expect(found.map((variables) => variables.find((variable) => variable.name === name)?.value ?? '-')).toEqual(deployed);
  });

  test('lists what is own and what is inherited, and shows what may be done with it', async () => {
    const root = await plant();
    const child = await plant(root);
    await add(root.at, 'shared', 'root');
    await add(root.at, 'secluded', 'root', { is_inheritable: false });
    await add(child.at, 'own', 'child');
    const { json } = await ada.send('GET', child.at);
    expect(
      json.map(({ name, value, inherited, inherited_from, environment }: never) => ({
        name,
        value,
        inherited,
        inherited_from,
        environment,
      })),
    ).toEqual([
      { name: 'own', value: 'child', inherited: false, inherited_from: null, environment: child.id },
      { name: 'shared', value: 'root', inherited: true, inherited_from: root.id, environment: child.id },
    ]);
    expect(json.map(({ _links }: { _links: object }) => Object.keys(_links))).toEqual([
      ['self', '#delete', '#edit'],
      ['self', '#edit'],
    ]);
    expect((await ada.send('GET', `${child.at}/secluded`)).status).toBe(404);
    const refused = await ada.send('DELETE', `${child.at}/shared`);
    expect(refused).toMatchObject({ status: 409, json: { message: expect.stringContaining('inherited') } });
  });

  test('a change to an inherited variable makes it one of the environment, and deleting that brings the inherited one back', async () => {
    const root = await plant();
    const child = await plant(root);
    await add(root.at, 'shared', '{"a": 1}', { is_json: true, visible_build: true, attributes: { a: 'b' }, application_scope: ['app'] });
    const renamed = await ada.send('PATCH', `${child.at}/shared`, { name: 'other' });
    expect(renamed).toMatchObject({ status: 400, json: { detail: { name: expect.stringContaining('inherited') } } });
    const { status, json } = await ada.send('PATCH', `${child.at}/shared`, { name: 'shared', is_enabled: false });
    expect(status).toBe(200);
    expect(json._embedded).toMatchObject({
      entity: {
        value: '{"a": 1}',
        is_json: true,
        visible_build: true,
        attributes: { a: 'b' },
        application_scope: ['app'],
        inherited: false,
        is_enabled: false,
        environment: child.id,
        _links: { '#delete': {} },
      },
      activities: [{ type: 'environment.variable.update', environments: [child.id] }],
    });
    expect((await ada.send('GET', `${root.at}/shared`)).json).toMatchObject({ is_enabled: true, inherited: false });
    expect((await ada.send('DELETE', `${child.at}/shared`)).status).toBe(200);
    expect((await ada.send('GET', `${child.at}/shared`)).json).toMatchObject({ inherited: true, is_enabled: true, environment: child.id });
    expect((await add(child.at, 'shared', 'mine')).status).toBe(201);
    expect((await ada.send('GET', `${root.at}/shared`)).json.value).toBe('{"a": 1}');
  });

  test('ends where parents run in a circle', async () => {
    const root = await plant();
    const child = await plant(root);
    await home.platform.db.updateTable('environments').set({ parent: child.id }).where('id', '=', root.id).execute();
    await add(root.at, 'round', 'root');
    expect((await ada.send('GET', child.at)).json).toMatchObject([{ name: 'round', inherited: true }]);
    expect((await effective(child)).map(({ name }) => name)).toContain('round');
  });
});

describe('a sensitive value', () => {
  const canary = `canary-${crypto.randomUUID()}`;

  test('reaches deployments and nothing else: no reply, no activity, no log, no table', async () => {
    const root = await plant();
    const child = await plant(root);
    const replies: string[] = [];
    const send = async (method: string, path: string, body?: unknown) => {
      const { status, text } = await ada.send(method, path, body);
      replies.push(text);
      return status;
    };
    const secret = { value: canary, is_sensitive: true };
    expect(await send('POST', projectAt(), { name: 'env:SECRET', ...secret })).toBe(201);
    expect(await send('POST', root.at, { name: 'env:SECRET', ...secret })).toBe(201);
    expect(await send('POST', root.at, { name: 'env:SECRET', ...secret })).toBe(409);
    expect(await send('POST', root.at, { name: 'env:JSON', ...secret, is_json: true })).toBe(400);
    expect(await send('POST', root.at, { name: 'not a name', ...secret, colour: 1 })).toBe(400);
    expect(await send('PATCH', `${root.at}/env:SECRET`, { is_sensitive: false })).toBe(400);
    expect(await send('PATCH', `${root.at}/env:SECRET`, { is_json: true })).toBe(400);
    expect(await send('PATCH', `${child.at}/env:SECRET`, { is_sensitive: false })).toBe(400);
    expect(await send('PATCH', `${child.at}/env:SECRET`, { visible_build: true })).toBe(200);
    expect(await send('PATCH', `${child.at}/env:SECRET`, { name: 'env:RENAMED' })).toBe(200);
    expect(await send('PATCH', one(projectAt(), 'env:SECRET'), { application_scope: ['app'] })).toBe(200);
    for (const at of [projectAt(), root.at, child.at]) expect(await send('GET', at)).toBe(200);
    for (const path of [`${root.at}/env:SECRET`, `${child.at}/env:RENAMED`]) expect(await send('GET', path)).toBe(200);

    const shown = (await ada.send('GET', `${child.at}/env:RENAMED`)).json;
    expect(shown).toMatchObject({ is_sensitive: true, inherited: false, visible_build: true });
    expect(shown).not.toHaveProperty('value');
    expect((await effective(child)).filter(({ value }) => value === canary).map(({ name }) => name)).toEqual(['env:RENAMED', 'env:SECRET']);

    expect(await send('DELETE', `${child.at}/env:RENAMED`)).toBe(200);
    const told = await home.platform.db.selectFrom('activities').select('id').orderBy('position', 'desc').limit(10).execute();
    for (const { id } of told) replies.push(JSON.stringify(await untilDone(id)));
    expect(replies.filter((text) => text.includes(canary))).toEqual([]);
    expect(home.logLines.filter((line) => line.includes(canary))).toEqual([]);
    expect(await tablesWith(canary)).toEqual([]);
  });

  test('is sensitive from then on, and its past is not told either', async () => {
    const branch = await plant();
    const value = `once-plain-${crypto.randomUUID()}`;
    await add(branch.at, 'late', value);
    const { json } = await ada.send('PATCH', `${branch.at}/late`, { is_sensitive: true });
    expect(json._embedded.entity).not.toHaveProperty('value');
    expect(await tablesWith(value)).toEqual([]);
    expect((await effective(branch)).find(({ name }) => name === 'late')).toMatchObject({ value, is_sensitive: true });
  });

  async function tablesWith(text: string) {
    const tables = ['project_variables', 'environment_variables', 'activities', 'activity_log', 'activity_steps'];
    const found = await Promise.all(
      tables.map(async (table) => {
        const { rows } = await sql`select from ${sql.table(table)} as entry where entry::text like ${`%${text}%`}`.execute(
          home.platform.db,
        );
        return rows.length > 0 ? table : undefined;
      }),
    );
    return found.filter((table) => table !== undefined);
  }
});

test('JSON is checked against what is stored and what is sent, together', async () => {
  const { at } = await plant();
  const patch = (body: object) => ada.send('PATCH', `${at}/config`, body);
  expect(await add(at, 'config', '{"a":', { is_json: true })).toMatchObject({
    status: 400,
    json: { detail: { value: expect.stringContaining('JSON') } },
  });
  expect((await add(at, 'config', '', { is_json: true })).status).toBe(400);
  expect((await add(at, 'config', 'plain')).status).toBe(201);
  expect((await patch({ is_json: true })).status).toBe(400);
  expect((await patch({ is_json: true, value: '[1]' })).status).toBe(200);
  expect((await patch({ value: 'plain' })).status).toBe(400);
  expect((await patch({ value: 'plain', is_json: false })).status).toBe(200);
  expect((await ada.send('GET', `${at}/config`)).json).toMatchObject({ value: 'plain', is_json: false });
});

describe('a name', () => {
  const { at, other } = { at: projectAt, other: async () => (await plant()).at };

  test.for([
    'env:A_1',
    'php:memory_limit',
    'a:b:c',
    'drupal:x/y',
    'größe',
    'a%41b',
    'a+b',
    'a=b',
    'a?b#c',
    '%2F',
    '...',
    '🎉',
    "';drop--",
    '<b>',
    'n'.repeat(256),
  ])('%s is found again under itself, at both levels', async (name) => {
    for (const level of [at(), await other()]) {
      const { status, json } = await add(level, name, 'x');
      expect({ status, id: json._embedded.entity.id }).toEqual({ status: 201, id: name });
      expect((await ada.send('GET', one(level, name))).json).toMatchObject({ id: name, value: 'x' });
      expect((await ada.send('PATCH', json._embedded.entity._links['#edit'].href, { value: 'y' })).status).toBe(200);
      expect((await ada.send('DELETE', json._embedded.entity._links['#delete'].href)).status).toBe(200);
    }
  });

  test.for([
    '',
    ' ',
    'a b',
    'a\nb',
    'a\u00a0b',
    '\u202egpj',
    '\ud800',
    '.',
    '..',
    'env:',
    'env:1A',
    'env:A-B',
    'env:A.B',
    'env:é',
    'env:env:A',
    'n'.repeat(257),
    '🎉'.repeat(129),
  ])('%j is refused, to create and to rename, by the name of the field', async (name) => {
    const level = await other();
    await add(level, 'fine', 'x');
    for (const reply of [await add(level, name, 'x'), await add(at(), name, 'x'), await ada.send('PATCH', `${level}/fine`, { name })]) {
      expect(reply).toMatchObject({ status: 400, json: { detail: { name: expect.any(String) } } });
    }
  });

  test('is taken once at a level, by creating or by renaming', async () => {
    for (const level of [at(), await other()]) {
      await add(level, 'first', '1');
      await add(level, 'second', '2');
      expect(await add(level, 'first', '3')).toMatchObject({ status: 409, json: { message: expect.stringContaining('already') } });
      expect((await ada.send('PATCH', `${level}/second`, { name: 'first' })).status).toBe(409);
      expect((await ada.send('GET', `${level}/first`)).json.value).toBe('1');
    }
  });
});

test('every field that is wrong is named', async () => {
  const { at } = await plant();
  const wrong = { value: 1, is_json: 'x', application_scope: ['a b'], attributes: { a: 1 }, is_enabled: 'x', inherited: true, name: 'a b' };
  const { status, json } = await ada.send('POST', at, wrong);
  expect(status).toBe(400);
  expect(Object.keys(json.detail).sort()).toEqual([
    'application_scope.0',
    'attributes.a',
    'inherited',
    'is_enabled',
    'is_json',
    'name',
    'value',
  ]);
  expect((await ada.send('POST', at, {})).json.detail).toEqual({ name: 'is required', value: 'is required' });
  expect((await ada.send('POST', projectAt(), { name: 'x', value: 'x', is_enabled: true })).json.detail).toEqual({
    is_enabled: 'is not a known field',
  });
  for (const value of ['x'.repeat(64 * 1024 + 1), 'ö'.repeat(40_000), 'half \ud800']) {
    expect(await add(at, 'value', value)).toMatchObject({ status: 400, json: { detail: { value: expect.any(String) } } });
  }
  const longest = `${'x'.repeat(64 * 1024 - 3)}\n\t"`;
  expect((await add(at, 'value', longest)).json._embedded.entity.value).toBe(longest);
  expect((await add(at, 'half', 'x', { attributes: { '\ud800': 'x' } })).status).toBe(400);
});

test('a level holds a bounded number of variables', async () => {
  const branch = await plant();
  await sql`insert into environment_variables (project_id, environment_id, name, value)
    select ${projectId}, ${branch.id}, 'v' || n, '' from generate_series(1, ${variablesMax - 1}::integer) n`.execute(home.platform.db);
  expect((await add(branch.at, 'last', 'x')).status).toBe(201);
  expect(await add(branch.at, 'one-too-many', 'x')).toMatchObject({
    status: 409,
    json: { message: 'An environment has at most 500 variables of its own; delete one that is not needed any more.' },
  });
  expect((await ada.send('PATCH', `${branch.at}/last`, { value: 'y' })).status).toBe(200);
  const { rows } = await sql`select from activities where parameters->>'variable' = 'one-too-many'`.execute(home.platform.db);
  expect(rows).toEqual([]);
});

describe('at the same moment', () => {
  test('of two who create one is told that it exists', async () => {
    for (const at of [projectAt(), (await plant()).at]) {
      const replies = await Promise.all([add(at, 'race', 'a'), add(at, 'race', 'b')]);
      expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
      const winner = replies.find(({ status }) => status === 201);
      expect((await ada.send('GET', `${at}/race`)).json.value).toBe(winner?.json._embedded.entity.value);
    }
  });

  test('two changes to an inherited variable both count', async () => {
    const root = await plant();
    const child = await plant(root);
    await add(root.at, 'race', 'x');
    const replies = await Promise.all([{ value: 'y' }, { visible_build: true }].map((body) => ada.send('PATCH', `${child.at}/race`, body)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect((await ada.send('GET', `${child.at}/race`)).json).toMatchObject({ value: 'y', visible_build: true, inherited: false });
  });

  test('what is JSON stays JSON, and of two who delete one is told that it is gone', async () => {
    const { at } = await plant();
    await add(at, 'race', '1');
    const changes = await Promise.all([{ is_json: true }, { value: 'not JSON' }].map((body) => ada.send('PATCH', `${at}/race`, body)));
    expect(changes.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400]);
    const ends = await Promise.all([ada.send('DELETE', `${at}/race`), ada.send('DELETE', `${at}/race`)]);
    expect(ends.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 404]);
  });
});

test('who may see an environment of the type sees its variables; only its administrators are offered to change them', async () => {
  const staging = await plant(null, 'staging');
  await add(staging.at, 'seen', 'x');
  await add(projectAt(), 'seen', 'x');
  const withAccess = async (...permissions: string[]) => {
    const person = await home.person();
    await ada.send('POST', `/organizations/${organization_id}/members`, { user_id: person.user.id, permissions: [] });
    await ada.send('POST', `/projects/${projectId}/user-access`, [{ user_id: person.user.id, permissions }]);
    return person;
  };
  const of = async (person: Person, at: string) => {
    const seen = await person.send('GET', `${at}/seen`);
    const [changed, added] = [await person.send('PATCH', `${at}/seen`, {}), await person.send('POST', at, { name: 'x', value: '' })];
    return [seen.status, seen.json._links?.['#edit'] !== undefined, changed.status, added.status];
  };
  const contributor = await withAccess('staging:contributor');
  expect(await of(contributor, staging.at)).toEqual([200, false, 403, 403]);
  expect(await of(contributor, projectAt())).toEqual([200, false, 403, 403]);
  expect(await of(await withAccess('development:admin'), staging.at)).toEqual([404, false, 404, 404]);
  const administrator = await withAccess('staging:admin');
  expect(await of(administrator, staging.at)).toEqual([200, true, 200, 201]);
  expect(await of(administrator, projectAt())).toEqual([200, false, 403, 403]);
});

test('the value of an inherited variable is shown to those who may see where it comes from, and copied for nobody else', async () => {
  const production = await plant(null, 'production');
  const [child, canary] = [await plant(await plant(production)), `canary-${crypto.randomUUID()}`];
  await add(production.at, 'shared', canary);
  const person = await home.person();
  const grant = (...permissions: string[]) =>
    ada.send('POST', `/projects/${projectId}/user-access`, [{ user_id: person.user.id, permissions, auto_add_member: true }]);
  const replies: string[] = [];
  const send = async (...[method, url, body]: Parameters<Person['send']>) => {
    const reply = await person.send(method, url, body);
    replies.push(JSON.stringify(reply.json));
    return reply;
  };

  await grant('development:admin');
  expect((await send('GET', child.at)).json).toMatchObject([{ name: 'shared', inherited: true, environment: child.id }]);
  expect((await send('GET', `${child.at}/shared`)).json).toMatchObject({ name: 'shared', inherited: true });
  for (const change of [{}, { is_enabled: false }, { is_sensitive: true }, { name: 'other' }]) {
    expect(await send('PATCH', `${child.at}/shared`, change)).toMatchObject({
      status: 400,
      json: { detail: { value: expect.stringContaining('is required') } },
    });
  }
  expect((await send('GET', child.at)).json).toMatchObject([{ inherited: true }]);
  expect(replies.filter((text) => text.includes(canary))).toEqual([]);
  expect((await effective(child)).find(({ name }) => name === 'shared')?.value).toBe(canary);

  const own = await send('PATCH', `${child.at}/shared`, { value: 'own' });
  expect(own.json._embedded.entity).toMatchObject({ value: 'own', inherited: false });
  expect((await send('PATCH', `${child.at}/shared`, { visible_build: true })).json._embedded.entity).toMatchObject({ value: 'own' });
  expect((await send('GET', `${child.at}/shared`)).json.value).toBe('own');
  expect((await send('DELETE', `${child.at}/shared`)).status).toBe(200);
  expect(replies.filter((text) => text.includes(canary))).toEqual([]);

  const onlooker = await home.person();
  const permissions = ['development:viewer', 'production:viewer'];
  await ada.send('POST', `/projects/${projectId}/user-access`, [{ user_id: onlooker.user.id, permissions, auto_add_member: true }]);
  expect((await onlooker.send('GET', child.at)).json).toMatchObject([{ inherited: true, value: canary }]);
  expect((await onlooker.send('GET', `${child.at}/shared`)).json.value).toBe(canary);
});

test('a sealed value opens nowhere but in its project and under its name', async () => {
  const branch = await plant();
  await add(branch.at, 'sealed', 'x', { is_sensitive: true });
  const { db } = home.platform;
  await db.updateTable('environment_variables').set({ name: 'moved' }).where('environment_id', '=', branch.id).execute();
  await expect(effective(branch)).rejects.toThrow('unable to authenticate');
  await db.deleteFrom('environment_variables').where('environment_id', '=', branch.id).execute();
});
