/** The code side of environments, over HTTP, with real repositories and every activity carried out by a runner. */
import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Activity } from '../../kernel/activity.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import { sampleMember, sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { projectById, type Project } from '../projects/public.ts';
import { createDefaultEnvironment } from './create-environment.ts';
import { adoptBranchesOf, finishPushes } from './reconcilers.ts';
import { announcePush, recordPush } from './record-push.ts';

let home: TestPlatform;
let owner: Person;
let organization_id: string;
let project: Project;

const at = (environment?: string, rest = '') =>
  `/projects/${project.id}/environments${environment === undefined ? '' : `/${encodeURIComponent(environment)}`}${rest}`;
const get = async (environment: string) => (await owner.send('GET', at(environment))).json;
const head = (branch: string) => home.platform.git.branch(project.id, branch);
const repository = () => home.platform.git.path(project.id);
const work = () => workThrough(home.platform);

/** Somebody with these permissions in the project, who can call the API and push. */
async function colleague(...permissions: string[]): Promise<Person> {
  const person = await home.person();
  await owner.send('POST', `/organizations/${organization_id}/members`, { user_id: person.user.id });
  await owner.send('POST', `/projects/${project.id}/user-access`, [{ user_id: person.user.id, permissions }]);
  return person;
}

const callerOf = async ({ accessToken }: Person) => {
  const caller = await home.platform.callerOf(accessToken, { projectId: project.id });
  if (!caller) throw new Error('The token of a test is valid');
  return caller;
};

/** As a push does: asked, moved by Git, recorded. */
async function push(
  branch: string,
  to: string | undefined,
  { by = owner, options = [] as string[], isFastForward = true } = {},
): Promise<Activity[]> {
  const from = await head(branch);
  const { id } = await announcePush(home.platform, await callerOf(by), project, [{ branch, from, to, isFastForward }], options);
  await home.platform.git.moveBranch(project.id, branch, from, to);
  return recordPush(home.platform, id, [branch]);
}

const commit = async (branch: string, files: Record<string, string>, message?: string) =>
  commitFiles(repository(), await head(branch), files, message);

/** An operation that starts an activity: the activity. */
async function started(method: string, path: string, body?: unknown): Promise<{ id: string }> {
  const { status, json } = await owner.send(method, path, body);
  expect({ status, json }).toMatchObject({ json: { _embedded: { activities: [expect.anything()] } } });
  return json._embedded.activities[0];
}

/** Active, with an empty repository and the environment of its default branch. */
async function emptyProject(): Promise<Project> {
  const { project_id } = await sampleProject(owner, organization_id);
  await work();
  const { db, git: repositories } = home.platform;
  await repositories.create(project_id, 'main');
  await db.updateTable('projects').set({ status: 'active' }).where('id', '=', project_id).execute();
  const found = await projectById(db, project_id);
  if (!found) throw new Error('The sample project exists');
  await db.transaction().execute((tx) => createDefaultEnvironment(tx, found));
  return found;
}

async function freshProject() {
  project = await emptyProject();
  await push('main', commitFiles(repository(), undefined, { 'page.txt': 'one\n', 'readme.md': 'read me\n' }, 'First'));
  await work();
}

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  ({ organization_id } = await sampleOrganization(owner));
  await freshProject();
});

