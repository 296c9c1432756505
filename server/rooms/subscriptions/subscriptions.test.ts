import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { changeQuota, quotaLines } from '../../../cli/quota.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleOrganization } from '../../testing/samples.ts';
import { giveUpAbandonedCreations } from './reconcilers.ts';

let home: TestPlatform;
let owner: Person;
let organization_id: string;
let region: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person({ first_name: 'Ada', last_name: 'Lovelace', strong: true });
  ({ organization_id } = await sampleOrganization(owner));
  region = home.platform.config.region.id;
});

const work = () => workThrough(home.platform);
const at = (path: string) => `/organizations/${organization_id}${path}`;

/** Asked for, and not made yet. */
async function askForProject(more: object = {}) {
  const { json } = await owner.send('POST', at('/subscriptions'), { project_region: region, project_title: 'Shop', ...more });
  return { id: String(json.project_id), subscription_id: String(json.id) };
}

async function createdProject(more: object = {}) {
  const project = await askForProject(more);
  await work();
  return project;
}

const creationOf = (projectId: string) =>
  home.platform.db
    .selectFrom('activities')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('type', '=', 'project.create')
    .executeTakeFirstOrThrow();

describe('creating a project', () => {
  test('goes as the released command-line client does it', async () => {
    const { json: organization } = await owner.send('GET', at(''));
    const byName = `/organizations/name%3D${organization.name}`;
    expect((await owner.send('GET', byName)).json._links['create-subscription'].href).toBe(at('/subscriptions'));
    expect((await owner.send('GET', `${byName}/subscriptions/can-create`)).json).toEqual({
      can_create: true,
      message: '',
      required_action: null,
    });
    expect((await owner.send('GET', `${byName}/setup/options`)).json).toMatchObject({ plans: ['flexible'], regions: [region] });
    expect((await owner.send('GET', '/regions')).json.regions[0]).toMatchObject({ id: region, available: true });
    const query = 'plan=flexible&storage=5120&environments=3&user_licenses=1';
    expect((await owner.send('GET', `${byName}/subscriptions/estimate?${query}`)).json).toMatchObject({ total: '0.00' });

    const asked = await owner.send('POST', at('/subscriptions'), {
      organization_id,
      project_title: 'Shop',
      project_region: region,
      default_branch: 'main',
      plan: 'flexible',
      storage: 5120,
      environments: 3,
      options_custom: null,
      options_url: null,
    });
    expect(asked).toMatchObject({
      status: 201,
      json: { status: 'requested', project_title: 'Shop', project_region: region, storage: 5120 },
    });
    const { id, project_id } = asked.json;
    const poll = () => owner.send('GET', at(`/subscriptions/${id}`));
    expect((await poll()).json).toMatchObject({ status: 'requested', _links: { self: { href: at(`/subscriptions/${id}`) } } });
    await work();
    expect((await poll()).json).toMatchObject({
      status: 'active',
      project_id,
      owner: owner.user.id,
      owner_info: { display_name: 'Ada Lovelace' },
    });

    const { status, json: project } = await owner.send('GET', `/projects/${project_id}`);
    expect(status).toBe(200);
    expect(project).toMatchObject({
      id: project_id,
      title: 'Shop',
      description: '',
      attributes: {},
      owner: owner.user.id,
      namespace: null,
      organization: organization_id,
      default_branch: 'main',
      default_domain: null,
      status: { code: 'provisioned', message: 'ok' },
      region,
      timezone: 'UTC',
      maintenance: null,
      created_at: expect.stringMatching(/\.\d{6}\+00:00$/),
      repository: {
        url: `${project_id}@git.${home.platform.config.domain}:${project_id}.git`,
        client_ssh_key: expect.stringMatching(/^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5[A-Za-z0-9+/=]+ /),
      },
      subscription: { environments: 3, storage: 5120, license_uri: expect.stringMatching(new RegExp(`/${id}$`)) },
    });
    expect(Object.keys(project._links)).toEqual(
      expect.arrayContaining(['self', 'environments', '#activities', 'capabilities', 'settings', '#edit', '#delete']),
    );
    expect((await owner.send('GET', project._links.environments.href)).json).toMatchObject([
      { id: 'main', title: 'Main', type: 'production', has_code: false },
    ]);
    expect((await owner.send('GET', `${project._links['#activities'].href}?count=10`)).json).toMatchObject([
      {
        type: 'project.create',
        state: 'complete',
        result: 'success',
        completion_percent: 100,
        text: 'Ada Lovelace created a new project **Shop**',
        payload: { user: { id: owner.user.id }, outcome: { title: 'Shop' } },
      },
    ]);
    expect(await home.platform.git.exists(project_id)).toBe(true);

    const listed = await owner.send('GET', `/users/${owner.user.id}/extended-access?filter[resource_type]=project`);
    expect(listed.json.items).toContainEqual(expect.objectContaining({ resource_id: project_id, permissions: ['admin'] }));
    const references = await owner.send('GET', listed.json._links['ref:projects:0'].href);
    expect(references.json[project_id]).toMatchObject({ subscription_id: id, title: 'Shop', status: 'active', vendor: 'offshoot', region });
  });

  test('goes through the projects of an organization, too, and ends up the same', async () => {
    const { status, json } = await owner.send('POST', at('/projects'), {
      region,
      title: 'Blog',
      default_branch: 'trunk',
      plan: 'development',
    });
    expect({ status, json }).toMatchObject({
      status: 201,
      json: { status: 'requested', organization_id, title: 'Blog', type: 'grid', default_branch: 'trunk' },
    });
    await work();
    expect((await owner.send('GET', at(`/projects/${json.id}`))).json).toMatchObject({
      status: 'active',
      plan: 'development',
      trial_plan: false,
    });
    expect((await owner.send('GET', at(`/subscriptions/${json.subscription_id}`))).json).toMatchObject({
      project_id: json.id,
      status: 'active',
    });
    expect((await owner.send('GET', `/projects/${json.id}/environments`)).json).toMatchObject([
      { id: 'trunk', type: 'production', is_main: true },
    ]);
  });

  test('names everything that is wrong with it', async () => {
    const shape = await owner.send('POST', at('/subscriptions'), {
      project_title: '',
      plan: 'gold',
      storage: 1000,
      environments: 0,
      surprise: 1,
    });
    expect(Object.keys(shape.json.detail).sort()).toEqual([
      'environments',
      'plan',
      'project_region',
      'project_title',
      'storage',
      'surprise',
    ]);
    const sense = await owner.send('POST', at('/subscriptions'), {
      project_region: 'mars',
      default_branch: '--upload-pack=x',
      options_url: 'http://169.254.169.254/',
      organization_id: '00000000000000000000000000',
    });
    expect(sense).toMatchObject({
      status: 400,
      json: { detail: { project_region: `must be ${region}, the region of this installation` } },
    });
    expect(Object.keys(sense.json.detail).sort()).toEqual(['default_branch', 'options_url', 'organization_id', 'project_region']);
    expect((await owner.send('POST', at('/projects'), { region, type: 'dedicated' })).json.detail).toHaveProperty('type');
  });

  test('fetches the code of a repository that was named, and is not undone when that fails', async () => {
    const { id } = await createdProject({ options_custom: { initialize: { profile: 'Mine', repository: 'http://127.0.0.1:9/mine.git' } } });
    expect((await owner.send('GET', `/projects/${id}`)).json.status.code).toBe('provisioned');
    expect((await owner.send('GET', `/projects/${id}/activities?type=environment.initialize`)).json).toMatchObject([
      { environments: ['main'], state: 'complete', result: 'failure' },
    ]);
  });

  test.for([
    'https://ada:hunter2@example.org/mine.git',
    'https://hunter2@example.org/mine.git',
    'https:ada:hunter2@example.org/mine.git',
    'https://ada:hunter2@example.org:99999/mine.git',
    'https://ada:hun/ter2@example.org/mine.git',
    'https://example.org/mine.git?token=hunter2',
    'ssh://git:hunter2@example.org/mine.git',
  ])('is not begun with %s: nothing may be kept that opens a private repository', async (address) => {
    const ids = () => home.platform.db.selectFrom('projects').select('id').orderBy('id').execute();
    const before = await ids();
    const initialize = { profile: 'Mine', repository: address, config: address };
    const reply = await owner.send('POST', at('/subscriptions'), { project_region: region, options_custom: { initialize } });
    expect(reply.status).toBe(400);
    expect(Object.keys(reply.json.detail)).toEqual(['options_custom.initialize.repository', 'options_custom.initialize.config']);
    expect(reply.text).not.toContain('hunter2');
    expect(await ids()).toEqual(before);
  });

  test('is for those who may, and makes them its administrators', async () => {
    const [maker, member] = [await home.person(), await home.person()];
    await owner.send('POST', at('/members'), { user_id: maker.user.id, permissions: ['projects:create'] });
    await owner.send('POST', at('/members'), { user_id: member.user.id, permissions: [] });
    expect((await member.send('GET', at('/subscriptions/can-create'))).json).toMatchObject({
      can_create: false,
      message: expect.stringContaining('projects:create'),
    });
    expect((await member.send('POST', at('/subscriptions'), { project_region: region })).status).toBe(403);

    const { json, status } = await maker.send('POST', at('/subscriptions'), { project_region: region });
    expect(status).toBe(201);
    expect(json._links).toHaveProperty('delete');
    expect((await maker.send('GET', at(`/subscriptions/${json.id}`))).json.project_title).toBe('Untitled project');
    expect((await maker.send('GET', `/projects/${json.project_id}/user-access/${maker.user.id}`)).json.permissions).toEqual(['admin']);
    expect((await member.send('GET', at(`/subscriptions/${json.id}`))).status).toBe(404);
    expect((await maker.send('GET', at('/subscriptions'))).status).toBe(403);
  });

  test('is refused where the operator allows the organization no more, with the limit', async () => {
    const of = await sampleOrganization(owner);
    const { db } = home.platform;
    const { name } = (await owner.send('GET', `/organizations/${of.organization_id}`)).json;
    const ask = () =>
      owner.send('POST', `/organizations/${of.organization_id}/subscriptions`, { project_region: region, project_title: 'Shop' });
    const canCreate = async () => (await owner.send('GET', `/organizations/${of.organization_id}/subscriptions/can-create`)).json;
    await changeQuota(db, ['organization', name, 'projects=1']);
    const both = await Promise.all([ask(), ask()]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 402]);
    const full = `The organization ${name} would exceed its quota. projects: it has 1, and 1 are allowed.`;
    expect((await ask()).json.message).toContain(full);
    expect(await canCreate()).toMatchObject({ can_create: false, message: expect.stringContaining(full) });
    const direct = await owner.send('POST', `/organizations/${of.organization_id}/projects`, { region, title: 'Shop' });
    expect(direct).toMatchObject({ status: 402, json: { message: expect.stringContaining(full) } });
    await changeQuota(db, ['organization', name, 'projects=none', 'environments=0']);
    expect((await ask()).json.message).toContain('environments: it has 0, and 0 are allowed');
    await changeQuota(db, ['organization', name, 'environments=none']);
    expect([(await canCreate()).can_create, (await ask()).status]).toEqual([true, 201]);
  });

  test('the contract and the project tell the same number of environments, and no more than the quota', async () => {
    const { db } = home.platform;
    const of = await sampleOrganization(owner);
    const at = (path: string) => `/organizations/${of.organization_id}/${path}`;
    const { name } = (await owner.send('GET', `/organizations/${of.organization_id}`)).json;
    const { json: asked } = await owner.send('POST', at('subscriptions'), { project_region: region, project_title: 'Shop' });
    const told = async () => [
      (await owner.send('GET', at(`subscriptions/${asked.id}`))).json.environments,
      (await owner.send('GET', `/projects/${asked.project_id}`)).json.subscription.environments,
    ];
    expect(await told()).toEqual([500, 500]);
    await changeQuota(db, ['organization', name, 'environments=7']);
    expect(await told()).toEqual([7, 7]);
    await owner.send('PATCH', at(`subscriptions/${asked.id}`), { environments: 3 });
    expect(await told()).toEqual([3, 3]);
    await owner.send('PATCH', at(`subscriptions/${asked.id}`), { environments: 9 });
    await changeQuota(db, ['project', asked.project_id, 'environments=2']);
    expect(await told()).toEqual([2, 2]);
  });

  test('is refused beyond the default, unless the organization has a quota of its own, which begins as a copy of it', async () => {
    const { db } = home.platform;
    const of = await sampleOrganization(owner);
    const { name } = (await owner.send('GET', `/organizations/${of.organization_id}`)).json;
    const ask = () => owner.send('POST', `/organizations/${of.organization_id}/projects`, { region, title: 'Shop' });
    const defaultLine = 'default, for each organization that has none of its own: projects 100, environments 500, cpu as there are, ';
    expect((await quotaLines(db))[0]).toBe(
      `${defaultLine}memory as there are, disk as there are, builds 4 at once, activities 1000 waiting`,
    );
    expect(await changeQuota(db, ['default', 'projects=1', 'builds=3'])).toContain('projects 1, environments 500');
    expect([(await ask()).status, (await ask()).status]).toEqual([201, 402]);
    expect((await ask()).json.message).toBe(
      `The organization ${name} would exceed its quota. projects: it has 1, and 1 are allowed. Delete what nobody needs, or ask the operator for more.`,
    );
    expect(await changeQuota(db, ['organization', name, 'environments=7'])).toMatch(
      /projects 1 of 1, environments 0 of 7, .* builds 3 at once, activities 1 of 1000 waiting$/,
    );
    await changeQuota(db, ['default', 'projects=100', 'builds=4']);
    expect((await ask()).status).toBe(402);
    await changeQuota(db, ['organization', name, 'projects=2']);
    expect((await ask()).status).toBe(201);
    await expect(changeQuota(db, ['default', 'builds=0'])).rejects.toThrow('builds=0 is not a limit');
    await expect(changeQuota(db, ['project', 'some', 'builds=1'])).rejects.toThrow('Only an organization has a limit of builds');
  });

  test('bears being killed after each step', async () => {
    const begin = async () => creationOf((await askForProject({ project_title: 'Twice' })).id);
    expect(await eachStepTwice(home.platform, begin)).toEqual(['create repository', 'create environment']);
    const { json } = await owner.send('GET', at('/projects?filter[title]=Twice'));
    expect(json).toMatchObject({ count: 1, items: [{ status: 'active' }] });
    expect((await owner.send('GET', `/projects/${json.items[0].id}/environments`)).json).toHaveLength(1);
  });

  test('leaves nothing behind when a step fails, and can be deleted', async () => {
    let id = '';
    const begin = async () => {
      ({ id } = await askForProject({ project_title: 'Broken' }));
      return creationOf(id);
    };
    await failAtEachStep(home.platform, begin, async () => {
      expect(await home.platform.git.exists(id)).toBe(false);
      const { json } = await owner.send('GET', `/projects/${id}`);
      expect(json.status.code).toBe('failed');
      expect((await owner.send('GET', `/projects/${id}/environments`)).json).toEqual([]);
      const [contract] = (await owner.send('GET', at(`/subscriptions?filter[project_id]=${id}`))).json.items;
      expect(contract.status).toBe('provisioning failure');
      expect((await owner.send('DELETE', contract._links.delete.href)).status).toBe(204);
      await work();
      expect((await owner.send('GET', `/projects/${id}`)).status).toBe(404);
    });
  });

  test('that was cancelled before it began has failed', async () => {
    const { id } = await askForProject();
    const [{ _links }] = (await owner.send('GET', `/projects/${id}/activities`)).json;
    await owner.send('POST', _links['#cancel'].href);
    await giveUpAbandonedCreations.run(home.platform, new AbortController().signal);
    expect((await owner.send('GET', `/projects/${id}`)).json.status.code).toBe('failed');
  });

  test('can be watched', async () => {
    const { id } = await askForProject();
    const watching = owner.send('GET', at('/projects/provisioning'));
    await work();
    const { headers, text } = await watching;
    expect(headers['content-type']).toBe('application/x-ndjson');
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; project_id: string });
    expect(events.filter(({ project_id }) => project_id === id).map(({ type }) => type)).toEqual(expect.arrayContaining(['data', 'done']));
  });
});

