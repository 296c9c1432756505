/** Code hosts that speak their real wires, with real repositories behind them, and what becomes of a project that is connected with one. */
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { testToken } from '../../../drivers/code-hosts/test-host.ts';
import { eachStepTwice, workThrough } from '../../../testing/activities.ts';
import { commit, git, good } from '../../../testing/git.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { effectiveVariables } from '../../variables/public.ts';
import { openMirroredHost, type TestedHost } from './test-mirrored-host.ts';
import { connectMirrored, look as lookAt, pushed, requested } from './test-mirrored-project.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
});

const settled = () => workThrough(home.platform);
const look = () => lookAt(home);
const connect = (type: TestedHost, settings: object = {}) => connectMirrored(home, owner, type, settings);

describe.for(['github', 'gitlab', 'gitea', 'bitbucket', 'bitbucket_server'] as const)('%s', (type) => {
  test('branches and pull requests become environments, follow what is pushed, and go', async () => {
    const { host, first, projectId, happens, environments, fetches } = await connect(type);
    expect(await environments()).toMatchObject({ main: { head_commit: first, is_main: true } });
    host.commit('feature', { 'feature.txt': '1' }, 'main');
    expect(await happens(pushed(host, 'feature'))).toBe(200);
    const head = host.commit('feature', { 'feature.txt': '2' });
    host.tag('v1', head);
    await happens(pushed(host, 'feature'));
    expect((await environments())['feature']).toMatchObject({ head_commit: head, parent: 'main', status: 'inactive', is_pr: false });
    const refs = await home.platform.git.refs(projectId);
    expect(refs.map(({ name }) => name).sort()).toEqual(['refs/heads/feature', 'refs/heads/main', 'refs/tags/v1']);

    const wanted = host.pullRequest(7, { 'topic.txt': '1' }, { target: 'feature' });
    await happens(requested(7, 'opened'));
    expect((await environments())['pr-7']).toMatchObject({
      head_commit: wanted,
      parent: 'feature',
      is_pr: true,
      title: 'Request 7',
      clone_parent_on_create: true,
    });
    const { rows } = await sql<{
      input: object;
    }>`select input from activities where project_id = ${projectId} and environments[1] = 'pr-7'`.execute(home.platform.db);
    expect(rows).toMatchObject([{ input: { activate: true, to: wanted } }]);
    const next = host.pullRequest(7, { 'topic.txt': '2' }, { target: 'feature' });
    await happens(requested(7, 'changed'));
    expect((await environments())['pr-7']).toMatchObject({ head_commit: next });

    host.close(7);
    await happens(requested(7, 'closed'));
    host.deleteBranch('topic');
    host.deleteBranch('feature');
    await happens({ kind: 'ref', ref: 'refs/heads/feature', commit: undefined });
    expect(Object.keys(await environments())).toEqual(['main']);
    expect([...(await home.platform.git.branches(projectId)).keys()]).toEqual(['main']);
    expect((await fetches())[0]).toMatchObject({ type: `integration.${type}.fetch`, state: 'complete', result: 'success' });
    expect(home.logLines.join('') + JSON.stringify(await fetches())).not.toContain(testToken);
  });

  test('a pull request from a fork waits until somebody approves the commit that they have read', async () => {
    const { host, integration, projectId, project, happens, environments } = await connect(type);
    await owner.send('POST', `${project}/variables`, { name: 'env:SECRET', value: 's', is_sensitive: true });
    await owner.send('POST', `${project}/variables`, { name: 'env:COLOR', value: 'red' });
    const read = host.pullRequest(8, { 'evil.txt': '1' }, { isFromFork: true });
    await happens(requested(8, 'opened'));
    expect(Object.keys(await environments())).toEqual(['main']);
    const { json: waiting } = await owner.send('GET', `${integration}/pull-requests`);
    const told = type === 'bitbucket' ? read.slice(0, 12) : read;
    expect(waiting).toMatchObject([{ number: 8, needs_approval: true, is_from_fork: true, commit: told, environment: null }]);
    const approve = (sha: string) => owner.send('POST', `${integration}/pull-requests/8/approve`, { commit: sha });
    expect((await approve('0'.repeat(40))).status).toBe(409);
    // Another commit that begins so is easily made.
    expect((await approve(read.slice(0, 12))).status).toBe(400);
    expect((await approve(read.slice(0, 39))).status).toBe(400);
    expect(Object.keys(await environments())).toEqual(['main']);
    expect((await approve(read)).json._embedded.entity).toMatchObject({
      needs_approval: false,
      approved_commit: read,
      approved_by: owner.user.id,
    });
    await settled();
    expect((await environments())['pr-8']).toMatchObject({ head_commit: read, parent: 'main' });

    host.pullRequest(8, { 'evil.txt': '2' }, { isFromFork: true });
    await happens(requested(8, 'changed'));
    expect((await environments())['pr-8']).toMatchObject({ head_commit: read });
    expect((await owner.send('GET', `${integration}/pull-requests/8`)).json).toMatchObject({
      needs_approval: true,
      approved_commit: read,
      environment: 'pr-8',
    });

    await owner.send('POST', `${project}/environments/pr-8/variables`, { name: 'env:OWN', value: 'o', is_sensitive: true });
    const names = async (id: string) =>
      (await effectiveVariables(home.platform.db, home.platform.secrets, projectId, id)).map(({ name }) => name);
    expect(await names('pr-8')).toEqual(['env:COLOR', 'env:OWN']);
    expect(await names('main')).toEqual(['env:COLOR', 'env:SECRET']);
  });
});

