import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { makeDiscount } from '../../../cli/discount.ts';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { setPriceList } from '../../../cli/prices.ts';
import { changeQuota } from '../../../cli/quota.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { acceptInvitation } from '../invitations/work.ts';
import { audit } from './room.ts';

let home: TestPlatform;
let ada: Person;
let organization: string;

beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person();
  organization = (await ada.send('POST', '/organizations', { label: 'Engines' })).json.id;
});

const recordsFor = async (person: Person, query = '') =>
  (await person.send('GET', `/organizations/${organization}/audit?sort=-created_at&page[size]=100${query}`)).json.items;
const newest = async () => (await recordsFor(ada))[0];

test('what was changed is recorded: by whom, what, whom it concerns and from where, and nothing of what was sent', async () => {
  const bob = await home.person();
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: bob.user.id, permissions: ['billing'] });
  expect(await newest()).toMatchObject({
    operation: 'postMember',
    kind: 'organization member',
    summary: 'Add a user to an organization',
    user: { id: ada.user.id },
    subject: { id: bob.user.id },
    target: `/organizations/${organization}/members/${bob.user.id}`,
    address: '127.0.0.1',
    project_id: null,
  });
  await ada.send('PATCH', `/organizations/${organization}/members/${bob.user.id}`, { permissions: ['members'] });
  expect(await newest()).toMatchObject({ operation: 'updateMember', subject: { id: bob.user.id } });

  const { json: team } = await ada.send('POST', '/teams', { organization_id: organization, label: 'Secret label' });
  expect(await newest()).toMatchObject({ operation: 'createTeam', kind: 'team', target: `/teams/${team.id}` });
  const records = await recordsFor(ada);
  expect(JSON.stringify(records)).not.toContain('Secret label');
  expect(records.at(-1)).toMatchObject({ operation: 'postOrganization', kind: 'organization', target: `/organizations/${organization}` });
  expect(await ada.send('GET', records[0]._links.self.href)).toMatchObject({ status: 200, json: { id: records[0].id } });
});

test('letting a person into several projects, from the person, leaves a record for each of them', async () => {
  const bob = await home.person();
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: bob.user.id });
  const projects = [(await sampleProject(ada, organization)).project_id, (await sampleProject(ada, organization)).project_id];
  const grants = projects.map((project_id) => ({ project_id, permissions: ['viewer'] }));
  expect((await ada.send('POST', `/users/${bob.user.id}/project-access`, grants)).status).toBe(204);
  for (const project_id of projects)
    expect(await recordsFor(ada, `&filter[project_id]=${project_id}&filter[operation]=grantUserProjectAccess`)).toMatchObject([
      { kind: 'project access', user: { id: ada.user.id }, subject: { id: bob.user.id }, address: '127.0.0.1' },
    ]);
  expect((await ada.send('POST', `/users/${bob.user.id}/project-access`, grants)).status).toBe(409);
  expect(await recordsFor(ada, '&filter[operation]=grantUserProjectAccess')).toHaveLength(2);
});

test('what is refused, and what is only read, leaves no record', async () => {
  const before = (await recordsFor(ada)).length;
  const members = `/organizations/${organization}/members`;
  const bob = await home.person();
  await ada.send('POST', members, { user_id: bob.user.id });
  const refused = [
    await ada.send('POST', members, { user_id: bob.user.id }),
    await ada.send('POST', members, { user_id: 'nobody' }),
    await bob.send('PATCH', `/organizations/${organization}`, { label: 'Mine' }),
    await ada.send('DELETE', `${members}/${ada.user.id}`),
    await ada.send('PATCH', `/organizations/${organization}`, { name: '!' }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([409, 400, 403, 409, 400]);
  await ada.send('GET', members);
  await ada.send('POST', '/me/verification');
  expect(await recordsFor(ada)).toHaveLength(before + 1);
});

test('a record is kept exactly when its change is: what is rolled back with the change was never done', async () => {
  const before = (await recordsFor(ada)).length;
  const name = `a${organization.toLowerCase().slice(0, 20)}`;
  const other = (await ada.send('POST', '/organizations', { label: 'Other', name })).json;
  expect((await ada.send('PATCH', `/organizations/${organization}`, { name: other.name })).status).toBe(409);
  expect(await recordsFor(ada)).toHaveLength(before);
  await ada.send('DELETE', `/organizations/${other.id}`);
  const { rows } = await sql<{
    operation: string;
  }>`select operation from audit where organization_id = ${other.id} order by created_at`.execute(home.platform.db);
  expect(rows.map(({ operation }) => operation)).toEqual(['postOrganization', 'removeOrganization']);
});

test('a change whose record cannot be written is not made', async () => {
  const bob = await home.person();
  const at = `/organizations/${organization}/members/${bob.user.id}`;
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: bob.user.id });
  await sql`alter table audit add constraint no_room check (operation <> 'deleteMember') not valid`.execute(home.platform.db);
  expect((await ada.send('DELETE', at)).status).toBe(500);
  expect((await ada.send('GET', at)).status).toBe(200);
  await sql`alter table audit drop constraint no_room`.execute(home.platform.db);
  expect((await ada.send('DELETE', at)).status).toBe(204);
});

test('what begins an activity is told in the words of the activity, and leads to it', async () => {
  const { project_id } = await sampleProject(ada, organization);
  const { json } = await ada.send('POST', `/projects/${project_id}/variables`, { name: 'env:SECRET_NAME', value: 'a-secret-value' });
  const [activity] = json._embedded.activities;
  const [record] = await recordsFor(ada, `&filter[project_id]=${project_id}`);
  expect(record).toMatchObject({ operation: expect.any(String), project_id, activity_id: activity.id, kind: 'project variable' });
  expect(record.summary).toMatch(/variable env:SECRET_NAME/);
  expect(JSON.stringify(record)).not.toContain('a-secret-value');
});

