import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { absentAddress, sampleOrganization, sampleProject } from '../../testing/samples.ts';

let home: TestPlatform;
let owner: Person;
let manager: Person;
let member: Person;
let stranger: Person;
let operator: Person;
let organization_id: string;

const join = async (organization: string, permissions: string[] = []): Promise<Person> => {
  const person = await home.person();
  await owner.send('POST', `/organizations/${organization}/members`, { user_id: person.user.id, permissions });
  return person;
};

beforeAll(async () => {
  home = await openTestPlatform();
  [owner, stranger, operator] = [await home.person(), await home.person(), await home.person({ is_operator: true })];
  ({ organization_id } = await sampleOrganization(owner));
  [manager, member] = [await join(organization_id, ['members']), await join(organization_id)];
});

let labels = 0;
const freshTeam = async (fields: object = {}) => {
  labels += 1;
  const { status, json } = await owner.send('POST', '/teams', { organization_id, label: `Team ${labels}`, ...fields });
  expect(status).toBe(201);
  return json;
};

describe('a team', () => {
  test('is created by whoever manages members, with what it may do in projects', async () => {
    const { status, json } = await manager.send('POST', '/teams', {
      organization_id,
      label: 'Designers',
      project_permissions: ['staging:viewer', 'viewer', 'viewer'],
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      organization_id,
      label: 'Designers',
      project_permissions: ['viewer', 'staging:viewer'],
      counts: { member_count: 0, project_count: 0 },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      _links: {
        self: { href: `/teams/${json.id}` },
        update: { href: `/teams/${json.id}`, method: 'PATCH' },
        delete: { href: `/teams/${json.id}`, method: 'DELETE' },
        members: { href: `/teams/${json.id}/members` },
        'ref:organizations:0': { href: expect.stringContaining(`in=${organization_id}`) },
      },
    });
    expect((await member.send('GET', `/teams/${json.id}`)).json).toEqual({
      ...json,
      _links: {
        self: json._links.self,
        'project-access': json._links['project-access'],
        'ref:organizations:0': { href: expect.stringContaining(`in=${organization_id}`) },
      },
    });
  });

  test('is refused with every field that is wrong', async () => {
    const { status, json } = await owner.send('POST', '/teams', {
      organization_id: 'acme',
      label: 'a\nb',
      project_permissions: ['owner'],
      colour: 'red',
    });
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual(['colour', 'label', 'organization_id', 'project_permissions.0']);
    expect(json.error).toBe(json.message);
    const missing = await owner.send('POST', '/teams', {});
    expect(missing).toMatchObject({ status: 400, json: { detail: { organization_id: 'is required', label: 'is required' } } });
  });

  test('is refused alike where one may not manage teams, is no member, or there is no organization', async () => {
    const replies = await Promise.all([
      member.send('POST', '/teams', { organization_id, label: 'x' }),
      stranger.send('POST', '/teams', { organization_id, label: 'x' }),
      stranger.send('POST', '/teams', { organization_id: absentAddress['organization_id'], label: 'x' }),
      operator.send('POST', '/teams', { organization_id: absentAddress['organization_id'], label: 'x' }),
    ]);
    for (const { status, json } of replies) {
      expect(status).toBe(403);
      expect(json).toEqual(replies[0]?.json);
    }
  });

  test('has a label of its own in the organization, in whatever case', async () => {
    await freshTeam({ label: 'Only one' });
    expect(await owner.send('POST', '/teams', { organization_id, label: 'ONLY ONE' })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('choose another') },
    });
    const other = await sampleOrganization(owner);
    expect((await owner.send('POST', '/teams', { ...other, label: 'Only one' })).status).toBe(201);
    const { id } = await freshTeam();
    expect((await owner.send('PATCH', `/teams/${id}`, { label: 'only one' })).status).toBe(409);
  });

  test('of one label is made once when several ask at the same moment', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => owner.send('POST', '/teams', { organization_id, label: 'At the same moment' })),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  test('changes only what is named', async () => {
    const team = await freshTeam({ project_permissions: ['admin'] });
    const { status, json } = await manager.send('PATCH', `/teams/${team.id}`, { label: 'Renamed' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ label: 'Renamed', project_permissions: ['admin'] });
    expect((await member.send('PATCH', `/teams/${team.id}`, { label: 'x' })).status).toBe(403);
    expect((await stranger.send('PATCH', `/teams/${team.id}`, { label: 'x' })).status).toBe(404);
    expect((await manager.send('PATCH', `/teams/${team.id}`, { organization_id })).status).toBe(400);
  });

  test('is gone once deleted, with its places and its access, not its people', async () => {
    const { id } = await freshTeam({ project_permissions: ['viewer'] });
    const { project_id } = await sampleProject(owner, organization_id);
    await owner.send('POST', `/teams/${id}/members`, { user_id: member.user.id });
    await owner.send('POST', `/projects/${project_id}/team-access`, [{ team_id: id }]);
    expect((await member.send('GET', `/projects/${project_id}/user-access`)).status).toBe(200);
    expect((await owner.send('DELETE', `/teams/${id}`)).status).toBe(204);
    expect((await owner.send('GET', `/teams/${id}`)).status).toBe(404);
    expect((await owner.send('DELETE', `/teams/${id}`)).status).toBe(404);
    expect((await member.send('GET', `/projects/${project_id}/user-access`)).status).toBe(404);
    expect((await owner.send('GET', `/organizations/${organization_id}/members/${member.user.id}`)).status).toBe(200);
  });
});