test('projects and subscriptions are listed page by page, sorted and filtered', async () => {
  const lister = await home.person();
  const { organization_id: own } = await sampleOrganization(owner);
  await owner.send('POST', `/organizations/${own}/members`, { user_id: lister.user.id, permissions: ['projects:list'] });
  for (const title of ['Cherry', 'Apple', 'Banana']) await owner.send('POST', `/organizations/${own}/projects`, { region, title });
  const titles = async (query: string) =>
    (await lister.send('GET', `/organizations/${own}/projects?${query}`)).json.items.map(({ title }: { title: string }) => title);
  expect(await titles('')).toEqual(['Cherry', 'Apple', 'Banana']);
  expect(await titles('sort=-title')).toEqual(['Cherry', 'Banana', 'Apple']);
  expect(await titles('filter[title][contains]=an')).toEqual(['Banana']);
  expect(await titles('filter[status]=active')).toEqual([]);
  const first = (await lister.send('GET', `/organizations/${own}/subscriptions?sort=project_title&page[size]=2`)).json;
  expect(first).toMatchObject({ count: 3, items: [{ project_title: 'Apple' }, { project_title: 'Banana' }] });
  const second = (await lister.send('GET', first._links.next.href)).json;
  expect(second.items).toMatchObject([{ project_title: 'Cherry' }]);
  /** They see the projects, and are not let in. */
  expect(second.items[0]._links).toEqual({ self: expect.anything() });
  expect((await lister.send('GET', `/projects/${second.items[0].project_id}`)).status).toBe(404);
});

