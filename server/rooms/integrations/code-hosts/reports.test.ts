import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { workThrough } from '../../../testing/activities.ts';
import { openReportedProject, openReportingHome, type ReportedProject, type ReportingHome } from './test-reported-project.ts';

let reporting: ReportingHome;
let project: ReportedProject;

beforeAll(async () => {
  reporting = await openReportingHome();
  project = await openReportedProject(reporting);
});

const work = () => workThrough(reporting.home.platform);
const pauseIsOver = () => sql`update delivery_lanes set due_at = now()`.execute(reporting.home.platform.db);

test('a pull request is told while its environment is made, and where that answers then, in one comment', async () => {
  const { openRequest, report, statuses, addressOf, comments } = project;
  const commit = await openRequest(1, 'second');
  await report();
  expect([statuses('pr-1'), comments(1)]).toEqual([[[commit, 'pending']], [expect.stringContaining('`pr-1` is being deployed')]]);
  await work();
  await report();
  await report();
  expect(statuses('pr-1')).toEqual([
    [commit, 'pending'],
    [commit, 'success'],
  ]);
  const [comment, ...others] = comments(1);
  expect(others).toEqual([]);
  expect(addressOf('pr-1')).toMatch(/^http:\/\/pr-1-/);
  const told = [
    '`pr-1` is running',
    `<${addressOf('pr-1')}>`,
    commit.slice(0, 8),
    '1 commit ahead of `main`',
    '| Different here | `app` |',
  ];
  for (const each of told) expect(comment).toContain(each);
  expect(comment).toMatch(/\| app `app` \| `nodejs:22` \| 1 \| 0\.\d+ \| \d+ MB \|/);
  expect(comment).toMatch(/\| service `cache` \| `valkey:8\.1` \|/);
});

test('a branch of the host has its status, and no comment', async () => {
  const { push, report, statuses, comments } = project;
  const commit = await push('main', 'another');
  await work();
  await report();
  expect([statuses('main').at(-1), comments(0)]).toEqual([[commit, 'success'], []]);
});

test('a deployment that fails is told, and leads to its log', async () => {
  const { openRequest, report, statuses, addressOf, comments } = project;
  reporting.machine.failNextStart();
  const commit = await openRequest(2, 'second');
  await work();
  await report();
  expect(statuses('pr-2')).toEqual([[commit, 'failure']]);
  expect(addressOf('pr-2')).toMatch(/\/api\/projects\/\w+\/activities\/\w+\/log$/);
  expect(comments(2)).toEqual([expect.stringContaining('`pr-2` could not be deployed')]);
});

test('whoever was told that a commit is being deployed is told how that ended, though the next one is there', async () => {
  const { openRequest, report, statuses } = project;
  const first = await openRequest(3, 'second');
  await report();
  const second = await openRequest(3, 'third');
  await work();
  await report();
  expect(statuses('pr-3')).toEqual([
    [first, 'pending'],
    [first, 'success'],
    [second, 'success'],
  ]);
});

test('a host that was away hears the last state alone, once', async () => {
  const { host, openRequest, report, statuses, comments } = project;
  await report();
  host.state.instead.push({ status: 503 }, { status: 503 });
  const commit = await openRequest(4, 'second');
  await report();
  await work();
  await report();
  expect(statuses('pr-4')).toEqual([]);
  host.state.instead.length = 0;
  await pauseIsOver();
  await report();
  expect([statuses('pr-4'), comments(4).length]).toEqual([[[commit, 'success']], 1]);
});

test('a pull request from a fork is told that it waits, for whom, and how it is approved', async () => {
  const { host, push, rememberRequest, report, statuses, comments, integration, addressOf } = project;
  await rememberRequest(5, 'f'.repeat(40), true);
  await report();
  await report();
  expect(statuses('pr-5')).toEqual([['f'.repeat(40), 'pending']]);
  expect(addressOf('pr-5')).toMatch(new RegExp(`/integrations/${integration}/pull-requests/5$`));
  expect(host.state.statuses.at(-1)?.body['description']).toContain('an admin of the project approves this commit');
  const [comment] = comments(5);
  for (const told of ['waits for an approval', '`ffffffff`', 'neither secrets nor data', `${integration}/pull-requests/5`])
    expect(comment).toContain(told);

  const approved = await push('pr-5', 'approved', { status: 'active', parent: 'main', is_pr: true });
  await rememberRequest(5, approved, true);
  await sql`update pull_requests set approved_commit = ${approved}, approved_at = now()
    where integration_id = ${integration} and number = 5`.execute(reporting.home.platform.db);
  await work();
  await report();
  expect(statuses('pr-5').at(-1)).toEqual([approved, 'success']);
});

test('when its environment is gone, the comment says so', async () => {
  const { openRequest, closeRequest, report, comments } = project;
  await openRequest(6, 'second');
  await work();
  await report();
  await closeRequest(6);
  await work();
  await report();
  expect(comments(6)).toEqual([expect.stringContaining('`pr-6` has been removed')]);
});

test('environments that are not the host’s are none of its business', async () => {
  const { projectId, push, report, statuses, comments } = project;
  const { db } = reporting.home.platform;
  await push('pr-7', 'mine', { status: 'active', parent: 'main' });
  await sql`update environments set is_mirrored = false where project_id = ${projectId} and id = 'pr-7'`.execute(db);
  await work();
  await report();
  expect([statuses('pr-7'), comments(7)]).toEqual([[], []]);
});

test('a host that takes no statuses is still told by the comment, and why is kept', async () => {
  const { host, openRequest, report, comments, integration } = project;
  await report();
  await openRequest(8, 'second');
  await report();
  await work();
  const message = 'Resource not accessible by personal access token';
  host.state.instead.push({ status: 403, body: { message } });
  await report();
  expect(comments(8)).toEqual([expect.stringContaining('`pr-8` is running')]);
  const { rows } = await sql<{ trouble: string }>`
    select trouble from delivery_attempts join deliveries on deliveries.id = delivery_id
    where integration_id = ${integration} and outcome = 'refused'`.execute(reporting.home.platform.db);
  expect(rows.map(({ trouble }) => trouble)).toContainEqual(expect.stringContaining(message));
});

test('with another credential, the host is told what it did not take before', async () => {
  const { host, openRequest, report, statuses, owner, projectId, integration } = project;
  await report();
  const commit = await openRequest(9, 'second');
  await work();
  host.state.token = 'secret-token-9';
  await report();
  expect(statuses('pr-9')).toEqual([]);
  const body = { type: 'github', token: 'secret-token-9', repository: 'acme/shop', base_url: host.state.origin };
  await owner.send('PATCH', `/projects/${projectId}/integrations/${integration}`, body);
  await report();
  expect(statuses('pr-9')).toEqual([[commit, 'success']]);
});
