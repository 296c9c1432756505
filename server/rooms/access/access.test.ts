import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { absentAddress, sampleOrganization, sampleProject } from '../../testing/samples.ts';

let home: TestPlatform;
let owner: Person;
let admin: Person;
let viewer: Person;
let member: Person;
let stranger: Person;
let organization_id: string;
let project: string;

const absentUser = absentAddress['user_id'];

const join = async (permissions: string[] = [], organization = organization_id): Promise<Person> => {
  const person = await home.person();
  await owner.send('POST', `/organizations/${organization}/members`, { user_id: person.user.id, permissions });
  return person;
};

const grant = (by: Person, person: Person, permissions: string[], to = project) =>
  by.send('POST', `/projects/${to}/user-access`, [{ user_id: person.user.id, permissions }]);

const freshProject = async () => (await sampleProject(owner, organization_id)).project_id;

let labels = 0;
const freshTeam = async (project_permissions: string[], ...people: Person[]): Promise<string> => {
  labels += 1;
  const { json } = await owner.send('POST', '/teams', { organization_id, label: `Team ${labels}`, project_permissions });
  for (const { user } of people) await owner.send('POST', `/teams/${json.id}/members`, { user_id: user.id });
  return json.id;
};

beforeAll(async () => {
  home = await openTestPlatform();
  [owner, stranger] = [await home.person(), await home.person()];
  ({ organization_id } = await sampleOrganization(owner));
  project = await freshProject();
  [admin, viewer, member] = [await join(), await join(), await join()];
  await grant(owner, admin, ['admin']);
  await grant(owner, viewer, ['viewer', 'development:contributor']);
});

