/** What is built of a pull request, as the integration says: what merging would make, and with the data of its parent anew. */
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { workThrough } from '../../../testing/activities.ts';
import { git } from '../../../testing/repository.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { connectMirrored, look, pushed, requested } from './test-mirrored-project.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
});

/** What pushes to an environment were told to do, in order. */
async function pushesTo(projectId: string, environment: string) {
  const { rows } = await sql<{ input: Record<string, unknown> }>`
    select input from activities where project_id = ${projectId} and type = 'environment.push' and environments[1] = ${environment}
    order by position`.execute(home.platform.db);
  return rows.map(({ input }) => input);
}

test('with build_pull_requests_post_merge the merge is built, once the host has made it, and again when the target moves', async () => {
  const { host, integrationId, happens, environments } = await connectMirrored(home, owner, 'github', {
    build_pull_requests_post_merge: true,
  });
  const head = async () => (await environments())['pr-2']?.head_commit;
  host.pullRequest(2, { 'topic.txt': '1' });
  await happens(requested(2, 'opened'));
  expect(await head()).toBe(undefined);
  const merged = host.merge(2);
  await happens(requested(2, 'changed'));
  expect(await head()).toBe(merged);

  host.commit('main', { 'README.md': 'moved\n' });
  await happens(pushed(host, 'main'));
  expect(await head()).toBe(merged);
  const again = host.merge(2);
  await sql`update code_mirrors set sync_at = now() where integration_id = ${integrationId}`.execute(home.platform.db);
  await look(home);
  await workThrough(home.platform);
  expect(await head()).toBe(again);
});

test.for([true, false])('with resync_pull_requests each build, but no other, brings the data of the parent: %s', async (resyncs) => {
  const { host, projectId, happens, environments } = await connectMirrored(home, owner, 'bitbucket', { resync_pull_requests: resyncs });
  const first = host.pullRequest(3, { 'topic.txt': '1' });
  await happens(requested(3, 'opened'));
  await sql`update environments set status = 'active' where project_id = ${projectId}`.execute(home.platform.db);
  const next = host.pullRequest(3, { 'topic.txt': '2' });
  await happens(requested(3, 'changed'));
  expect((await environments())['pr-3']).toMatchObject({ head_commit: next });
  const pushes = await pushesTo(projectId, 'pr-3');
  expect(pushes.map(({ to, replaceData }) => [to, replaceData])).toEqual([
    [first, undefined],
    [next, resyncs ? 'main' : undefined],
  ]);
});

test('of a fork the merge of the approved commit is built, and no other that the approved commit is a part of', async () => {
  const { host, integration, happens, environments } = await connectMirrored(home, owner, 'github', {
    build_pull_requests_post_merge: true,
  });
  const read = host.pullRequest(5, { 'topic.txt': '1' }, { isFromFork: true });
  const merged = host.merge(5);
  await happens(requested(5, 'opened'));
  await owner.send('POST', `${integration}/pull-requests/5/approve`, { commit: read });
  await workThrough(home.platform);
  expect((await environments())['pr-5']).toMatchObject({ head_commit: merged });

  // Somebody pushes what was approved as a branch, and the author leads the request there, with more of their own.
  git(host.repository, ['update-ref', 'refs/heads/check', read]);
  host.state.branches.set('check', read);
  await happens(pushed(host, 'check'));
  host.pullRequest(5, { 'evil.txt': '2' }, { isFromFork: true, target: 'check' });
  host.merge(5);
  await happens(requested(5, 'changed'));
  expect((await environments())['pr-5']).toMatchObject({ head_commit: merged });
});

test('a list of pull requests that was cut short closes none of those that are not on it', async () => {
  const { host, integrationId, happens, environments, fetches } = await connectMirrored(home, owner, 'bitbucket', {
    pull_requests_max_pages: 1,
  });
  const numbers = Array.from({ length: host.state.itemsMax + 2 }, (_, index) => index + 1);
  for (const number of numbers) {
    host.pullRequest(number, { 'topic.txt': String(number) }, { source: `topic-${number}` });
    await happens(requested(number, 'opened'));
  }
  const all = numbers.map((number) => `pr-${number}`);
  const lookNow = async () => {
    await sql`update code_mirrors set sync_at = now() where integration_id = ${integrationId}`.execute(home.platform.db);
    await look(home);
    await workThrough(home.platform);
    return Object.values(await environments())
      .flatMap(({ id, is_pr }): string[] => (is_pr ? [id] : []))
      .sort();
  };
  host.commit('main', { 'README.md': 'a whole look\n' });
  expect(await lookNow()).toEqual(all);
  const before = (await fetches()).length;
  expect(await lookNow()).toEqual(all);
  expect((await fetches()).length).toBe(before);
  const last = numbers.at(-1) ?? 0;
  host.close(last);
  await happens(requested(last, 'closed'));
  expect(await lookNow()).toEqual(all.slice(0, -1));
});

test('environments begin with the resources that environment_init_resources says, those of branches and of pull requests', async () => {
  const { host, projectId, happens } = await connectMirrored(home, owner, 'gitea', { environment_init_resources: 'minimum' });
  host.commit('feature', { 'feature.txt': '1' }, 'main');
  await happens(pushed(host, 'feature'));
  host.pullRequest(4, { 'topic.txt': '1' });
  await happens(requested(4, 'opened'));
  for (const environment of ['feature', 'pr-4'])
    expect(await pushesTo(projectId, environment)).toMatchObject([{ deploying: { init: 'minimum' } }]);
});
