import { beforeAll, describe, expect, test } from 'vitest';
import { signedReference } from '../../kernel/hal.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { absentAddress, sampleOrganization, sampleProject, sampleTeam } from '../../testing/samples.ts';

let home: TestPlatform;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  [owner, stranger] = [await home.person({ first_name: 'Ada', last_name: 'Lovelace' }), await home.person()];
});

const link = (set: string, ...ids: string[]) => signedReference(set, ids, owner.user, home.platform.secrets);
const absent = (name: string) => absentAddress[name] ?? '';

describe('a signed link', () => {
  test('answers by id, and null for what is gone, to whoever was given it', async () => {
    const { status, json } = await owner.send('GET', link('users', owner.user.id, absent('user_id')));
    expect(status).toBe(200);
    expect(json).toEqual({
      [owner.user.id]: {
        id: owner.user.id,
        username: owner.user.username,
        email: owner.user.email,
        first_name: 'Ada',
        last_name: 'Lovelace',
        mfa_enabled: false,
        sso_enabled: false,
      },
      [absent('user_id')]: null,
    });
  });

  test('is refused when anything about it was changed', async () => {
    const good = link('users', owner.user.id);
    const forged = [
      good.replace(owner.user.id, stranger.user.id),
      good.replace('/ref/users', '/ref/teams'),
      `${good}x`,
      good.replace('?in=', `?in=${stranger.user.id},`),
      `${good}&in=${stranger.user.id}`,
    ];
    for (const href of forged) {
      expect(await owner.send('GET', href)).toMatchObject({ status: 400, json: { error: expect.any(String) } });
    }
    expect(await owner.send('GET', '/ref/users')).toMatchObject({
      status: 400,
      json: { detail: { in: 'is required', sig: 'is required' } },
    });
    expect((await home.send({ method: 'GET', url: good })).status).toBe(401);
    expect((await stranger.send('GET', good)).status).toBe(400);
  });

  test('works however the client encodes the commas', async () => {
    const good = link('users', owner.user.id, stranger.user.id);
    expect((await owner.send('GET', good.replace(',', '%2C'))).json).toEqual((await owner.send('GET', good)).json);
  });
});

test('teams, organizations, projects and regions have their short forms', async () => {
  const { team_id, organization_id } = await sampleTeam(owner);
  const { project_id } = await sampleProject(owner, organization_id);
  const region = home.platform.config.region.id;
  const shortTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const read = async (set: string, id: string) => (await owner.send('GET', link(set, id, 'gone'))).json;

  const team = (await owner.send('GET', `/teams/${team_id}`)).json;
  expect(await read('teams', team_id)).toEqual({ [team_id]: { ...team, _links: undefined }, gone: null });
  expect(await read('organizations', organization_id)).toEqual({
    [organization_id]: {
      id: organization_id,
      type: 'flexible',
      owner_id: owner.user.id,
      name: expect.any(String),
      label: 'Sample',
      vendor: 'offshoot',
      created_at: shortTime,
      updated_at: shortTime,
    },
    gone: null,
  });
  expect(await read('projects', project_id)).toEqual({
    [project_id]: {
      id: project_id,
      organization_id,
      subscription_id: expect.stringMatching(/^\d+$/),
      region,
      title: 'Sample',
      type: 'grid',
      plan: 'flexible',
      status: 'active',
      vendor: 'offshoot',
      invoiced: false,
      created_at: shortTime,
      updated_at: shortTime,
    },
    gone: null,
  });
  expect(await read('regions', region)).toMatchObject({
    [region]: {
      id: region,
      envimpact: { carbon_intensity: 480, carbon_intensity_source: 'world average', green: false },
      environmental_impact: { carbon_intensity: '480' },
      compliance: { hipaa: false },
      created_at: shortTime,
    },
    gone: null,
  });
});

test('a deleted organization is gone for those who remember it', async () => {
  const { organization_id } = await sampleOrganization(owner);
  await owner.send('DELETE', `/organizations/${organization_id}`);
  expect((await owner.send('GET', link('organizations', organization_id))).json).toEqual({ [organization_id]: null });
});