describe('access of people to a project', () => {
  test('is listed for everybody in it, in one page, with links to names', async () => {
    const { status, json } = await viewer.send('GET', `/projects/${project}/user-access?page[size]=200`);
    expect(status).toBe(200);
    expect(json.items).toMatchObject([
      { user_id: admin.user.id, organization_id, project_id: project, project_title: 'Sample', permissions: ['admin'] },
      { user_id: viewer.user.id, permissions: ['viewer', 'development:contributor'] },
    ]);
    expect(json.items[0].granted_at).toMatch(/\.\d{3}Z$/);
    expect(Object.keys(json.items[0]._links)).toEqual(['self']);
    const users = await viewer.send('GET', json._links['ref:users:0'].href);
    expect(users.json[admin.user.id].username).toBe(admin.user.username);
    expect((await viewer.send('GET', json._links['ref:organizations:0'].href)).json[organization_id].owner_id).toBe(owner.user.id);
    expect((await viewer.send('GET', `/api/projects/${project}/user-access`)).json.items).toEqual(json.items);
    expect((await viewer.send('GET', `/projects/${project}/user-access?page[size]=201`)).status).toBe(400);
    expect((await member.send('GET', `/projects/${project}/user-access`)).status).toBe(404);
  });

  test('carries links for those who manage it, and they work', async () => {
    const guest = await join();
    await grant(admin, guest, ['viewer']);
    const { json } = await admin.send('GET', `/projects/${project}/user-access/${guest.user.id}`);
    expect(json._links.update).toEqual({ href: `/projects/${project}/user-access/${guest.user.id}`, method: 'PATCH' });
    const changed = await admin.send('PATCH', json._links.update.href, { permissions: ['staging:admin', 'viewer', 'viewer'] });
    expect(changed).toMatchObject({ status: 204, text: '' });
    const after = (await guest.send('GET', `/users/${guest.user.id}/project-access/${project}`)).json;
    expect(after).toMatchObject({ permissions: ['viewer', 'staging:admin'], granted_at: json.granted_at });
    expect((await viewer.send('PATCH', json._links.update.href, { permissions: ['admin'] })).status).toBe(403);
    expect((await admin.send('DELETE', json._links.delete.href)).status).toBe(204);
    expect((await admin.send('DELETE', json._links.delete.href)).status).toBe(404);
    expect((await guest.send('GET', `/projects/${project}/user-access`)).status).toBe(404);
  });

  test('is given by those who administer the project only, and ends at once', async () => {
    const guest = await join();
    for (const [person, status] of [
      [viewer, 403],
      [member, 404],
      [stranger, 404],
    ] as const) {
      expect((await grant(person, guest, ['viewer'])).status).toBe(status);
    }
    expect((await grant(owner, guest, ['viewer'])).status).toBe(204);
    expect((await guest.send('GET', `/projects/${project}/user-access`)).status).toBe(200);
    await admin.send('DELETE', `/projects/${project}/user-access/${guest.user.id}`);
    expect((await guest.send('GET', `/projects/${project}/user-access`)).status).toBe(404);
  });

  test('is not widened by oneself', async () => {
    expect((await viewer.send('PATCH', `/users/${viewer.user.id}/project-access/${project}`, { permissions: ['admin'] })).status).toBe(403);
    expect((await viewer.send('DELETE', `/users/${viewer.user.id}/project-access/${project}`)).status).toBe(403);
    const reply = await viewer.send('POST', `/users/${viewer.user.id}/project-access`, [{ project_id: project, permissions: ['admin'] }]);
    expect(reply.status).toBe(403);
  });

  test('is given to all that are named or to none, and each mistake is named', async () => {
    const [one, two] = [await join(), await join()];
    const post = (body: unknown) => admin.send('POST', `/projects/${project}/user-access`, body);
    const permissions = ['viewer'];
    const bad = await post([
      { user_id: one.user.id, permissions: [] },
      { user_id: 'nobody', permissions: ['owner'], role: 'x' },
    ]);
    expect(bad.status).toBe(400);
    expect(Object.keys(bad.json.detail).sort()).toEqual(['0.permissions', '1.permissions.0', '1.role', '1.user_id']);
    expect(
      await post([
        { user_id: one.user.id, permissions },
        { user_id: one.user.id, permissions },
      ]),
    ).toMatchObject({
      status: 400,
      json: { detail: { '1.user_id': 'is named twice' } },
    });
    for (const user_id of [stranger.user.id, absentUser]) {
      expect(
        await post([
          { user_id: one.user.id, permissions },
          { user_id, permissions },
        ]),
      ).toMatchObject({
        status: 400,
        json: { detail: { '1.user_id': expect.stringContaining('not a member') } },
      });
    }
    expect(
      await post([
        { user_id: two.user.id, permissions },
        { user_id: viewer.user.id, permissions },
      ]),
    ).toMatchObject({
      status: 409,
      json: { detail: { '1.user_id': expect.stringContaining('already') } },
    });
    expect((await post([])).status).toBe(400);
    expect((await post({})).status).toBe(400);
    for (const { user } of [one, two]) {
      expect((await admin.send('GET', `/projects/${project}/user-access/${user.id}`)).status).toBe(404);
    }
    expect((await post([one, two].map(({ user }) => ({ user_id: user.id, permissions })))).status).toBe(204);
  });

  test('can bring somebody into the organization, as far as it has room', async () => {
    const [guest, late] = [await home.person(), await home.person()];
    const post = (user_id: string | undefined) =>
      admin.send('POST', `/projects/${project}/user-access`, [{ user_id, permissions: ['viewer'], auto_add_member: true }]);
    expect((await post(guest.user.id)).status).toBe(204);
    const { json } = await owner.send('GET', `/organizations/${organization_id}/members/${guest.user.id}`);
    expect(json.permissions).toEqual([]);
    expect((await post(absentUser)).status).toBe(400);
    const { db } = home.platform;
    await db.updateTable('organizations').set({ users_max: 1 }).where('id', '=', organization_id).execute();
    expect((await post(late.user.id)).status).toBe(402);
    await db.updateTable('organizations').set({ users_max: null }).where('id', '=', organization_id).execute();
    expect((await owner.send('GET', `/organizations/${organization_id}/members/${late.user.id}`)).status).toBe(404);
  });

  test('ends with membership of the organization', async () => {
    const guest = await join();
    await grant(owner, guest, ['admin']);
    await owner.send('DELETE', `/organizations/${organization_id}/members/${guest.user.id}`);
    expect((await owner.send('GET', `/projects/${project}/user-access/${guest.user.id}`)).status).toBe(404);
    expect((await guest.send('GET', `/projects/${project}/user-access`)).status).toBe(404);
  });

  test('cannot leave a project without an administrator: the owner of the organization always is one', async () => {
    const mine = await freshProject();
    await grant(owner, admin, ['admin'], mine);
    expect((await admin.send('DELETE', `/projects/${mine}/user-access/${admin.user.id}`)).status).toBe(204);
    expect((await grant(owner, admin, ['viewer'], mine)).status).toBe(204);
  });
});

