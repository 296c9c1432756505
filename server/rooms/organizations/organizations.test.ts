import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { shortId, ulid } from '../../kernel/id.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { insertProject } from '../projects/public.ts';

let home: TestPlatform;
let ada: Person;
let bob: Person;
let operator: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  [ada, bob, operator] = [await home.person(), await home.person(), await home.person({ is_operator: true })];
});

const create = async (owner: Person, fields: object = {}) =>
  (await owner.send('POST', '/organizations', { label: 'Engines', ...fields })).json;
const at = ({ id }: { id: string }) => `/organizations/${id}`;
const join = async (owner: Person, organization: { id: string }, permissions: string[] = []) => {
  const person = await home.person();
  const reply = await owner.send('POST', `${at(organization)}/members`, { user_id: person.user.id, permissions });
  expect(reply.status).toBe(201);
  return person;
};
const insertSampleProject = (organization: { id: string }, status = 'active') =>
  insertProject(home.platform.db, { id: shortId(), organization_id: organization.id, region: 'local', title: 'Shop', status });
const namesIn = (json: { items: { name: string }[] }) => json.items.map(({ name }) => name);

const statusesOf = (replies: { status: number }[]) => replies.map(({ status }) => status).sort((a, b) => a - b);

describe('creating an organization', () => {
  test('makes the caller its owner and first member, and answers every field', async () => {
    const { status, json } = await ada.send('POST', '/organizations', {
      label: 'Analytical Engines & Söhne',
      type: 'fixed',
      country: 'gb',
      security_contact: 'Security@Example.org',
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      type: 'fixed',
      owner_id: ada.user.id,
      namespace: 'offshoot',
      name: 'analytical-engines-sohne',
      label: 'Analytical Engines & Söhne',
      country: 'GB',
      capabilities: ['teams'],
      vendor: 'offshoot',
      billing_legacy: false,
      security_contact: 'security@example.org',
      ai_agent_settings: { can_enable: false, performance_agent_enabled: false, log_analyzer_agent_enabled: false },
      status: 'active',
    });
    expect(json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const { json: member } = await ada.send('GET', `${at(json)}/members/${ada.user.id}`);
    expect(member).toMatchObject({ owner: true, level: 'admin', id: ada.user.id, organization_id: json.id });
  });

  test('without a name finds one like the label that is free', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => create(ada, { label: 'Twice' })));
    const names = made.map(({ name }) => name as string).sort();
    expect(names[0]).toBe('twice');
    for (const name of names.slice(1)) expect(name).toMatch(/^twice-[0-9a-f]{8}$/);
    expect(await create(ada, { label: '日本' })).toMatchObject({ name: 'organization', label: '日本' });
    expect((await create(ada, { label: `${'a'.repeat(62)}-b${'c'.repeat(100)}` })).name).toBe('a'.repeat(62));
  });

  test('under a name that is taken is refused, naming the field; also when two try at once', async () => {
    await create(ada, { name: 'taken' });
    expect(await bob.send('POST', '/organizations', { label: 'Mine', name: 'taken' })).toMatchObject({
      status: 409,
      json: { detail: { name: expect.any(String) } },
    });
    const both = await Promise.all([ada, bob].map((person) => person.send('POST', '/organizations', { label: 'x', name: 'at-once' })));
    expect(statusesOf(both)).toEqual([201, 409]);
  });

  test.for([
    {},
    { label: '' },
    { label: 'a\nb' },
    { label: 'x'.repeat(201) },
    { label: 5 },
    { label: 'x', name: 'Big' },
    { label: 'x', name: '-a' },
    { label: 'x', name: 'a-' },
    { label: 'x', name: 'x'.repeat(64) },
    { label: 'x', name: '' },
    { label: 'x', country: 'england' },
    { label: 'x', country: '1!' },
    { label: 'x', country: 'ZZ' },
    { label: 'invoice\u202Efdp.exe' },
    { label: 'a\u2066b\u2069' },
    { label: 'x', type: 'free' },
    { label: 'x', security_contact: 'nobody' },
    { label: 'x', security_contact: 'a@b.c\r\nBcc: e@x.y' },
    { label: 'x', owner_id: 'me' },
    { label: 'x', status: 'suspended' },
    { label: 'x', users_max: 5 },
    { label: 'x', capabilities: ['everything'] },
  ])('refuses %j with a sentence for the field', async (body) => {
    const { status, json } = await ada.send('POST', '/organizations', body);
    expect(status).toBe(400);
    const wrong = Object.keys(json.detail)[0];
    expect(wrong).toBe(Object.keys(body).at(-1) ?? 'label');
  });

  test('for somebody else is for operators', async () => {
    expect((await ada.send('POST', '/organizations', { label: 'x', owner_id: bob.user.id })).status).toBe(403);
    expect((await ada.send('POST', '/organizations', { label: 'Own', owner_id: ada.user.id })).status).toBe(201);
    expect(await operator.send('POST', '/organizations', { label: 'For Bob', owner_id: bob.user.id })).toMatchObject({
      status: 201,
      json: { owner_id: bob.user.id },
    });
    const nobody = '00000000-0000-4000-8000-000000000000';
    expect(await operator.send('POST', '/organizations', { label: 'x', owner_id: nobody })).toMatchObject({
      status: 400,
      json: { detail: { owner_id: expect.any(String) } },
    });
  });
});