describe('the members of a team', () => {
  test('are counted, listed with a link to their names, and removed', async () => {
    const { id } = await freshTeam();
    const { status, json } = await manager.send('POST', `/teams/${id}/members`, { user_id: member.user.id });
    expect(status).toBe(201);
    expect(json).toMatchObject({ team_id: id, user_id: member.user.id, created_at: expect.any(String) });
    expect((await owner.send('GET', `/teams/${id}`)).json.counts).toEqual({ member_count: 1, project_count: 0 });
    const list = (await manager.send('GET', `/teams/${id}/members`)).json;
    expect(list).toMatchObject({ count: 1, items: [{ user_id: member.user.id }] });
    const referenced = await manager.send('GET', list._links['ref:users:0'].href);
    expect(referenced.json[member.user.id]).toMatchObject({ username: member.user.username, email: member.user.email });
    expect((await member.send('GET', `/teams/${id}/members`)).status).toBe(403);
    const alone = await member.send('GET', `/teams/${id}/members/${member.user.id}`);
    const mentioned = await member.send('GET', alone.json._links['ref:users:0'].href);
    expect(mentioned.json).toMatchObject({ [member.user.id]: { email: member.user.email } });
    expect((await member.send('DELETE', `/teams/${id}/members/${member.user.id}`)).status).toBe(403);
    expect((await manager.send('DELETE', `/teams/${id}/members/${member.user.id}`)).status).toBe(204);
    expect((await manager.send('GET', `/teams/${id}/members/${member.user.id}`)).status).toBe(404);
    expect((await owner.send('GET', `/teams/${id}`)).json.counts.member_count).toBe(0);
  });

  test('belong to the organization, and are in the team once', async () => {
    const { id } = await freshTeam();
    for (const user_id of [stranger.user.id, absentAddress['user_id']]) {
      expect(await owner.send('POST', `/teams/${id}/members`, { user_id })).toMatchObject({
        status: 400,
        json: { detail: { user_id: expect.stringContaining('not a member') } },
      });
    }
    await owner.send('POST', `/teams/${id}/members`, { user_id: member.user.id });
    expect((await owner.send('POST', `/teams/${id}/members`, { user_id: member.user.id })).status).toBe(409);
  });

  test('leave it with the organization', async () => {
    const leaver = await join(organization_id);
    const { id } = await freshTeam();
    await owner.send('POST', `/teams/${id}/members`, { user_id: leaver.user.id });
    await owner.send('DELETE', `/organizations/${organization_id}/members/${leaver.user.id}`);
    expect((await owner.send('GET', `/teams/${id}`)).json.counts.member_count).toBe(0);
    expect((await leaver.send('GET', `/teams/${id}`)).status).toBe(404);
  });

  test('added while they are removed from the organization are in both or in neither', async () => {
    for (let round = 0; round < 10; round += 1) {
      const leaver = await join(organization_id);
      const { id } = await freshTeam();
      const [added] = await Promise.all([
        owner.send('POST', `/teams/${id}/members`, { user_id: leaver.user.id }),
        owner.send('DELETE', `/organizations/${organization_id}/members/${leaver.user.id}`),
      ]);
      expect([201, 400]).toContain(added.status);
      expect((await owner.send('GET', `/teams/${id}/members`)).json.items).toEqual([]);
    }
  });

  test('added while the team is deleted are told so', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await freshTeam();
      const [added, removed] = await Promise.all([
        owner.send('POST', `/teams/${id}/members`, { user_id: member.user.id }),
        owner.send('DELETE', `/teams/${id}`),
      ]);
      expect(removed.status).toBe(204);
      expect([201, 400, 404]).toContain(added.status);
    }
  });
});