test('a delivery that does not bear the secret is refused, and nothing is noted of it', async () => {
  const { host, post, fetches } = await connect('github');
  const before = (await fetches()).length;
  expect(await post(pushed(host, 'main'), 'another secret')).toMatchObject({ status: 401 });
  expect((await sql`select from code_host_news`.execute(home.platform.db)).rows).toEqual([]);
  expect((await fetches()).length).toBe(before);
  expect(await post({ kind: 'unrelated' })).toMatchObject({ status: 200 });
  expect((await fetches()).length).toBe(before);
});

test('what no webhook told of is found by the next look, and where nothing changed nothing is fetched', async () => {
  const { host, integrationId, environments, fetches } = await connect('gitea');
  const isDue = () => sql`update code_mirrors set sync_at = now() where integration_id = ${integrationId}`.execute(home.platform.db);
  const before = (await fetches()).length;
  await isDue();
  await look();
  expect((await fetches()).length).toBe(before);
  const head = host.commit('main', { 'README.md': 'news\n' });
  const wanted = host.pullRequest(9, { 'topic.txt': '1' });
  await look();
  expect((await fetches()).length).toBe(before);
  await isDue();
  await look();
  await settled();
  expect(await environments()).toMatchObject({ main: { head_commit: head }, 'pr-9': { head_commit: wanted } });
  host.goAway(true);
  await isDue();
  await look();
  host.goAway(false);
  host.close(9);
  await isDue();
  await look();
  await settled();
  expect(Object.keys(await environments())).toEqual(['main']);
});

test('whoever calls without a delivery only has the host looked at, and not every time', async () => {
  const { host, integration, integrationId, fetches } = await connect('github');
  const isDue = async () => {
    const { rows } = await sql`select from code_mirrors where integration_id = ${integrationId} and sync_at <= clock_timestamp()`.execute(
      home.platform.db,
    );
    return rows.length === 1;
  };
  const nextLookIn = (seconds: number) =>
    sql`update code_mirrors set sync_at = now() + make_interval(secs => ${seconds}) where integration_id = ${integrationId}`.execute(
      home.platform.db,
    );
  const poke = () => home.send({ method: 'POST', url: `${integration}/hook`, payload: {} });
  const before = (await fetches()).length;
  host.commit('main', { 'README.md': 'poked\n' });
  await nextLookIn(300);
  expect((await poke()).status).toBe(200);
  expect({ isDue: await isDue(), fetches: (await fetches()).length }).toEqual({ isDue: false, fetches: before });
  await nextLookIn(200);
  await poke();
  expect(await isDue()).toBe(true);
  await look();
  expect((await fetches()).length).toBe(before + 1);
  await settled();
});