describe('an organization', () => {
  test('is found by its id and by its name, however that is encoded', async () => {
    const engines = await create(ada, { name: 'by-name' });
    for (const address of [engines.id, 'name=by-name', 'name%3Dby-name', 'name%3dby-name']) {
      const { status, json } = await ada.send('GET', `/organizations/${address}`);
      expect({ status, id: json.id }).toEqual({ status: 200, id: engines.id });
    }
    expect((await ada.send('GET', '/organizations/name=by-name/members')).json.count).toBe(1);
    expect((await ada.send('GET', `/organizations/name=by-name/members/${ada.user.id}`)).json.owner).toBe(true);
  });

  test('that is invisible cannot be told from one that is absent', async () => {
    const engines = await create(ada, { name: 'hidden' });
    const absent = { id: '00000000000000000000000000', name: 'no-such-name' };
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      for (const pick of [(organization: typeof absent) => organization.id, (organization: typeof absent) => `name=${organization.name}`]) {
        const [hidden, none] = await Promise.all([engines, absent].map((it) => bob.send(method, `/organizations/${pick(it)}`)));
        expect(hidden).toMatchObject({ status: 404, json: none?.json });
      }
    }
    for (const rubbish of ['x', 'name=', 'name=A', 'id=1', '%00', `name=${'a'.repeat(100)}`]) {
      expect((await ada.send('GET', `/organizations/${rubbish}`)).status).toBe(404);
    }
  });

  test('offers what the caller may do: `members` only to those who manage them', async () => {
    const engines = await create(ada);
    const linksFor = async (person: Person) => Object.keys((await person.send('GET', at(engines))).json._links);
    const managing = ['members', 'create-member'];
    const admins = ['update', ...managing];
    expect(await linksFor(ada)).toEqual(expect.arrayContaining(['self', 'delete', 'transfer', 'mfa-enforcement', ...admins]));
    expect(await linksFor(await join(ada, engines, ['admin']))).toEqual(expect.arrayContaining(admins));
    for (const permission of ['billing', 'plans', 'projects:create', 'projects:list']) {
      const links = await linksFor(await join(ada, engines, [permission]));
      for (const rel of [...admins, 'delete', 'transfer']) expect(links).not.toContain(rel);
    }
    const manager = await linksFor(await join(ada, engines, ['members']));
    expect(manager).toEqual(expect.arrayContaining(managing));
    expect(manager).not.toContain('update');
    const { _links } = (await ada.send('GET', at(engines))).json;
    expect(_links['update']).toEqual({ href: at(engines), method: 'PATCH' });
    expect(_links['members']).toEqual({ href: `${at(engines)}/members` });
  });

  test('is changed in what is named only', async () => {
    const engines = await create(ada, { country: 'GB' });
    const { status, json } = await ada.send('PATCH', at(engines), { label: 'New', name: 'new-name', security_contact: '' });
    expect({ status, json }).toMatchObject({ status: 200, json: { label: 'New', name: 'new-name', country: 'GB' } });
    expect(Date.parse(json.updated_at)).toBeGreaterThan(Date.parse(json.created_at));
    expect((await ada.send('PATCH', at(engines), {})).status).toBe(200);
    await create(ada, { name: 'occupied' });
    expect(await ada.send('PATCH', at(engines), { name: 'occupied' })).toMatchObject({
      status: 409,
      json: { detail: { name: expect.any(String) } },
    });
    for (const body of [{ owner_id: bob.user.id }, { label: '' }, { country: 'xyz' }, { security_contact: '<a@b>' }, { type: 'fixed' }]) {
      expect((await ada.send('PATCH', at(engines), body)).status).toBe(400);
    }
    expect((await (await join(ada, engines)).send('PATCH', at(engines), { label: 'x' })).status).toBe(403);
  });

  test('gets one billing profile', async () => {
    const engines = await create(ada);
    const give = (billing_profile_id: string) => ada.send('PATCH', at(engines), { billing_profile_id });
    expect(await give('profile-1')).toMatchObject({ status: 200, json: { billing_profile_id: 'profile-1' } });
    expect((await give('profile-2')).status).toBe(409);
  });
});