describe('whoever manages teams', () => {
  test('does not thereby get into projects: they cannot add themselves, only the owner and operators can', async () => {
    const { id } = await freshTeam({ project_permissions: ['admin'] });
    const admin = await join(organization_id, ['admin']);
    for (const person of [manager, admin]) {
      expect(await person.send('POST', `/teams/${id}/members`, { user_id: person.user.id })).toMatchObject({
        status: 403,
        json: { error: expect.stringContaining('yourself') },
      });
      const shouted = await person.send('POST', `/teams/${id}/members`, { user_id: person.user.id.toUpperCase() });
      expect(shouted.status).toBe(400);
    }
    expect((await owner.send('POST', `/teams/${id}/members`, { user_id: owner.user.id })).status).toBe(201);
  });

  test('widens what a team may do only where its projects are theirs to administer', async () => {
    const { id } = await freshTeam({ project_permissions: ['development:contributor'] });
    const widen = { project_permissions: ['admin'] };
    const { project_id } = await sampleProject(owner, organization_id);
    await owner.send('POST', `/projects/${project_id}/team-access`, [{ team_id: id }]);
    expect(await manager.send('PATCH', `/teams/${id}`, widen)).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('narrow') },
    });
    const narrow = { project_permissions: ['development:viewer', 'viewer'] };
    expect((await manager.send('PATCH', `/teams/${id}`, narrow)).status).toBe(200);
    await owner.send('POST', `/projects/${project_id}/user-access`, [{ user_id: manager.user.id, permissions: ['admin'] }]);
    expect((await manager.send('PATCH', `/teams/${id}`, widen)).status).toBe(200);
    const { project_id: second } = await sampleProject(owner, organization_id);
    await owner.send('PATCH', `/teams/${id}`, narrow);
    await owner.send('POST', `/projects/${second}/team-access`, [{ team_id: id }]);
    expect((await manager.send('PATCH', `/teams/${id}`, widen)).status).toBe(403);
    expect((await owner.send('PATCH', `/teams/${id}`, widen)).status).toBe(200);
  });

  test('of a team without projects widens nothing yet', async () => {
    const { id } = await freshTeam({ project_permissions: ['viewer'] });
    expect((await manager.send('PATCH', `/teams/${id}`, { project_permissions: ['admin'] })).status).toBe(200);
  });
});

