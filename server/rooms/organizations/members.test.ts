import { beforeAll, describe, expect, test } from 'vitest';
import { shortId } from '../../kernel/id.ts';
import { organizationPermissions } from '../../permissions.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { insertProject } from '../projects/public.ts';
import { setUsersMax } from './public.ts';

let home: TestPlatform;
let ada: Person;
let members: string;
let organizationId: string;

beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person();
  organizationId = (await ada.send('POST', '/organizations', { label: 'Engines' })).json.id;
  members = `/organizations/${organizationId}/members`;
});

const at = (person: Person) => `${members}/${person.user.id}`;
const join = async (permissions: string[] = []) => {
  const person = await home.person();
  expect((await ada.send('POST', members, { user_id: person.user.id, permissions })).status).toBe(201);
  return person;
};
const nobody = '00000000-0000-4000-8000-000000000000';

const statusesOf = (replies: { status: number }[]) => replies.map(({ status }) => status).sort((a, b) => a - b);

describe('adding a member', () => {
  test('answers with the member, whose new rights count from the next request', async () => {
    const bob = await home.person();
    expect((await bob.send('GET', `/organizations/${organizationId}`)).status).toBe(404);
    const { status, json } = await ada.send('POST', members, {
      user_id: bob.user.id,
      permissions: ['project:create', 'billing', 'billing'],
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: bob.user.id,
      user_id: bob.user.id,
      organization_id: organizationId,
      permissions: ['billing', 'projects:create'],
      level: 'admin',
      owner: false,
      _links: { self: { href: at(bob) }, update: { href: at(bob), method: 'PATCH' }, delete: { href: at(bob), method: 'DELETE' } },
    });
    expect((await bob.send('GET', `/organizations/${organizationId}`)).status).toBe(200);
    expect(await bob.send('GET', at(bob))).toMatchObject({ status: 200, json: { permissions: ['billing', 'projects:create'] } });
  });

  test('who is one already, or does not exist, is refused', async () => {
    const bob = await join();
    expect((await ada.send('POST', members, { user_id: bob.user.id })).status).toBe(409);
    expect(await ada.send('POST', members, { user_id: nobody })).toMatchObject({
      status: 404,
      json: { detail: { user_id: expect.any(String) } },
    });
    const twice = await home.person();
    const both = await Promise.all([1, 2].map(() => ada.send('POST', members, { user_id: twice.user.id })));
    expect(statusesOf(both)).toEqual([201, 409]);
  });

  test.for([
    {},
    { user_id: 'me' },
    { user_id: nobody, permissions: 'admin' },
    { user_id: nobody, permissions: ['root'] },
    { user_id: nobody, permissions: ['owner'] },
    { user_id: nobody, permissions: Array(21).fill('admin') },
    { user_id: nobody, owner: true },
    { user_id: nobody, level: 'admin' },
  ])('refuses %j', async (body) => {
    expect((await ada.send('POST', members, body)).status).toBe(400);
  });

  test('stops at the number of users that the operator set', async () => {
    const { json } = await ada.send('POST', '/organizations', { label: 'Small' });
    await setUsersMax(home.platform.db, json.id, 3);
    const people = await Promise.all(Array.from({ length: 6 }, () => home.person()));
    const replies = await Promise.all(
      people.map(({ user }) => ada.send('POST', `/organizations/${json.id}/members`, { user_id: user.id })),
    );
    expect(statusesOf(replies)).toEqual([201, 201, 402, 402, 402, 402]);
    expect(replies.find(({ status }) => status === 402)?.json.error).toContain('3 users');
    await setUsersMax(home.platform.db, `name=${json.name}`, null);
    const left = people[replies.findIndex(({ status }) => status === 402)];
    expect((await ada.send('POST', `/organizations/${json.id}/members`, { user_id: left?.user.id })).status).toBe(201);
  });
});