describe('a push', () => {
  test('fills the environment of the default branch, and tells of its commits', async () => {
    const main = await get('main');
    expect(main).toMatchObject({
      type: 'production',
      is_main: true,
      has_code: true,
      head_commit: await head('main'),
      status: 'inactive',
      parent: null,
      is_dirty: false,
    });
    expect(main.merge_info).toEqual({ commits_ahead: 0, commits_behind: 0, parent_ref: null });
    const { json } = await owner.send('GET', at('main', '/activities?type=environment.push'));
    expect(json[0]).toMatchObject({
      state: 'complete',
      result: 'success',
      text: `${owner.user.username} pushed to Main`,
      parameters: { environment: 'main', old_commit: null, new_commit: main.head_commit },
      payload: {
        commits_count: 1,
        commits: [{ sha: main.head_commit, message: expect.stringContaining('First'), author: { email: 'ada@example.org' } }],
      },
    });
    expect(json[0].timings.parse_commits).toBeGreaterThanOrEqual(0);
  });

  test('of a new branch makes an environment below the default one, or as its options say', async () => {
    await push('feature/cart', await commit('main', { cart: '1' }));
    await push('qa', await commit('main', { qa: '1' }), {
      options: [
        'environment.title=Quality',
        'environment.parent=feature/cart',
        'environment.type=staging',
        'environment.clone_parent_on_create=False',
      ],
    });
    await work();
    expect(await get('feature/cart')).toMatchObject({
      parent: 'main',
      type: 'development',
      title: 'feature/cart',
      machine_name: expect.stringMatching(/^feature-cart-/),
    });
    expect(await get('qa')).toMatchObject({ parent: 'feature/cart', type: 'staging', title: 'Quality', clone_parent_on_create: false });
    expect((await get('feature/cart')).merge_info).toEqual({ commits_ahead: 1, commits_behind: 0, parent_ref: 'refs/heads/main' });
  });

  test('is refused in words where the pusher may not, or asks for what cannot be', async () => {
    const to = await commit('main', { more: '1' });
    const viewer = await colleague('viewer', 'development:viewer');
    const contributor = await colleague('viewer', 'development:contributor');
    await expect(push('feature/x', to, { by: viewer })).rejects.toThrow('You may not push to feature/x');
    await expect(push('main', to, { by: contributor })).rejects.toThrow('You may not push to main: it is a production environment');
    await expect(push('feature/cart', to, { by: contributor, isFastForward: false })).rejects.toThrow('You may not force push');
    await expect(push('feature/cart', undefined, { by: contributor })).rejects.toThrow('You may not delete');
    await expect(push('main', undefined)).rejects.toThrow('default branch');
    await expect(push('feature/y', to, { options: ['environment.type=production'] })).rejects.toThrow('development or staging');
    await expect(push('feature/y', to, { options: ['environment.parent=nowhere', 'environment.status=on'] })).rejects.toThrow(
      'must be active',
    );
    for (const name of ['-x', 'a..b', 'HEAD']) await expect(push(name, to)).rejects.toThrow('cannot be the name');
    await push('feature/x', to, { by: contributor });
    await work();
    expect((await contributor.send('GET', at('feature/x'))).status).toBe(200);
    expect((await contributor.send('GET', at('main'))).status).toBe(404);
  });

  test('that is cut off between Git and the database is recorded afterwards, with who pushed it', async () => {
    const pusher = await colleague('admin');
    const to = await commit('main', { cut: 'off' });
    const from = await head('feature/cart');
    await announcePush(
      home.platform,
      await callerOf(pusher),
      project,
      [{ branch: 'cut', from: undefined, to, isFastForward: true }],
      ['environment.title=Cut'],
    );
    await home.platform.git.moveBranch(project.id, 'cut', undefined, to);
    await announcePush(home.platform, await callerOf(pusher), project, [{ branch: 'feature/cart', from, to, isFastForward: true }], []);
    await sql`update pushes set created_at = now() - interval '1 minute'`.execute(home.platform.db);
    await finishPushes.run(home.platform, new AbortController().signal);
    await work();
    expect(await get('cut')).toMatchObject({ title: 'Cut', head_commit: to });
    expect((await owner.send('GET', at('cut', '/activities'))).json[0].text).toBe(`${pusher.user.username} pushed to Cut`);
    expect((await get('feature/cart')).head_commit).toBe(from);
    expect((await sql`select from pushes`.execute(home.platform.db)).rows).toEqual([]);
  });

  test('that nobody announced is adopted, and branches that vanished go', async () => {
    const to = await commit('main', { by: 'hand' });
    git(repository(), ['update-ref', 'refs/heads/by-hand', to]);
    await adoptBranchesOf(home.platform, project.id);
    await work();
    expect((await get('by-hand')).head_commit).toBe(to);
    git(repository(), ['update-ref', '-d', 'refs/heads/by-hand']);
    await adoptBranchesOf(home.platform, project.id);
    await work();
    expect((await owner.send('GET', at('by-hand'))).status).toBe(404);
  });
});