describe('lists of teams', () => {
  test('show those of the own organizations, and all to operators', async () => {
    const { organization_id: other } = await sampleOrganization(stranger);
    const { json: foreign } = await stranger.send('POST', '/teams', { organization_id: other, label: 'Foreign' });
    const own = await freshTeam();
    const idsFor = async (person: Person, query = '') =>
      (await person.send('GET', `/teams?page[size]=100${query}`)).json.items.map(({ id }: { id: string }) => id);
    expect(await idsFor(member)).toContain(own.id);
    expect(await idsFor(member)).not.toContain(foreign.id);
    expect(await idsFor(member, `&filter[organization_id]=${other}`)).toEqual([]);
    expect(await idsFor(member, `&filter[id][in]=${own.id},${foreign.id}`)).toEqual([own.id]);
    expect(await idsFor(operator)).toEqual(expect.arrayContaining([own.id, foreign.id]));
    expect(await idsFor(operator, `&filter[organization_id]=${other}`)).toEqual([foreign.id]);
    expect((await (await home.person()).send('GET', '/teams')).json).toMatchObject({ items: [], count: 0 });
  });

  test('are sorted, paged back and forth, and stay put while teams are added', async () => {
    const { organization_id: paged } = await sampleOrganization(owner);
    for (const label of ['c', 'a', 'e', 'b', 'd']) await owner.send('POST', '/teams', { organization_id: paged, label });
    const list = async (href: string) => {
      const { json } = await owner.send('GET', href);
      return { labels: json.items.map(({ label }: { label: string }) => label).join(''), links: json._links, count: json.count };
    };
    const at = (query: string) => list(`/teams?filter[organization_id]=${paged}&${query}`);
    expect((await at('sort=-label')).labels).toBe('edcba');
    expect((await at('sort=created_at')).labels).toBe('caebd');
    const first = await at('page[size]=2');
    expect(first).toMatchObject({ labels: 'ab', count: 5 });
    await owner.send('POST', '/teams', { organization_id: paged, label: 'aa' });
    const second = await list(first.links.next.href);
    expect(second).toMatchObject({ labels: 'cd', count: 6 });
    expect((await list((await list(second.links.next.href)).links.previous.href)).labels).toBe('cd');
    expect((await at(`filter[updated_at][gt]=2020-01-01T00:00:00Z`)).count).toBe(6);
    expect((await at(`filter[updated_at][lt]=2020-01-01T00:00:00Z`)).count).toBe(0);
  });

  test('refuse what they do not understand, by name', async () => {
    const { status, json } = await owner.send('GET', '/teams?page[size]=101&sort=colour&filter[colour]=red&page[after]=x');
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual(['filter[colour]', 'page[after]', 'page[size]', 'sort']);
    const forged = Buffer.from(JSON.stringify(['no time', 'x'])).toString('base64url');
    expect((await owner.send('GET', `/teams?sort=created_at&page[after]=${forged}`)).status).toBe(400);
  });

  test('of a person are for that person and operators', async () => {
    const { id } = await freshTeam();
    await owner.send('POST', `/teams/${id}/members`, { user_id: member.user.id });
    const { json } = await member.send('GET', `/users/${member.user.id}/teams?filter[organization_id]=${organization_id}&sort=-created_at`);
    expect(json.items[0]).toMatchObject({ id, counts: { member_count: 1 } });
    expect((await operator.send('GET', `/users/${member.user.id}/teams`)).json.count).toBe(json.count);
    expect((await owner.send('GET', `/users/${member.user.id}/teams`)).status).toBe(404);
  });

  test('of an organization that asks for a second factor wait for one', async () => {
    const strict = await sampleOrganization(owner);
    await owner.send('POST', '/teams', { ...strict, label: 'Behind a passcode' });
    await home.platform.db.updateTable('organizations').set({ enforce_mfa: true }).where('id', '=', strict.organization_id).execute();
    expect((await owner.send('GET', `/teams?filter[organization_id]=${strict.organization_id}`)).json.error).toBe(
      'insufficient_user_authentication',
    );
    expect((await owner.send('GET', '/teams?page[size]=100')).text).not.toContain('Behind a passcode');
    expect((await owner.send('POST', '/teams', { ...strict, label: 'Another' })).status).toBe(401);
  });
});