describe('permissions', () => {
  test('are given by those who manage members, and none that they lack', async () => {
    const manager = await join(['members', 'billing']);
    const expected: Record<string, number> = {
      admin: 403,
      plans: 403,
      'projects:create': 403,
      members: 201,
      billing: 201,
      'projects:list': 201,
    };
    for (const permission of organizationPermissions) {
      const { user } = await home.person();
      const { status } = await manager.send('POST', members, { user_id: user.id, permissions: [permission] });
      expect({ permission, status }).toEqual({ permission, status: expected[permission] });
    }
    const carol = await join();
    expect(await manager.send('PATCH', at(carol), { permissions: ['billing', 'admin'] })).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('admin') },
    });
    expect((await manager.send('PATCH', at(carol), { permissions: ['billing'] })).json.permissions).toEqual(['billing']);
  });

  test('of somebody who holds more are out of reach, and so are they', async () => {
    const [manager, admin] = [await join(['members']), await join(['admin'])];
    expect((await manager.send('PATCH', at(admin), { permissions: [] })).status).toBe(409);
    expect((await manager.send('DELETE', at(admin))).status).toBe(409);
    const { _links } = (await manager.send('GET', at(admin))).json;
    expect(Object.keys(_links)).toEqual(['self', 'ref:users:0']);
    expect((await admin.send('PATCH', at(manager), { permissions: ['plans'] })).status).toBe(200);
    expect((await manager.send('GET', members)).status).toBe(403);
  });

  test('of oneself and of the owner are changed by nobody', async () => {
    const admin = await join(['admin']);
    for (const [person, target] of [
      [admin, admin],
      [ada, ada],
      [admin, ada],
    ] as const) {
      expect(await person.send('PATCH', at(target), { permissions: [] })).toMatchObject({
        status: 409,
        json: { error: expect.stringContaining('owner') },
      });
      expect((await person.send('GET', at(target))).json._links['update']).toBeUndefined();
    }
  });

  test('keep as they are when the change names none', async () => {
    const bob = await join(['billing']);
    expect((await ada.send('PATCH', at(bob), {})).json.permissions).toEqual(['billing']);
    expect((await ada.send('PATCH', at(bob), { permissions: [] })).json.permissions).toEqual([]);
    for (const body of [{ permissions: ['x'] }, { permissions: null }, { user_id: nobody }, { level: 'admin' }]) {
      expect((await ada.send('PATCH', at(bob), body)).status).toBe(400);
    }
  });
});

describe('the list of members', () => {
  test('is for those who manage them, with a reference to the people', async () => {
    const [manager, member] = [await join(['members']), await join()];
    const { status, json } = await manager.send('GET', `${members}?sort=-created_at&page[size]=2`);
    expect(status).toBe(200);
    expect(json.items.map(({ user_id }: { user_id: string }) => user_id)).toEqual([member.user.id, manager.user.id]);
    expect(json._links['ref:users:0'].href).toContain(member.user.id);
    expect(json._links.next.href).toContain('page%5Bafter%5D');
    expect(await member.send('GET', members)).toMatchObject({ status: 403 });
    expect((await (await home.person()).send('GET', members)).status).toBe(404);
  });

  test('is filtered by permission, and walked in stable pages while people join', async () => {
    const { json: organization } = await ada.send('POST', '/organizations', { label: 'Many' });
    const path = `/organizations/${organization.id}/members`;
    const people: string[] = [ada.user.id];
    for (let n = 0; n < 7; n += 1) {
      const { user } = await home.person();
      people.push(user.id);
      await ada.send('POST', path, { user_id: user.id, permissions: n % 2 ? ['billing'] : ['plans', 'projects:list'] });
    }
    expect((await ada.send('GET', `${path}?filter[permissions]=billing`)).json.count).toBe(3);
    expect((await ada.send('GET', `${path}?filter[permissions][nin]=billing,plans`)).json.count).toBe(1);
    const walked: string[] = [];
    for (let url: string | undefined = `${path}?page[size]=3`; url !== undefined;) {
      const { json } = await ada.send('GET', url);
      walked.push(...json.items.map((item: { user_id: string }) => item.user_id));
      url = json._links.next?.href;
      if (walked.length === 3) people.push((await addOne(path)).user.id);
    }
    expect(walked).toEqual(people);
  });

  const addOne = async (path: string) => {
    const person = await home.person();
    await ada.send('POST', path, { user_id: person.user.id });
    return person;
  };

  test('says who counts as a viewer: those who can change nothing, here or in any project', async () => {
    const { db } = home.platform;
    const project = await insertProject(db, {
      id: shortId(),
      organization_id: organizationId,
      region: 'local',
      title: 'Shop',
      status: 'active',
    });
    const levelOf = async (person: Person) => (await ada.send('GET', at(person))).json.level as string;
    const access = async (permissions: string[]) => {
      const person = await join();
      await db
        .insertInto('user_access')
        .values({ project_id: project.id, organization_id: organizationId, user_id: person.user.id, permissions })
        .execute();
      return person;
    };
    const inTeam = async (permission: string) => {
      const person = await join();
      const team_id = shortId();
      await db
        .insertInto('teams')
        .values({ id: team_id, organization_id: organizationId, label: team_id, project_permissions: [permission] })
        .execute();
      await db.insertInto('team_members').values({ team_id, organization_id: organizationId, user_id: person.user.id }).execute();
      return person;
    };
    const viewers = [
      await join(),
      await join(['billing', 'projects:list']),
      await access(['viewer', 'staging:viewer']),
      await inTeam('viewer'),
    ];
    const admins = [
      ada,
      await join(['plans']),
      await access(['viewer', 'staging:contributor']),
      await access(['admin']),
      await inTeam('production:admin'),
    ];
    expect(await Promise.all(viewers.map(levelOf))).toEqual(viewers.map(() => 'viewer'));
    expect(await Promise.all(admins.map(levelOf))).toEqual(admins.map(() => 'admin'));
  });
});