describe('access from the person', () => {
  test('is given in several projects at once, by those who administer them all', async () => {
    const guest = await join();
    const [first, second] = [await freshProject(), await freshProject()];
    await grant(owner, admin, ['admin'], first);
    const give = (by: Person, ...ids: string[]) =>
      by.send(
        'POST',
        `/users/${guest.user.id}/project-access`,
        ids.map((project_id) => ({ project_id, permissions: ['viewer'] })),
      );
    const refused = await give(admin, first, second);
    expect(refused).toMatchObject({ status: 403, json: { detail: { '1.project_id': expect.any(String) } } });
    expect((await give(admin, first, 'nosuchproject')).json).toEqual(refused.json);
    expect((await give(admin, first)).status).toBe(204);
    expect((await give(owner, first, second)).json.detail).toEqual({ '0.project_id': expect.stringContaining('already') });
    expect((await give(owner, second)).status).toBe(204);
    const { json } = await guest.send('GET', `/users/${guest.user.id}/project-access?filter[organization_id]=${organization_id}`);
    expect(json).toMatchObject({ items: [{ permissions: ['viewer'] }, { permissions: ['viewer'] }] });
    const titles = await guest.send('GET', json._links['ref:projects:0'].href);
    expect(titles.json[first]).toMatchObject({ title: 'Sample', vendor: 'offshoot' });
    const path = `/users/${stranger.user.id}/project-access`;
    expect(await owner.send('POST', path, [{ project_id: first, permissions: ['viewer'] }])).toMatchObject({
      status: 400,
      json: { detail: { '0.project_id': expect.stringContaining('not a member') } },
    });
    expect((await owner.send('POST', '/users/rubbish/project-access', [{ project_id: first, permissions: ['viewer'] }])).status).toBe(404);
  });

  test('shows links where the project is theirs to administer, in the list as on its own', async () => {
    const other = await freshProject();
    await grant(owner, admin, ['viewer'], other);
    const { json } = await admin.send('GET', `/users/${admin.user.id}/project-access`);
    for (const item of json.items) {
      const { json: alone } = await admin.send('GET', item._links.self.href);
      const actions = Object.keys(alone._links).filter((rel) => !rel.startsWith('ref:'));
      expect(Object.keys(item._links).sort()).toEqual(actions.sort());
      expect('update' in item._links).toBe(item.permissions.includes('admin'));
    }
  });

  test('is seen by the person, those in the project, and nobody else', async () => {
    const path = `/users/${viewer.user.id}/project-access/${project}`;
    const seen = await Promise.all([viewer, admin, owner, member, stranger].map((person) => person.send('GET', path)));
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404]);
    expect((await admin.send('GET', `/users/${viewer.user.id}/project-access`)).status).toBe(404);
  });
});

describe('access of teams', () => {
  test('gives its members what the team may do, counted and listed from both ends', async () => {
    const guest = await join();
    const mine = await freshProject();
    const team_id = await freshTeam(['viewer', 'production:viewer'], guest);
    expect((await owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }])).status).toBe(204);
    const fromProject = (await guest.send('GET', `/projects/${mine}/team-access`)).json;
    expect(fromProject.items).toMatchObject([{ team_id, project_id: mine, organization_id, project_title: 'Sample' }]);
    expect(fromProject.items[0].permissions).toBeUndefined();
    expect((await guest.send('GET', fromProject._links['ref:teams:0'].href)).json[team_id]).toMatchObject({
      project_permissions: ['viewer', 'production:viewer'],
      counts: { member_count: 1, project_count: 1 },
    });
    const fromTeam = (await guest.send('GET', `/teams/${team_id}/project-access?sort=project_title&range=20`)).json;
    expect(fromTeam).toMatchObject({ items: [{ team_id, project_id: mine }] });
    expect((await guest.send('GET', `/teams/${team_id}/project-access/${mine}`)).status).toBe(200);
    expect((await guest.send('DELETE', `/teams/${team_id}/project-access/${mine}`)).status).toBe(403);
    expect((await owner.send('DELETE', `/teams/${team_id}/project-access/${mine}`)).status).toBe(204);
    expect((await guest.send('GET', `/projects/${mine}/team-access`)).status).toBe(404);
  });

  test('is given from the team to several projects, by those who administer them', async () => {
    const [first, second] = [await freshProject(), await freshProject()];
    await grant(owner, admin, ['admin'], first);
    const team_id = await freshTeam(['viewer']);
    const give = (by: Person, ...ids: string[]) =>
      by.send(
        'POST',
        `/teams/${team_id}/project-access`,
        ids.map((project_id) => ({ project_id })),
      );
    expect((await give(admin, first, second)).json.detail).toEqual({ '1.project_id': expect.any(String) });
    expect((await give(admin, first)).status).toBe(204);
    expect((await give(owner, second, first)).status).toBe(409);
    expect((await give(owner, second)).status).toBe(204);
    expect((await give(stranger, first)).status).toBe(404);
    expect((await owner.send('GET', `/teams/${team_id}`)).json.counts.project_count).toBe(2);
    const listed = async (person: Person) => (await person.send('GET', `/teams/${team_id}/project-access`)).json.items.length;
    expect(await Promise.all([owner, admin, member, await join(['projects:list'])].map(listed))).toEqual([2, 1, 0, 2]);
  });

  test('stays within the organization', async () => {
    const other = await sampleOrganization(owner);
    const { project_id: foreign } = await sampleProject(owner, other.organization_id);
    const team_id = await freshTeam(['viewer']);
    expect((await owner.send('POST', `/projects/${foreign}/team-access`, [{ team_id }])).json.detail).toEqual({
      '0.team_id': expect.stringContaining('not a team'),
    });
    expect((await owner.send('POST', `/teams/${team_id}/project-access`, [{ project_id: foreign }])).json.detail).toEqual({
      '0.project_id': expect.stringContaining('not a project'),
    });
    const repeated = [{ team_id }, { team_id }];
    expect((await owner.send('POST', `/projects/${project}/team-access`, repeated)).json.detail).toEqual({ '1.team_id': 'is named twice' });
  });

  test('merges with direct access', async () => {
    const guest = await join();
    const mine = await freshProject();
    const team_id = await freshTeam(['admin'], guest);
    await grant(owner, guest, ['viewer'], mine);
    expect((await grant(guest, viewer, ['viewer'], mine)).status).toBe(403);
    await owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }]);
    expect((await grant(guest, viewer, ['viewer'], mine)).status).toBe(204);
    await owner.send('DELETE', `/teams/${team_id}/members/${guest.user.id}`);
    expect((await guest.send('DELETE', `/projects/${mine}/user-access/${viewer.user.id}`)).status).toBe(403);
  });
});