describe('changing a project', () => {
  test('gives it a new title, which is an activity, and new words about it, which are none', async () => {
    const { id, subscription_id } = await createdProject();
    const { json: before } = await owner.send('GET', `/projects/${id}`);
    const renamed = await owner.send('PATCH', before._links['#edit'].href, { title: 'Store' });
    expect(renamed).toMatchObject({
      status: 200,
      json: {
        _embedded: {
          entity: { title: 'Store', status: { code: 'provisioned' } },
          activities: [{ type: 'project.modify.title', payload: { new_title: 'Store' } }],
        },
      },
    });
    await work();
    expect((await activityRow(home.platform, renamed.json._embedded.activities[0].id)).result).toBe('success');
    const change = { description: 'Sells.\nThings.', attributes: { team: 'web' }, timezone: 'Europe/Amsterdam', default_domain: null };
    const { json } = await owner.send('PATCH', `/projects/${id}`, change);
    expect(json._embedded).toMatchObject({ activities: [], entity: change });
    const contract = await owner.send('PATCH', at(`/subscriptions/${subscription_id}`), {
      project_title: 'Shop',
      storage: 10_240,
      environments: 9,
    });
    expect(contract).toMatchObject({ status: 200, json: { project_title: 'Shop', storage: 10_240, environments: 9 } });
    expect((await owner.send('PATCH', at(`/projects/${id}`), { title: 'Market', plan: 'large' })).json).toMatchObject({
      title: 'Market',
      plan: 'large',
    });
  });

  test('moves production to another branch, and tells Git', async () => {
    const { id } = await createdProject();
    const { db, git } = home.platform;
    const row = { project_id: id, id: 'trunk', machine_name: 'trunk-x', title: 'Trunk', type: 'staging' };
    await db.insertInto('environments').values(row).execute();
    const { json } = await owner.send('PATCH', `/projects/${id}`, { default_branch: 'trunk' });
    expect(json._embedded).toMatchObject({ entity: { default_branch: 'trunk' }, activities: [{ type: 'project.modify.default_branch' }] });
    await work();
    expect(readFileSync(join(git.path(id), 'HEAD'), 'utf8')).toBe('ref: refs/heads/trunk\n');
    const { json: environments } = await owner.send('GET', `/projects/${id}/environments`);
    expect(environments).toMatchObject([
      { id: 'main', is_main: false, type: 'development' },
      { id: 'trunk', is_main: true, type: 'production' },
    ]);
  });

  test('names what is wrong', async () => {
    const { id } = await createdProject();
    const { json } = await owner.send('PATCH', `/projects/${id}`, { timezone: 'Mars/Olympus', default_domain: 'shop.example.org' });
    expect(json.detail).toEqual({
      timezone: 'must be a time zone such as Europe/Amsterdam',
      default_domain: expect.stringContaining('must be a valid project domain'),
    });
    expect((await owner.send('PATCH', `/projects/${id}`, { default_branch: 'nowhere' })).json.detail).toHaveProperty('default_branch');
    expect((await owner.send('PATCH', `/projects/${id}`, { region: 'mars', title: 'a\nb' })).json.detail).toEqual({
      region: 'is not a known field',
      title: expect.any(String),
    });
  });
});