test('administrators also see how members who accepted an invitation changed the way they sign in, but not from where, nor what they did before', async () => {
  const grace = await home.person();
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: grace.user.id });
  await grace.send('POST', `/users/${grace.user.id}/api-tokens`, { name: 'Before' });
  // Somebody who was added by others, unasked, is not watched.
  expect(await recordsFor(ada, `&filter[user_id]=${grace.user.id}`)).toEqual([]);
  await acceptedBy(grace);
  const { json: token } = await grace.send('POST', `/users/${grace.user.id}/api-tokens`, { name: 'After' });
  await grace.send('PATCH', `/profiles/${grace.user.id}/address`, { country: 'NL' });
  const records = await recordsFor(ada, `&filter[user_id]=${grace.user.id}&filter[kind]=API token`);
  expect(records).toMatchObject([{ kind: 'API token', target: `/users/${grace.user.id}/api-tokens/${token.id}`, address: '' }]);
});

/** A member can be invited to a project, and accept. */
async function acceptedBy({ user }: Person) {
  const { projectId } = await sampleProject(ada, organization);
  const asked = { email: user.email, permissions: [{ type: 'staging', role: 'viewer' }] };
  expect((await ada.send('POST', `/projects/${projectId}/invitations`, asked)).status).toBe(201);
  const token = /accept-invitation\?token=([\w-]+)/.exec((await home.mail(user.email)).at(-1)?.text ?? '')?.[1] ?? '';
  await acceptInvitation(home.platform.db, token, () => Promise.resolve(user.id));
}

test('only administrators of the organization and operators look; people of other organizations find nothing', async () => {
  const path = `/organizations/${organization}/audit`;
  const [member, admin, stranger] = [await home.person(), await home.person(), await home.person()];
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: member.user.id, permissions: ['members', 'billing'] });
  await ada.send('POST', `/organizations/${organization}/members`, { user_id: admin.user.id, permissions: ['admin'] });
  const own = (await stranger.send('POST', '/organizations', { label: 'Elsewhere' })).json.id;
  const statuses = [await member.send('GET', path), await admin.send('GET', path), await stranger.send('GET', path)];
  expect(statuses.map(({ status }) => status)).toEqual([403, 200, 404]);
  const theirs = (await stranger.send('GET', `/organizations/${own}/audit`)).json.items;
  expect(theirs).toMatchObject([{ operation: 'postOrganization', organization_id: own }]);
  const [one] = await recordsFor(ada);
  expect((await stranger.send('GET', `/organizations/${own}/audit/${one.id}`)).status).toBe(404);
});

test('records are filtered by person, kind, project and time, and read page by page', async () => {
  const kinds = new Set((await recordsFor(ada, '&filter[kind]=team')).map(({ kind }: { kind: string }) => kind));
  expect([...kinds]).toEqual(['team']);
  expect(await recordsFor(ada, '&filter[created_at][gt]=2100-01-01T00:00:00Z')).toEqual([]);
  expect(await recordsFor(ada, '&filter[project_id]=absent')).toEqual([]);
  const all = await recordsFor(ada);
  const first = (await ada.send('GET', `/organizations/${organization}/audit?sort=-created_at&page[size]=3`)).json;
  const second = (await ada.send('GET', first._links.next.href)).json;
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(all.slice(0, 6).map(({ id }: { id: string }) => id));
  expect(first.count).toBe(all.length);
});

test('what is older than 400 days is forgotten', async () => {
  const [one] = await recordsFor(ada);
  await sql`update audit set created_at = now() - interval '401 days' where id = ${one.id}`.execute(home.platform.db);
  for (const reconciler of audit.reconcilers ?? []) await reconciler.run(home.platform, new AbortController().signal);
  const left = (await recordsFor(ada)).map(({ id }: { id: string }) => id);
  expect(left).not.toContain(one.id);
  expect(left.length).toBeGreaterThan(3);
});

test('what the operator does at the machine is recorded for the organizations that it concerns, and what fails is not', async () => {
  const { db } = home.platform;
  const { name } = (await ada.send('GET', `/organizations/${organization}`)).json;
  const operator = { id: '00000000-0000-0000-0000-000000000000', display_name: 'The operator at the machine' };
  await setPriceList(db, 'currency: EUR\nfrom: 2099-01-01\n');
  expect(await newest()).toMatchObject({
    operation: 'prices set',
    user: operator,
    summary: 'Set prices in EUR, effective from 2099-01-01',
  });
  await notePrepayment(db, [name, '20']);
  expect(await newest()).toMatchObject({ operation: 'prepayment', summary: 'Note a prepayment of €20.00', address: '' });
  await makeDiscount(db, [name, 'startup', '5'], Date.now());
  await changeQuota(db, ['organization', name, 'projects=3']);
  const before = await recordsFor(ada, `&filter[user_id]=${operator.id}`);
  expect(before.map(({ operation }: { operation: string }) => operation)).toEqual([
    'quota set',
    'discount create',
    'prepayment',
    'prices set',
  ]);
  await expect(notePrepayment(db, [name, 'much'])).rejects.toThrow('is no amount');
  await expect(makeDiscount(db, ['nobody', 'startup', '5'], Date.now())).rejects.toThrow('There is no organization');
  expect(await recordsFor(ada, `&filter[user_id]=${operator.id}`)).toHaveLength(before.length);
});