describe('at the same moment', () => {
  const rounds = Array.from({ length: 10 }, (_, n) => n);

  test('one of two equal grants is made, the other told', async () => {
    for (const _ of rounds) {
      const guest = await join();
      const replies = await Promise.all(Array.from({ length: 4 }, () => grant(owner, guest, ['viewer'])));
      expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([204, 409, 409, 409]);
    }
  });

  test('overlapping grants in opposite orders do not block each other', async () => {
    const [one, two] = [await join(), await join()];
    for (const _ of rounds) {
      const mine = await freshProject();
      const post = (...people: Person[]) =>
        owner.send(
          'POST',
          `/projects/${mine}/user-access`,
          people.map(({ user }) => ({ user_id: user.id, permissions: ['viewer'] })),
        );
      const replies = await Promise.all([post(one, two), post(two, one)]);
      expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([204, 409]);
      expect((await owner.send('GET', `/projects/${mine}/user-access`)).json.items).toHaveLength(2);
    }
  });

  test('nobody who is removed from the organization keeps access that is granted meanwhile', async () => {
    for (const _ of rounds) {
      const guest = await join();
      const [granted] = await Promise.all([
        grant(owner, guest, ['admin']),
        owner.send('DELETE', `/organizations/${organization_id}/members/${guest.user.id}`),
      ]);
      expect([204, 400]).toContain(granted.status);
      expect((await guest.send('GET', `/projects/${project}/user-access`)).status).toBe(404);
    }
  });

  test('a team that is deleted is let into nothing', async () => {
    for (const _ of rounds) {
      const mine = await freshProject();
      const team_id = await freshTeam(['admin'], member);
      const [granted, removed] = await Promise.all([
        owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }]),
        owner.send('DELETE', `/teams/${team_id}`),
      ]);
      expect([204, 400]).toContain(granted.status);
      expect(removed.status).toBe(204);
      expect((await owner.send('GET', `/projects/${mine}/team-access`)).json.items).toEqual([]);
      expect((await member.send('GET', `/projects/${mine}/team-access`)).status).toBe(404);
    }
  });

  test('a team is not widened past a project that lets it in meanwhile', async () => {
    const manager = await join(['members']);
    for (const _ of rounds) {
      const mine = await freshProject();
      const team_id = await freshTeam(['viewer'], manager);
      const [widened] = await Promise.all([
        manager.send('PATCH', `/teams/${team_id}`, { project_permissions: ['admin'] }),
        owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }]),
      ]);
      expect([200, 403]).toContain(widened.status);
    }
  });
});