describe('branching', () => {
  test('makes an environment with the code of its parent', async () => {
    const { json } = await owner.send('POST', at('main', '/branch'), { name: 'feature/new', title: 'Something new', type: 'staging' });
    expect(json._embedded.activities).toMatchObject([
      { type: 'environment.branch', environments: ['main', 'feature/new'], state: 'pending' },
    ]);
    // What happens there meanwhile is waited for.
    const again = await owner.send('POST', at('main', '/branch'), { name: 'again', resources: null });
    expect(again).toMatchObject({ status: 200, json: { _embedded: { entity: { id: 'again', parent: 'main', is_dirty: true } } } });
    await work();
    expect((await get('again')).head_commit).toBe(await head('main'));
    expect(await get('feature/new')).toMatchObject({
      title: 'Something new',
      type: 'staging',
      parent: 'main',
      head_commit: await head('main'),
      has_code: true,
    });
    expect(await head('feature/new')).toBe(await head('main'));
  });

  test('makes names with slashes that are found however a client writes them', async () => {
    for (const path of ['feature%2Fnew', 'feature/new']) {
      expect((await owner.send('GET', `/api/projects/${project.id}/environments/${path}`)).json.id).toBe('feature/new');
      expect((await owner.send('GET', `/projects/${project.id}/environments/${path}/activities?count=1`)).json).toHaveLength(1);
    }
  });

  test('is not blamed for addresses below an environment at which there is nothing', async () => {
    const ask = async (method: 'GET' | 'POST', path: string) =>
      (await owner.send(method, `/projects/${project.id}/environments/${path}`)).json;
    expect(await ask('GET', 'main/rubbish')).toMatchObject({
      code: 404,
      message: expect.stringContaining('nothing at /rubbish of the environment main'),
    });
    expect(await ask('GET', 'feature/new/rubbish')).toMatchObject({
      code: 404,
      message: expect.stringContaining('environment feature/new'),
    });
    expect(await ask('POST', 'main/rubbish')).toMatchObject({ code: 404, message: expect.stringContaining('There is nothing at POST') });
    expect(await ask('GET', 'absent/rubbish')).toMatchObject({ code: 404, message: 'No such environment.' });
    expect((await owner.send('GET', `/projects/${project.id}/environments/main/activities?count=200`)).status).toBe(200);
  });

  test('names what is wrong', async () => {
    for (const name of ['-rf', 'a b', 'x..y', '$(reboot)\n']) {
      const { status, json } = await owner.send('POST', at('main', '/branch'), { name });
      expect({ status, detail: json.detail }).toMatchObject({ status: 400, detail: { name: expect.stringContaining('Git accepts') } });
    }
    for (const name of ['feature/new', 'main'])
      expect(await owner.send('POST', at('main', '/branch'), { name })).toMatchObject({
        status: 409,
        json: { message: expect.stringContaining(name) },
      });
    expect((await owner.send('POST', at('main', '/branch'), { name: 'z', type: 'production' })).status).toBe(400);
    expect((await owner.send('GET', at('z'))).status).toBe(404);
  });

  test('bears interruption, and leaves nothing when it fails', async () => {
    await eachStepTwice(home.platform, () => started('POST', at('main', '/branch'), { name: 'twice' }));
    expect((await get('twice')).head_commit).toBe(await head('main'));
    await failAtEachStep(
      home.platform,
      async () => {
        await owner.send('DELETE', at('fails'));
        await work();
        return started('POST', at('main', '/branch'), { name: 'fails' });
      },
      async () => {
        expect(await head('fails')).toBeUndefined();
        expect((await owner.send('GET', at('fails'))).status).toBe(404);
      },
    );
  });
});