describe('the list of organizations', () => {
  test('holds one’s own; operators see all, and those of a person', async () => {
    const [carol, dave] = [await home.person(), await home.person()];
    const [first, second] = [await create(carol, { name: 'carol-1' }), await create(dave, { name: 'dave-1' })];
    await dave.send('POST', `${at(second)}/members`, { user_id: carol.user.id });
    const { json } = await carol.send('GET', '/organizations');
    expect({ names: namesIn(json), count: json.count }).toEqual({ names: ['carol-1', 'dave-1'], count: 2 });
    expect(namesIn((await dave.send('GET', '/organizations')).json)).toEqual(['dave-1']);
    for (const person of [carol, operator]) {
      const own = await person.send('GET', `/users/${carol.user.id}/organizations`);
      expect(namesIn(own.json)).toEqual(['carol-1', 'dave-1']);
      const referenced = own.json._links['ref:users:0'].href as string;
      expect(referenced).toContain(carol.user.id);
      expect(referenced).toContain(dave.user.id);
    }
    expect((await dave.send('GET', `/users/${carol.user.id}/organizations`)).status).toBe(404);
    expect(namesIn((await operator.send('GET', `/organizations?filter[id]=${first.id}`)).json)).toEqual(['carol-1']);
  });

  test('is filtered, sorted and paged', async () => {
    const erin = await home.person();
    for (const n of [3, 1, 4, 2, 5])
      await create(erin, { name: `erin-${n}`, label: `Number ${10 - n}`, type: n > 3 ? 'fixed' : 'flexible' });
    const list = async (query: string) => (await erin.send('GET', `/organizations?${query}`)).json;
    expect(namesIn(await list('filter[type]=fixed'))).toEqual(['erin-4', 'erin-5']);
    expect(namesIn(await list('filter[name][in]=erin-1,erin-2&sort=-name'))).toEqual(['erin-2', 'erin-1']);
    expect(namesIn(await list('filter[label][contains]=number%206'))).toEqual(['erin-4']);
    expect(namesIn(await list(`filter[owner_id]=${erin.user.id}&page[size]=1`))).toEqual(['erin-1']);
    expect(namesIn(await list('filter[capabilities][in]=teams,other&sort=label'))[0]).toBe('erin-5');
    expect(await list('filter[status]=suspended')).toMatchObject({ items: [], count: 0 });
    expect(await list('filter[updated_at][gt]=2100-01-01')).toMatchObject({ items: [] });
    for (const sort of ['name', 'label', 'created_at', '-updated_at']) {
      const whole = namesIn(await list(`sort=${sort}`));
      const walked: string[] = [];
      for (let url: string | undefined = `/organizations?sort=${sort}&page[size]=2`; url !== undefined;) {
        const { json } = await erin.send('GET', url);
        walked.push(...namesIn(json));
        url = json._links.next?.href;
      }
      expect({ sort, walked }).toEqual({ sort, walked: whole });
      expect(whole).toHaveLength(5);
    }
  });

  test('answers what is no filter, sort, date or cursor with a sentence', async () => {
    const cursor = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    expect((await ada.send('GET', '/organizations?filter[owner_id]=rubbish')).json).toMatchObject({ items: [], count: 0 });
    expect((await ada.send('GET', '/organizations?filter[owner_id][contains]=rubbish')).json).toMatchObject({ count: 0 });
    for (const query of [
      'sort=owner_id',
      'filter[users_max]=1',
      'filter[name][like]=x',
      'page[size]=0',
      'page[size]=101',
      'page[after]=x',
      `sort=created_at&page[after]=${cursor('rubbish', 'x')}`,
      'filter[updated_at][gt]=2026-02-30',
      'filter[updated_at]=soon',
    ]) {
      const { status, json } = await ada.send('GET', `/organizations?${query}`);
      expect({ query, status, json }).toMatchObject({ status: 400, json: { error: expect.any(String) } });
    }
  });
});