describe('deleting a project', () => {
  const tombstones = () => join(home.platform.config.data, 'tombstones');

  test('removes everything but a last copy of the repository, and bears being killed after each step', async () => {
    const { id, subscription_id } = await createdProject({ project_title: 'Doomed' });
    const { git, db } = home.platform;
    const commit = commitFiles(git.path(id), undefined, { 'README.md': '# Doomed' });
    await git.moveBranch(id, 'main', undefined, commit);
    await owner.send('POST', `/projects/${id}/variables`, { name: 'env:SECRET', value: 'x', is_sensitive: true });
    const waiting = (await owner.send('POST', `/projects/${id}/clear_build_cache`)).json._embedded.activities[0].id;

    let activity = '';
    const begin = async () => {
      const { status, json } = await owner.send('DELETE', `/projects/${id}`);
      expect({ status, json }).toMatchObject({
        status: 200,
        json: { _embedded: { activities: [{ type: 'project.delete' }], entity: { status: { code: 'deleting' } } } },
      });
      activity = json._embedded.activities[0].id;
      /** Asked for again, it is the same. */
      expect((await owner.send('DELETE', `/projects/${id}`)).json._embedded.activities[0].id).toBe(activity);
      return { id: activity };
    };
    const steps = ['end other work', 'keep a last backup', 'forget stacks', 'remove repository', 'forget'];
    expect(await eachStepTwice(home.platform, begin)).toEqual(steps);

    for (const path of [
      `/projects/${id}`,
      at(`/projects/${id}`),
      at(`/subscriptions/${subscription_id}`),
      `/projects/${id}/activities/${activity}`,
    ])
      expect((await owner.send('GET', path)).status).toBe(404);
    expect((await owner.send('GET', `/users/${owner.user.id}/extended-access`)).json.items).not.toContainEqual(
      expect.objectContaining({ resource_id: id }),
    );
    expect((await owner.send('GET', at('/projects?filter[status]=deleted'))).json.items).toContainEqual(
      expect.objectContaining({ id, status: 'deleted' }),
    );
    expect(await git.exists(id)).toBe(false);
    for (const table of ['environments', 'project_variables', 'user_access', 'pushes'] as const)
      expect(await db.selectFrom(table).select('project_id').where('project_id', '=', id).execute()).toEqual([]);
    expect(await db.selectFrom('activities').select('id').where('project_id', '=', id).execute()).toEqual([{ id: activity }]);
    expect(waiting).not.toBe(activity);

    expect(await readdir(tombstones())).toEqual([`${id}.bundle`]);
    const copy = join(home.platform.config.data, 'copy');
    execFileSync('git', ['clone', '--quiet', '--branch', 'main', '--', join(tombstones(), `${id}.bundle`), copy]);
    expect(existsSync(join(copy, 'README.md'))).toBe(true);
  });

  test('is for its administrators, and works through its subscription', async () => {
    const { id, subscription_id } = await createdProject();
    const member = await home.person();
    await owner.send('POST', at('/members'), { user_id: member.user.id, permissions: ['projects:list', 'plans'] });
    await owner.send('POST', `/projects/${id}/user-access`, [{ user_id: member.user.id, permissions: ['viewer'] }]);
    for (const path of [`/projects/${id}`, at(`/subscriptions/${subscription_id}`), at(`/projects/${id}`)])
      expect((await member.send('DELETE', path)).status).toBe(403);
    expect((await owner.send('DELETE', at(`/subscriptions/${subscription_id}`))).status).toBe(204);
    expect((await owner.send('PATCH', `/projects/${id}`, { title: 'Too late' })).status).toBe(409);
    await work();
    expect((await owner.send('GET', `/projects/${id}`)).status).toBe(404);
    /** Empty repositories are not worth keeping. */
    expect(existsSync(join(tombstones(), `${id}.bundle`))).toBe(false);
  });

  test('lets its organization be deleted', async () => {
    const { organization_id: own } = await sampleOrganization(owner);
    const { json } = await owner.send('POST', `/organizations/${own}/projects`, { region });
    await work();
    expect((await owner.send('DELETE', `/organizations/${own}`)).status).toBe(400);
    expect((await owner.send('DELETE', `/organizations/${own}/projects/${json.id}`)).status).toBe(204);
    await work();
    expect((await owner.send('DELETE', `/organizations/${own}`)).status).toBe(204);
  });
});