describe('merging and synchronizing', () => {
  const change = async (branch: string, files: Record<string, string>) => {
    await push(branch, await commit(branch, files));
    await work();
  };
  const branch = async (name: string, parent = 'main') => {
    await started('POST', at(parent, '/branch'), { name });
    await work();
  };

  test('a merge brings the code of the child into its parent: first by moving on, then by a merge commit', async () => {
    await branch('forward');
    await change('forward', { forward: '1' });
    await started('POST', at('forward', '/merge'));
    await work();
    expect(await head('main')).toBe(await head('forward'));
    await change('forward', { forward: '2' });
    await change('main', { main: '1' });
    expect((await get('forward')).merge_info).toMatchObject({ commits_ahead: 1, commits_behind: 1 });
    await started('POST', at('forward', '/merge'));
    await work();
    expect(git(repository(), ['show', 'main:forward'])).toBe('2');
    expect((await get('forward')).merge_info).toMatchObject({ commits_ahead: 0, commits_behind: 2 });
    expect(await get('main')).toMatchObject({ head_commit: await head('main') });
  });

  test('a conflict is a failed activity that names the files, and nothing changes', async () => {
    await branch('clash');
    await change('clash', { 'page.txt': 'theirs\n' });
    await change('main', { 'page.txt': 'ours\n' });
    const before = [await head('main'), await head('clash')];
    const { id } = await started('POST', at('clash', '/merge'));
    await work();
    expect(await activityRow(home.platform, id)).toMatchObject({ state: 'complete', result: 'failure', failure_reason: 'error' });
    expect((await owner.send('GET', `/projects/${project.id}/activities/${id}`)).json.log).toContain('Conflicts in: page.txt');
    expect([await head('main'), await head('clash')]).toEqual(before);
    expect(await get('main')).toMatchObject({ head_commit: before[0], is_dirty: false });
  });

  test('a synchronization brings the parent into the child, by merge or rebase', async () => {
    await branch('follow');
    await change('follow', { mine: '1' });
    await change('main', { theirs: '1' });
    await started('POST', at('follow', '/synchronize'), { synchronize_code: true });
    await work();
    expect(git(repository(), ['show', 'follow:theirs'])).toBe('1');
    await branch('rebased');
    await change('rebased', { rebased: '1' });
    await change('main', { again: '1' });
    await started('POST', at('rebased', '/synchronize'), { synchronize_code: true, rebase: true });
    await work();
    expect(git(repository(), ['rev-parse', 'rebased^'])).toBe(await head('main'));
    expect((await owner.send('POST', at('rebased', '/synchronize'), {})).json.detail).toHaveProperty('synchronize_code');
    expect((await owner.send('POST', at('rebased', '/synchronize'), { synchronize_data: true })).status).toBe(409);
  });

  test('bear interruption and failure at any step', async () => {
    await branch('broken');
    await change('broken', { broken: '1' });
    await change('main', { notBroken: '1' });
    const before = await head('main');
    await failAtEachStep(
      home.platform,
      async () => {
        await home.platform.git.moveBranch(project.id, 'main', await head('main'), before);
        await sql`update environments set head_commit = ${before} where project_id = ${project.id} and id = 'main'`.execute(
          home.platform.db,
        );
        return started('POST', at('broken', '/merge'));
      },
      async () => {
        expect(await head('main')).toBe(before);
        expect((await get('main')).head_commit).toBe(before);
      },
    );
    await change('broken', { broken: '2' });
    await eachStepTwice(home.platform, () => started('POST', at('broken', '/merge')));
    expect(git(repository(), ['show', 'main:broken'])).toBe('2');
  });

  test('take the right to change what changes', async () => {
    const developer = await colleague('viewer', 'development:admin', 'production:viewer');
    const { json } = await developer.send('GET', at('broken'));
    expect(json._links).toHaveProperty('#synchronize');
    expect(json._links).not.toHaveProperty('#merge');
    expect(json).not.toHaveProperty(['_not_now', '#merge']);
    expect((await developer.send('POST', at('broken', '/merge'))).status).toBe(409);
  });

  test('are not offered while something happens in the environment, which says so to those who may, in the words of the refusal', async () => {
    const viewer = await colleague('viewer', 'development:viewer');
    await push('broken', await commit('broken', { broken: '3' }));
    const busy = 'An activity is pending or in progress in the environment: wait until it has ended.';
    const { _links, _not_now } = await get('broken');
    expect(_links).not.toHaveProperty('#synchronize');
    expect(_not_now).toMatchObject({ '#synchronize': busy, '#merge': busy, '#pause': 'Only an active environment can be paused.' });
    expect(_not_now).not.toHaveProperty('#branch');
    for (const verb of ['synchronize', 'merge'])
      expect(await owner.send('POST', at('broken', `/${verb}`), {})).toMatchObject({ status: 409, json: { message: busy } });
    expect((await viewer.send('GET', at('broken'))).json).not.toHaveProperty('_not_now');
    expect((await owner.send('GET', at())).json[0]).not.toHaveProperty('_not_now');
    await work();
    expect((await get('broken'))._not_now).not.toHaveProperty('#synchronize');
    expect((await get('main'))._not_now).toMatchObject({ '#deactivate': expect.any(String) });
    expect((await get('main'))._not_now).not.toHaveProperty('#merge');
  });
});