test('a fetch that is killed after each of its steps goes on, and every push is recorded once', async () => {
  const { host, projectId, post, environments, fetches } = await connect('github');
  const head = host.commit('main', { 'README.md': 'more\n' });
  const other = host.commit('other', { 'other.txt': '1' }, 'main');
  const wanted = host.pullRequest(3, { 'topic.txt': '1' });
  await eachStepTwice(home.platform, async () => {
    await post(pushed(host, 'main'));
    await post(requested(3, 'opened'));
    return (await fetches())[0];
  });
  expect(await environments()).toMatchObject({
    main: { head_commit: head },
    other: { head_commit: other },
    'pr-3': { head_commit: wanted },
  });
  const { rows } = await sql<{ to: string }>`
    select input ->> 'to' as to from activities where project_id = ${projectId} and type = 'environment.push' order by position`.execute(
    home.platform.db,
  );
  expect(
    rows
      .map(({ to }) => to)
      .slice(1)
      .sort(),
  ).toEqual([head, other, wanted].sort());
  expect((await sql`select from code_host_news`.execute(home.platform.db)).rows).toEqual([]);
});

test('pull requests that are drafts, or that no data is to be cloned for, are treated as the integration says', async () => {
  const { host, happens, environments } = await connect('github', {
    build_draft_pull_requests: false,
    pull_requests_clone_parent_data: false,
  });
  host.pullRequest(4, { 'topic.txt': '1' }, { isDraft: true });
  await happens(requested(4, 'opened'));
  expect(await environments()).not.toHaveProperty('pr-4');
  const wanted = host.pullRequest(4, { 'topic.txt': '2' });
  await happens(requested(4, 'changed'));
  expect((await environments())['pr-4']).toMatchObject({ head_commit: wanted, clone_parent_on_create: false });
});

test('what is only the host to change is refused here, until the integration is gone; environments stay', async () => {
  const { host, project, projectId, integration, happens, environments } = await connect('gitlab');
  host.commit('feature', { 'feature.txt': '1' }, 'main');
  await happens(pushed(host, 'feature'));
  if (!home.http.server.listening) await home.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = home.http.server.address() as AddressInfo;
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-mirrored-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await good(folder, 'clone', '--quiet', `http://git:${owner.apiToken}@127.0.0.1:${port}/git/${projectId}.git`, 'copy');
  const copy = join(folder, 'copy');
  expect((await git(copy, 'ls-remote')).said).not.toContain('refs/mirror');
  await commit(copy, { 'own.txt': '1' });
  const refused = await git(copy, 'push', 'origin', 'HEAD:main');
  expect(refused.code).not.toBe(0);
  expect(refused.said.replaceAll(/\s+(remote: )?/g, ' ')).toContain('/acme/shop: push there');
  const feature = `${project}/environments/feature`;
  expect(await owner.send('POST', `${feature}/merge`)).toMatchObject({
    status: 409,
    json: { message: expect.stringContaining('Merge there') },
  });
  expect(await owner.send('DELETE', feature)).toMatchObject({
    status: 409,
    json: { message: expect.stringContaining('Delete the branch there') },
  });
  expect((await owner.send('POST', `${feature}/synchronize`, { synchronize_code: true })).status).toBe(409);
  expect((await owner.send('POST', `${feature}/branch`, { name: 'mine' })).status).toBe(409);

  expect((await owner.send('DELETE', integration)).status).toBe(200);
  expect((await environments())['feature']).toMatchObject({ status: 'inactive' });
  expect((await git(copy, 'push', '-o', 'no-wait', 'origin', 'HEAD:main')).code).toBe(0);
  await settled();
});

test("the host's default branch becomes the project's, as long as the project has no code of its own", async () => {
  const host = await openMirroredHost('gitea');
  onTestFinished(host.closeHost);
  const { projectId } = await sampleProject(owner);
  await settled();
  await sql`update environments set id = 'old', machine_name = 'old' where project_id = ${projectId} and id = 'main'`.execute(
    home.platform.db,
  );
  await sql`update projects set default_branch = 'old' where id = ${projectId}`.execute(home.platform.db);
  const head = host.commit('main', { 'README.md': 'hello\n' });
  await owner.send('POST', `/projects/${projectId}/integrations`, host.body);
  await look();
  await settled();
  const { json } = await owner.send('GET', `/projects/${projectId}`);
  expect(json.default_branch).toBe('main');
  expect((await owner.send('GET', `/projects/${projectId}/environments/main`)).json).toMatchObject({
    head_commit: head,
    type: 'production',
  });
});