test('nothing costs anything', async () => {
  const { id, subscription_id } = await createdProject();
  const subscription = at(`/subscriptions/${subscription_id}`);
  const zero = { formatted: '0.00', amount: 0, currency_code: 'XXX', currency_symbol: '' };
  expect((await owner.send('GET', `${subscription}/estimate?plan=large&format=complex`)).json).toMatchObject({
    plan: zero,
    total: zero,
    options: {},
  });
  const usage = (await owner.send('GET', `${subscription}/current_usage`)).json;
  expect(Object.keys(usage)).toHaveLength(13);
  expect(usage.cpu_app).toMatchObject({ current_usage: 0, not_charged: true, current_usage_formatted: '0 CPU' });
  expect(Object.keys((await owner.send('GET', `${subscription}/current_usage?usage_groups=cpu_app,build_cpu`)).json)).toEqual([
    'cpu_app',
    'build_cpu',
  ]);
  expect((await owner.send('GET', `${subscription}/addons`)).json.current).toEqual({ continuous_profiling: {}, project_support_level: {} });
  expect((await owner.send('GET', `/subscriptions/${subscription_id}/can-update?plan=large`)).json).toMatchObject({ can_update: true });
  expect(await owner.send('POST', `/subscriptions/${subscription_id}/can-afford`, { resources: { cpu: '64' } })).toMatchObject({
    status: 200,
    text: '',
  });
  expect((await owner.send('GET', at(`/projects/${id}/history`))).json).toMatchObject({ count: 0, items: [] });
});