describe('removing a member', () => {
  test('takes away their access to projects and their place in teams', async () => {
    const { db } = home.platform;
    const bob = await join();
    const project = await insertProject(db, {
      id: shortId(),
      organization_id: organizationId,
      region: 'local',
      title: 'Shop',
      status: 'active',
    });
    const keys = { organization_id: organizationId, user_id: bob.user.id };
    await db
      .insertInto('user_access')
      .values({ project_id: project.id, ...keys, permissions: ['admin'] })
      .execute();
    await db.insertInto('teams').values({ id: 'T', organization_id: organizationId, label: 'T' }).execute();
    await db
      .insertInto('team_members')
      .values({ team_id: 'T', ...keys })
      .execute();
    expect((await ada.send('DELETE', at(bob))).status).toBe(204);
    expect((await ada.send('DELETE', at(bob))).status).toBe(404);
    for (const table of ['user_access', 'team_members'] as const) {
      expect(await db.selectFrom(table).selectAll().where('user_id', '=', bob.user.id).execute()).toEqual([]);
    }
    expect((await bob.send('GET', `/organizations/${organizationId}`)).status).toBe(404);
  });

  test('is leaving, for oneself; the owner cannot be removed and cannot leave', async () => {
    const [bob, admin] = [await join(), await join(['admin'])];
    expect((await bob.send('GET', at(bob))).json._links['delete']).toBeDefined();
    expect((await bob.send('DELETE', at(admin))).status).toBe(404);
    expect((await bob.send('DELETE', at(bob))).status).toBe(204);
    expect(await admin.send('DELETE', at(ada))).toMatchObject({ status: 409, json: { error: expect.stringContaining('owner') } });
    expect((await ada.send('DELETE', at(ada))).status).toBe(409);
    expect((await admin.send('DELETE', at(admin))).status).toBe(204);
  });

  test('while they are given something: it is given or they are gone, never both', async () => {
    const { db } = home.platform;
    const project = await insertProject(db, {
      id: shortId(),
      organization_id: organizationId,
      region: 'local',
      title: 'Shop',
      status: 'active',
    });
    for (let round = 0; round < 10; round += 1) {
      const bob = await join();
      const keys = { project_id: project.id, organization_id: organizationId, user_id: bob.user.id };
      const [removal, change] = await Promise.all([
        ada.send('DELETE', at(bob)),
        ada.send('PATCH', at(bob), { permissions: ['plans'] }),
        db
          .insertInto('user_access')
          .values({ ...keys, permissions: ['viewer'] })
          .execute()
          .catch(() => {}),
      ]);
      expect(removal.status).toBe(204);
      expect([200, 404]).toContain(change.status);
      expect(await db.selectFrom('user_access').selectAll().where('user_id', '=', bob.user.id).execute()).toEqual([]);
    }
  });
});

test('nothing of this was a bug', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});
