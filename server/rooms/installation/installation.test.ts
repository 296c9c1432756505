/** What operators see and change of the installation over HTTP, and that nobody else does. */
import { beforeAll, describe, expect, test } from 'vitest';
import { startReconcilers } from '../../kernel/reconciler.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleInstallation, sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { recordMail } from '../deliveries/public.ts';

let home: TestPlatform;
let operator: Person;
let owner: Person;
let organization_id: string;

beforeAll(async () => {
  home = await openTestPlatform();
  operator = await home.person({ is_operator: true });
  await sampleInstallation(operator);
  owner = await home.person();
  ({ organization_id } = await sampleOrganization(owner));
});

const get = async (path: string) => {
  const { status, json } = await operator.send('GET', path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return json;
};

describe('the installation', () => {
  test('is linked from the account of an operator, leads to all the rest, and is not there for anybody else', async () => {
    const me = await get('/users/me');
    const installation = await get(me._links.installation.href);
    expect(installation).toMatchObject({
      users: expect.any(Number),
      organizations: expect.any(Number),
      domain: home.platform.config.domain,
    });
    const rels = ['resources', 'health', 'organizations', 'users', 'images', 'sign-ins', 'ssh-sessions'];
    for (const rel of rels) await get(installation._links[rel].href);

    expect((await owner.send('GET', '/users/me')).json._links).not.toHaveProperty('installation');
    for (const path of ['/installation', ...rels.map((rel) => installation._links[rel].href)])
      expect([path, (await owner.send('GET', path)).status]).toEqual([path, 404]);
    expect((await owner.send('PATCH', '/installation/default-quota', { projects: 1 })).status).toBe(404);
    expect((await owner.send('PATCH', `/installation/organizations/${organization_id}`, { projects: 1 })).status).toBe(404);
  });

  test('asks operators who have a second factor for it', async () => {
    const [weak, strong] = [await home.person({ is_operator: true }), await home.person({ is_operator: true, strong: true })];
    const ids = [weak.user.id, strong.user.id];
    await home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', 'in', ids).execute();
    for (const path of ['/installation', '/installation/users', '/installation/sign-ins'])
      expect(await weak.send('GET', path)).toMatchObject({
        status: 401,
        json: { error: 'insufficient_user_authentication', amr: ['mfa'] },
      });
    expect((await weak.send('PATCH', '/installation/default-quota', {})).status).toBe(401);
    expect((await strong.send('GET', '/installation')).status).toBe(200);
    expect((await weak.send('GET', '/users/me')).status).toBe(200);
  });

  test('tells what the machine has, how much of it may be given out, and what is', async () => {
    const { cpu, memory, environments } = await get('/installation/resources');
    expect(cpu).toMatchObject({ overcommit: home.platform.config.overcommit.cpu, given: expect.any(Number) });
    expect(cpu.there).toBeGreaterThan(0);
    expect(memory.there).toBeGreaterThan(100);
    expect(environments).toEqual({ running: expect.any(Number), paused: expect.any(Number), sleeping: expect.any(Number) });
  });
});

describe('health', () => {
  test('tells what the machine lacks with its remedy, what waits, and when the installation was last proven to be restorable', async () => {
    const { platform } = home;
    const { organization_id: busy } = await sampleOrganization(await home.person());
    await operator.send('POST', `/organizations/${busy}/projects`, { region: platform.config.region.id, title: 'Waits' });
    await platform.db.transaction().execute((tx) => recordMail(tx, platform, { to: 'ada@example.org', subject: 'Hello', text: 'Hello' }));
    await platform.db.updateTable('installation').set({ backed_up_at: '2026-01-31T12:00:00Z' }).execute();

    const health = await get('/installation/health');
    expect(health.findings).toContainEqual(expect.objectContaining({ what: 'git', need: 'platform', is_ok: true, remedy: null }));
    for (const { is_ok, remedy, found } of health.findings) {
      expect(found).not.toBe('');
      expect(remedy === null).toBe(is_ok);
    }
    expect(health.activities).toContainEqual(
      expect.objectContaining({ state: 'pending', count: 1, oldest_waiting_seconds: expect.any(Number) }),
    );
    expect(health.deliveries).toContainEqual({ kind: 'mail', count: 1, oldest_waiting_seconds: expect.any(Number) });
    expect(health.backups).toMatchObject({ verified_at: '2026-01-31T12:00:00.000Z', is_overdue: true, restorable: 0, damaged: 0 });
    expect(health.backups.places).toEqual([expect.objectContaining({ address: expect.any(String), problem: null })]);
  });

  test('knows of reconcilers of this process whether they come to their end', async () => {
    const done = Promise.withResolvers<void>();
    const working = { name: 'works', everySeconds: 600, run: async () => done.resolve() };
    const failing = { name: 'fails', everySeconds: 600, run: () => Promise.reject(new Error('no')) };
    const reconcilers = startReconcilers([failing, working], home.platform);
    await done.promise;
    await reconcilers.close();
    const { reconcilers: seen } = await get('/installation/health');
    expect(seen).toContainEqual({ name: 'works', runs: 1, failures: 0, succeeded_at: expect.any(String) });
    expect(seen).toContainEqual({ name: 'fails', runs: 1, failures: 1, succeeded_at: null });
  });
});

describe('a quota', () => {
  test('of an organization is changed over the API and holds at once; what is not named stays, and null is no limit', async () => {
    const at = `/installation/organizations/${organization_id}`;
    const before = await get(at);
    expect(before).toMatchObject({ id: organization_id, owner_email: owner.user.email, has_own_quota: false, used: { projects: 0 } });
    expect(before._links.update).toMatchObject({ href: at, method: 'PATCH' });
    const changed = await operator.send('PATCH', at, { projects: 1, cpu: 0.5 });
    expect(changed).toMatchObject({ status: 200, json: { has_own_quota: true, projects: 1, cpu: 0.5, environments: before.environments } });

    await sampleProject(owner, organization_id);
    expect((await get(at)).used.projects).toBe(1);
    const region = home.platform.config.region.id;
    const another = () => owner.send('POST', `/organizations/${organization_id}/projects`, { region, title: 'Another' });
    expect(await another()).toMatchObject({ status: 402 });
    expect(await operator.send('PATCH', at, { projects: null })).toMatchObject({ status: 200, json: { projects: null, cpu: 0.5 } });
    expect((await another()).status).toBe(201);
    expect(await operator.send('PATCH', at, { projects: -1, memory: 1.5, builds: 0, cars: 1 })).toMatchObject({
      status: 400,
      json: { detail: { projects: expect.any(String), memory: expect.any(String), builds: expect.any(String), cars: expect.any(String) } },
    });
  });

  test('by default holds for all who have none of their own, and the list tells what everybody may have', async () => {
    const { organization_id: other } = await sampleOrganization(owner);
    expect(await operator.send('PATCH', '/installation/default-quota', { projects: 7 })).toMatchObject({
      status: 200,
      json: { default_quota: { projects: 7 } },
    });
    const { items, count } = await get('/installation/organizations?page[size]=100');
    expect(count).toBe(items.length);
    const quotaOf = (id: string) => items.find((each: { id: string }) => each.id === id)?.projects;
    expect([quotaOf(other), quotaOf(organization_id)]).toEqual([7, null]);
    const found = await get(`/installation/organizations?filter[owner_email][contains]=${encodeURIComponent(owner.user.email)}`);
    expect(found.count).toBeGreaterThan(1);
  });
});

test('users are listed with whether they are operators and where they are signed in', async () => {
  const { items } = await get(`/installation/users?filter[email]=${encodeURIComponent(owner.user.email)}`);
  expect(items).toMatchObject([{ id: owner.user.id, is_operator: false, organizations: 2 }]);
  await get(items[0]._links['sign-ins'].href);
  expect((await get(`/installation/users/${operator.user.id}`)).is_operator).toBe(true);
});

test('newer images are asked for once until the update is over', async () => {
  expect((await get('/installation/images')).types.length).toBeGreaterThan(10);
  const asked = await operator.send('POST', '/installation/images/update');
  expect(asked).toMatchObject({ status: 200, json: { image_update_asked_at: expect.any(String) } });
  expect(asked.json._links).not.toHaveProperty('update-images');
  expect(asked.json._not_now).toEqual({ 'update-images': 'An update of the images was asked for already, and is not over yet.' });
  expect((await operator.send('POST', '/installation/images/update')).status).toBe(409);
  expect((await get('/installation/images')).update_asked_at).toBe(asked.json.image_update_asked_at);
});