describe('deleting', () => {
  test('takes the branch along, and the children go to the grandparent', async () => {
    await started('POST', at('main', '/branch'), { name: 'middle' });
    await work();
    await started('POST', at('middle', '/branch'), { name: 'leaf' });
    await work();
    await eachStepTwice(home.platform, () => started('DELETE', at('middle')));
    expect(await head('middle')).toBeUndefined();
    expect((await owner.send('GET', at('middle'))).status).toBe(404);
    expect((await get('leaf')).parent).toBe('main');
  });

  test('that fails leaves the environment and its branch', async () => {
    const before = await head('leaf');
    await failAtEachStep(
      home.platform,
      async () => {
        if ((await owner.send('GET', at('leaf'))).status === 404) {
          await started('POST', at('main', '/branch'), { name: 'leaf' });
          await work();
        }
        return started('DELETE', at('leaf'));
      },
      async () => {
        expect(await head('leaf')).toBe(before);
        expect((await get('leaf')).status).toBe('inactive');
      },
    );
  });

  test('is not for the default branch', async () => {
    const { status } = await owner.send('DELETE', at('main'));
    expect(status).toBe(409);
    expect((await get('main'))._links).not.toHaveProperty('#delete');
  });
});

describe('changing', () => {
  test('the place in the tree, without cycles', async () => {
    for (const [name, parent] of [
      ['a', 'main'],
      ['b', 'a'],
      ['c', 'b'],
    ] as const) {
      await started('POST', at(parent, '/branch'), { name });
      await work();
    }
    for (const parent of ['a', 'c', 'nowhere']) {
      const { status, json } = await owner.send('PATCH', at('a'), { parent });
      expect({ status, detail: json.detail }).toMatchObject({ status: 400, detail: { parent: expect.any(String) } });
    }
    const { json } = await owner.send('PATCH', at('c'), { parent: 'main', title: 'See' });
    expect(json._embedded).toMatchObject({
      entity: { parent: 'main', title: 'See', merge_info: { parent_ref: 'refs/heads/main', commits_ahead: 0 } },
      activities: [],
    });
    expect((await owner.send('PATCH', at('c'), { parent: null })).json._embedded.entity.parent).toBeNull();
    const races = await Promise.all([owner.send('PATCH', at('a'), { parent: 'c' }), owner.send('PATCH', at('c'), { parent: 'a' })]);
    expect(new Set(races.map(({ status }) => status))).toEqual(new Set([200, 400]));
  });

  test('the type by the rules, and only into what one administers', async () => {
    expect((await owner.send('PATCH', at('a'), { type: 'staging' })).json._embedded.entity.type).toBe('staging');
    for (const [environment, type] of [
      ['a', 'production'],
      ['main', 'staging'],
    ] as const)
      expect((await owner.send('PATCH', at(environment), { type })).json.detail).toHaveProperty('type');
    const developer = await colleague('viewer', 'development:admin');
    expect((await developer.send('PATCH', at('b'), { type: 'staging' })).status).toBe(403);
  });

  test('who may come in, in the one spelling, as an activity', async () => {
    const { json } = await owner.send('PATCH', at('b'), {
      http_access: {
        addresses: [
          { permission: 'allow', address: '192.0.2.7' },
          { permission: 'deny', address: 'any' },
        ],
        basic_auth: { ada: 'lovelace' },
      },
      enable_smtp: true,
    });
    expect(json._embedded.entity.http_access).toEqual({
      is_enabled: true,
      addresses: [
        { permission: 'allow', address: '192.0.2.7/32' },
        { permission: 'deny', address: '0.0.0.0/0' },
      ],
      basic_auth: { ada: 'lovelace' },
    });
    expect(json._embedded.activities.map(({ type }: { type: string }) => type)).toEqual([
      'environment.update.http_access',
      'environment.update.smtp',
    ]);
    const cleared = await owner.send('PATCH', at('b'), { http_access: { addresses: null, basic_auth: null } });
    expect(cleared.json._embedded.entity.http_access).toEqual({ is_enabled: true, addresses: [], basic_auth: {} });
    const bad = await owner.send('PATCH', at('b'), {
      http_access: { addresses: [{ permission: 'allow', address: '1.2.3.4/99' }], basic_auth: { ada: 'short' } },
    });
    expect(bad.status).toBe(400);
    await work();
  });
});