describe('deleting an organization', () => {
  test('takes its people and teams with it and frees its name', async () => {
    const engines = await create(ada, { name: 'short-lived' });
    const member = await join(ada, engines, ['members']);
    await insertSampleProject(engines, 'deleted');
    expect((await member.send('DELETE', at(engines))).status).toBe(403);
    expect((await ada.send('DELETE', at(engines))).status).toBe(204);
    for (const person of [ada, member]) expect((await person.send('GET', at(engines))).status).toBe(404);
    expect(namesIn((await member.send('GET', '/organizations')).json)).toEqual([]);
    expect((await bob.send('POST', '/organizations', { label: 'x', name: 'short-lived' })).status).toBe(201);
  });

  test('does not wait until what a deleted project had on the disk is gone', async () => {
    const engines = await create(ada);
    const { id } = await insertSampleProject(engines, 'deleted');
    const { db } = home.platform;
    await sql`insert into slugs (id, project_id, app, tree_id, config_id, volume, bytes) values (${id}, ${id}, 'web', 't', 'c', ${id}, 1)`.execute(
      db,
    );
    await sql`insert into backups (id, project_id, environment_id, environment_type, safe, automated, commit_id, stack_sealed)
      values (${ulid()}, ${id}, 'main', 'production', true, false, ${'0'.repeat(40)}, '')`.execute(db);
    expect((await ada.send('DELETE', at(engines))).status).toBe(204);
  });

  test('is refused while it owns projects', async () => {
    const engines = await create(ada);
    await insertSampleProject(engines);
    expect(await ada.send('DELETE', at(engines))).toMatchObject({ status: 400, json: { error: expect.stringContaining('projects') } });
    expect((await ada.send('GET', at(engines))).status).toBe(200);
  });

  test('and creating a project or adding a member at the same moment: one wins, and nothing is left over', async () => {
    for (let round = 0; round < 10; round += 1) {
      const engines = await create(ada);
      const person = await home.person();
      const [deletion, , addition] = await Promise.all([
        ada.send('DELETE', at(engines)),
        insertSampleProject(engines).catch(() => {}),
        ada.send('POST', `${at(engines)}/members`, { user_id: person.user.id }),
      ]);
      expect([204, 400]).toContain(deletion.status);
      expect([201, 404]).toContain(addition.status);
      const { db } = home.platform;
      const projects = await db.selectFrom('projects').selectAll().where('organization_id', '=', engines.id).execute();
      expect({ deletion: deletion.status, projects: projects.length }).toEqual(
        deletion.status === 204 ? { deletion: 204, projects: 0 } : { deletion: 400, projects: 1 },
      );
    }
  });
});