describe('extended access', () => {
  test('merges what comes from grants, teams and ownership, and is how clients list projects', async () => {
    const guest = await join(['billing']);
    const mine = await freshProject();
    await grant(owner, guest, ['development:contributor'], mine);
    const team_id = await freshTeam(['viewer', 'development:admin'], guest);
    await owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }]);
    const { json } = await guest.send('GET', `/users/${guest.user.id}/extended-access`);
    expect(json.items).toMatchObject([
      { resource_id: organization_id, resource_type: 'organization', organization_id, permissions: ['billing'] },
      {
        user_id: guest.user.id,
        resource_id: mine,
        resource_type: 'project',
        organization_id,
        permissions: ['development:admin', 'development:contributor', 'viewer'],
      },
    ]);
    const ofOwner = await owner.send('GET', `/users/${owner.user.id}/extended-access?filter[resource_type]=project`);
    const { items, _links } = ofOwner.json;
    expect(items.every(({ resource_type }: { resource_type: string }) => resource_type === 'project')).toBe(true);
    expect(items.find(({ resource_id }: { resource_id: string }) => resource_id === mine).permissions).toEqual(['admin']);
    const referenced = await owner.send('GET', _links['ref:projects:0'].href);
    expect(Object.values(referenced.json)[0]).toMatchObject({
      organization_id: expect.any(String),
      subscription_id: expect.stringMatching(/^\d+$/),
      region: 'offshoot',
      title: 'Sample',
      status: 'active',
      created_at: expect.stringMatching(/Z$/),
    });
    expect((await owner.send('GET', _links['ref:organizations:0'].href)).json[organization_id]).toMatchObject({ label: 'Sample' });
  });

  test('can be filtered and paged', async () => {
    const list = async (query: string) => (await owner.send('GET', `/users/${owner.user.id}/extended-access?${query}`)).json;
    expect((await list('filter[permissions]=viewer')).items).toEqual([]);
    expect((await list(`filter[organization_id]=${organization_id}&filter[resource_type]=organization`)).count).toBe(1);
    const first = await list('page[size]=1');
    const second = (await owner.send('GET', first._links.next.href)).json;
    expect(second.items[0].resource_id).not.toBe(first.items[0].resource_id);
    expect((await list('filter[resource_type]=planet')).count).toBe(0);
    expect((await stranger.send('GET', `/users/${owner.user.id}/extended-access`)).status).toBe(404);
  });

  test('ignores a team without permissions, and projects that are deleted', async () => {
    const guest = await join();
    const [mine, gone] = [await freshProject(), await freshProject()];
    const team_id = await freshTeam([], guest);
    await owner.send('POST', `/projects/${mine}/team-access`, [{ team_id }]);
    await grant(owner, guest, ['admin'], gone);
    await home.platform.db.updateTable('projects').set({ status: 'deleted' }).where('id', '=', gone).execute();
    const { json } = await guest.send('GET', `/users/${guest.user.id}/extended-access?filter[resource_type]=project`);
    expect(json.items).toEqual([]);
    expect((await guest.send('GET', `/projects/${gone}/user-access`)).status).toBe(404);
    expect((await guest.send('GET', `/projects/${gone}/user-access/${guest.user.id}`)).status).toBe(404);
    expect((await guest.send('GET', `/users/${guest.user.id}/project-access`)).json.items).toEqual([]);
  });
});

test('an access document says what one may do where, to oneself and to operators', async () => {
  const { json } = await viewer.send('GET', `/access/${viewer.user.id}`);
  expect(json).toMatchObject({
    id: viewer.user.id,
    organizations: [{ id: organization_id, permissions: [] }],
    projects: expect.arrayContaining([{ id: project, organization_id, permissions: ['development:contributor', 'viewer'] }]),
    complete: true,
  });
  const operator = await home.person({ is_operator: true });
  expect((await operator.send('GET', `/access/${viewer.user.id}`)).status).toBe(200);
  for (const id of [viewer.user.id, absentUser, 'rubbish']) expect((await admin.send('GET', `/access/${id}`)).status).toBe(404);
});

test('environment types are three, for whoever sees the project', async () => {
  const { json } = await viewer.send('GET', `/api/projects/${project}/environment-types`);
  expect(json).toMatchObject([
    { id: 'development', attributes: {}, _links: { self: { href: `/api/projects/${project}/environment-types/development` } } },
    { id: 'staging' },
    { id: 'production' },
  ]);
  expect((await viewer.send('GET', json[2]._links.self.href)).json.id).toBe('production');
  expect((await viewer.send('GET', `/projects/${project}/environment-types/testing`)).status).toBe(404);
  expect((await member.send('GET', `/projects/${project}/environment-types/staging`)).status).toBe(404);
});