test('an empty environment is filled with files, or with the code of another repository, once', async () => {
  const earlier = project;
  project = await emptyProject();
  const contents = Buffer.from('hello').toString('base64');
  expect((await get('main'))._links).toHaveProperty('#initialize');
  expect((await owner.send('POST', at('main', '/initialize'), { profile: 'Empty' })).status).toBe(400);
  for (const repository of [
    'https://ada:canary@example.org/shop.git',
    'https:/ada:canary@example.org/x',
    'ext::sh -c id',
    'file:///etc',
    '--upload-pack=x',
  ])
    expect((await owner.send('POST', at('main', '/initialize'), { repository })).json.detail).toHaveProperty('repository');
  await eachStepTwice(home.platform, () =>
    started('POST', at('main', '/initialize'), { profile: 'Hello', files: [{ path: 'src/hello.txt', mode: 0o644, contents }] }),
  );
  expect(git(repository(), ['show', 'main:src/hello.txt'])).toBe('hello');
  expect((await owner.send('POST', at('main', '/initialize'), { profile: 'Hello', files: [{ path: 'b', contents }] })).status).toBe(409);
  project = earlier;
});

describe('what one may not see', () => {
  test('is not brought into what one may: neither by synchronizing nor by moving below it', async () => {
    const developer = await colleague('viewer', 'development:admin');
    await started('POST', at('main', '/branch'), { name: 'peek' });
    await work();
    expect((await developer.send('GET', at('peek'))).json._links).not.toHaveProperty('#synchronize');
    expect((await developer.send('POST', at('peek', '/synchronize'), { synchronize_code: true })).status).toBe(409);
    const [hidden, absent] = [
      await developer.send('PATCH', at('peek'), { parent: 'main' }),
      await developer.send('PATCH', at('peek'), { parent: 'nowhere' }),
    ];
    expect([hidden.status, hidden.json]).toEqual([400, absent.json]);
    const to = await commit('peek', { a: '1' });
    await expect(push('below', to, { by: developer, options: ['environment.parent=main'] })).rejects.toThrow('there is no "main"');
    expect((await developer.send('POST', at('peek', '/branch'), { name: 'other-type', type: 'staging' })).status).toBe(403);
  });

  test('a name that would be taken for another is refused before Git moves anything', async () => {
    const to = await commit('main', { b: '1' });
    // With this salt these two have the same hash.
    await home.platform.db.updateTable('projects').set({ name_salt: 'salt' }).where('id', '=', project.id).execute();
    const [one, other] = ['a)!%(+b', 'a+,(,;b'];
    await push(one, to);
    await expect(push(other, to)).rejects.toThrow('cannot be the name of a new environment');
    await expect(push(`${one}/below`, to)).rejects.toThrow('cannot be the name of a new environment');
    expect(await head(other)).toBeUndefined();
    expect((await owner.send('POST', at('main', '/branch'), { name: other })).status).toBe(409);
    await work();
  });
});

test('a default branch is not one that is being deleted, nor the other way round', async () => {
  await started('POST', at('main', '/branch'), { name: 'next' });
  await work();
  await owner.send('PATCH', at('next'), { parent: null });
  await started('DELETE', at('next'));
  const refused = await owner.send('PATCH', `/projects/${project.id}`, { default_branch: 'next' });
  expect(refused.json.detail).toHaveProperty('default_branch');
  await work();
  expect(await get('main')).toMatchObject({ is_main: true, type: 'production' });
});

test('commits are told of in short, however long their messages', async () => {
  const to = commitFiles(repository(), await head('main'), { long: '1' }, 'x'.repeat(100_000));
  const [activity] = await push('long', to);
  await work();
  const { payload } = await activityRow(home.platform, activity?.id ?? '');
  expect(JSON.stringify(payload).length).toBeLessThan(5000);
});

test('members of other projects see nothing of all this', async () => {
  const stranger = await home.person();
  const member = await sampleMember(owner, organization_id);
  expect(member).toBeTruthy();
  for (const path of [at(), at('main'), at('main', '/activities'), at('main', '/settings')])
    expect((await stranger.send('GET', path)).status).toBe(404);
  const developer = await colleague('viewer', 'development:viewer');
  const { json } = await developer.send('GET', at());
  expect(new Set(json.map(({ type }: { type: string }) => type))).toEqual(new Set(['development']));
  const activities = (await developer.send('GET', `/projects/${project.id}/activities?count=100`)).json as Activity[];
  expect(activities.some(({ environments }) => environments.includes('main'))).toBe(false);
});