describe('transferring an organization', () => {
  const transfer = (person: Person, organization: { id: string }, user_id: string) =>
    person.send('POST', `${at(organization)}/owner`, { user_id });

  test('makes a member its owner; the former owner stays, as admin', async () => {
    const engines = await create(ada);
    const member = await join(ada, engines);
    expect(await transfer(ada, engines, member.user.id)).toMatchObject({ status: 200, json: { owner_id: member.user.id } });
    const former = await member.send('GET', `${at(engines)}/members/${ada.user.id}`);
    expect(former.json).toMatchObject({ owner: false, permissions: ['admin'] });
    expect((await transfer(ada, engines, ada.user.id)).status).toBe(403);
    expect((await ada.send('DELETE', at(engines))).status).toBe(403);
    expect(await transfer(operator, engines, ada.user.id)).toMatchObject({ status: 200, json: { owner_id: ada.user.id } });
  });

  test('is refused for admins, and to people who are not in it', async () => {
    const engines = await create(ada);
    const admin = await join(ada, engines, ['admin']);
    expect((await transfer(admin, engines, admin.user.id)).status).toBe(403);
    for (const user_id of [bob.user.id, ada.user.id, '00000000-0000-4000-8000-000000000000', 'rubbish']) {
      expect(await transfer(ada, engines, user_id)).toMatchObject({ status: 400, json: { detail: { user_id: expect.any(String) } } });
    }
    const { json } = await ada.send('GET', at(engines));
    expect(json.owner_id).toBe(ada.user.id);
  });

  test('twice at once: one wins', async () => {
    for (let round = 0; round < 5; round += 1) {
      const engines = await create(ada);
      const [one, two] = [await join(ada, engines), await join(ada, engines)];
      const replies = await Promise.all([one, two].map(({ user }) => transfer(ada, engines, user.id)));
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 403 || status === 409)).toHaveLength(1);
      const { owner_id } = (await operator.send('GET', at(engines))).json;
      expect(owner_id).toBe(replies.find(({ status }) => status === 200)?.json.owner_id);
    }
  });

  test('while the new owner is being removed: the owner is always a member', async () => {
    for (let round = 0; round < 10; round += 1) {
      const engines = await create(ada);
      const member = await join(ada, engines);
      const [transferred, removed] = await Promise.all([
        transfer(ada, engines, member.user.id),
        ada.send('DELETE', `${at(engines)}/members/${member.user.id}`),
      ]);
      expect([
        [200, 409],
        [400, 204],
      ]).toContainEqual([transferred.status, removed.status]);
      const { owner_id } = (await operator.send('GET', at(engines))).json;
      expect((await operator.send('GET', `${at(engines)}/members/${owner_id}`)).json.owner).toBe(true);
    }
  });
});

describe('two-factor authentication', () => {
  test('is asked for by those who use it themselves; whoever signed in without is turned away', async () => {
    const engines = await create(ada);
    const member = await join(ada, engines);
    const strong = await home.person({ is_operator: true, strong: true });
    const enforcement = `${at(engines)}/mfa-enforcement`;
    expect(await ada.send('POST', `${enforcement}/enable`)).toMatchObject({
      status: 400,
      json: { error: expect.stringContaining('two-factor authentication') },
    });
    expect((await member.send('POST', `${enforcement}/enable`)).status).toBe(403);
    await home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', strong.user.id).execute();
    expect((await member.send('GET', enforcement)).json).toEqual({ enforce_mfa: false });
    expect((await strong.send('POST', `${enforcement}/enable`)).status).toBe(204);
    expect(await member.send('GET', at(engines))).toMatchObject({ status: 401, json: { error: 'insufficient_user_authentication' } });
    expect((await strong.send('GET', enforcement)).json).toEqual({ enforce_mfa: true });
    expect((await strong.send('POST', `${enforcement}/disable`)).status).toBe(204);
    expect((await member.send('GET', at(engines))).status).toBe(200);
  });

  test('is brought to mind by mail, to each as it fits', async () => {
    const engines = await create(ada, { label: 'Reminding Engines' });
    const [without, uses] = [await join(ada, engines), await join(ada, engines)];
    await home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', uses.user.id).execute();
    const user_ids = [without.user.id, uses.user.id, bob.user.id, without.user.id];
    const { status, json } = await ada.send('POST', `${at(engines)}/mfa/remind`, { user_ids });
    expect(status).toBe(200);
    expect(Object.fromEntries(Object.entries(json).map(([id, outcome]) => [id, (outcome as { code: number }).code]))).toEqual({
      [without.user.id]: 200,
      [uses.user.id]: 409,
      [bob.user.id]: 404,
    });
    expect(await home.mail(without.user.email)).toMatchObject([{ text: expect.stringContaining('Reminding Engines') }]);
    expect(await home.mail(bob.user.email)).toEqual([]);
    expect((await ada.send('POST', `${at(engines)}/mfa/remind`, {})).json).toEqual({});
    for (const wrong of [['x'], 'x', Array(101).fill(bob.user.id)]) {
      expect((await ada.send('POST', `${at(engines)}/mfa/remind`, { user_ids: wrong })).status).toBe(400);
    }
    expect((await without.send('POST', `${at(engines)}/mfa/remind`, { user_ids })).status).toBe(403);
  });
});

test('nothing of this was a bug', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});
