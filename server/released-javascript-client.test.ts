/**
 * What the released JavaScript client sends, word for word, and what it then reads. It has no tests of ours and is not installed here; its requests
 * are few, and written down.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { deploySample } from './testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from './testing/platform.ts';
import { sampleEnvironment, sampleMember } from './testing/samples.ts';

let home: TestPlatform;
let owner: Person;
let guest: string;
let organization_id: string;
let project: string;
let environment: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  const sample = await sampleEnvironment(owner);
  ({ organization_id, projectId: project } = sample);
  environment = `/projects/${project}/environments/${encodeURIComponent(sample.environmentId)}`;
  await deploySample(home.platform, sample);
  guest = await sampleMember(owner, organization_id);
  const permissions = ['viewer', 'staging:contributor'];
  await owner.send('POST', `/projects/${project}/user-access`, [{ user_id: guest, permissions }]);
});

/** The client parses an error only where its content type is exactly this one; else it sees a text without a `code`. */
test('setVariable finds out that there is no such variable yet', async () => {
  const absent = await owner.send('GET', `${environment}/variables/env:COLOUR`);
  expect([absent.headers['content-type'], absent.json.code]).toEqual(['application/json', 404]);
  const variable = { name: 'env:COLOUR', value: 'red', is_json: false };
  const { status, headers } = await owner.send('POST', `${environment}/variables`, variable);
  expect([status, headers['content-type']]).toEqual([201, 'application/json']);
});

test('getProjects lists the projects that one is in, each with its address', async () => {
  const { json } = await owner.send('GET', '/me');
  expect(json.projects).toMatchObject([
    { id: project, title: 'Sample', status: 'active', subscription_id: expect.any(Number), organization_id },
  ]);
  const { pathname } = new URL(json.projects[0].endpoint);
  expect((await owner.send('GET', pathname)).json).toMatchObject({ id: project });
  const stranger = await home.person();
  expect((await stranger.send('GET', '/me')).json.projects).toEqual([]);
});

test('createInvitationWithEnvironmentTypes names the project a second time', async () => {
  const email = 'grace@example.org';
  const permissions = [{ type: 'development', role: 'contributor' }];
  const body = { email, projectId: project, permissions, role: 'viewer', force: false, environments: [] };
  expect((await owner.send('POST', `/projects/${project}/invitations`, body)).status).toBe(201);
});

describe('people of a project', () => {
  test('are listed with their role in the project', async () => {
    const { json: shown } = await owner.send('GET', `/projects/${project}`);
    const { json } = await owner.send('GET', shown._links['#access'].href);
    expect(json).toMatchObject([{ id: guest, user: guest, role: 'viewer', _embedded: { users: [{ id: guest }] } }]);
  });

  test('and with their role in each type of environment', async () => {
    const { json: types } = await owner.send('GET', `/projects/${project}/environment-types`);
    const roles: Record<string, string[]> = {};
    for (const { id, _links } of types)
      roles[id] = (await owner.send('GET', _links['#access'].href)).json.map(({ role }: { role: string }) => role);
    expect(roles).toEqual({ development: [], staging: ['contributor'], production: [] });
  });
});

describe('what is asked for without naming an organization', () => {
  test('getSubscriptions, narrowed in the older way', async () => {
    const list = async (status: string) =>
      (await owner.send('GET', `/subscriptions?filter[status][value][]=${status}&filter[status][operator]=IN&all=1`)).json.subscriptions;
    expect(await list('active')).toMatchObject([{ project_id: project, status: 'active' }]);
    expect(await list('suspended')).toEqual([]);
    const [{ id }] = await list('active');
    expect((await owner.send('GET', `/subscriptions/${id}`)).json).toMatchObject({ id, project_id: project });
    const stranger = await home.person();
    expect((await stranger.send('GET', `/subscriptions/${id}`)).status).toBe(404);
    expect((await stranger.send('GET', '/subscriptions')).json.subscriptions).toEqual([]);
  });

  test('getUserByUsername', async () => {
    const { username, id } = owner.user;
    expect((await owner.send('GET', `/profiles?filter[username]=${username}`)).json.profiles).toMatchObject([{ id, username }]);
    expect((await owner.send('GET', '/profiles?filter[username]=nobody')).json.profiles).toEqual([]);
  });

  test('getOrganizationRegions', async () => {
    const { json } = await owner.send('GET', `/organizations/${organization_id}/regions`);
    expect(json.items).toMatchObject([{ id: home.platform.config.region.id, available: true }]);
  });

  test('getTopology', async () => {
    const { json } = await owner.send('GET', `${environment}/deployments/current/topology`);
    expect(json).toMatchObject({ id: 'current', services: { shop: { type: expect.any(String) }, db: { type: expect.any(String) } } });
  });
});
