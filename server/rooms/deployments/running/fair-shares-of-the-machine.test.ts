/** A greedy organization beside a modest one on a real machine, as their people notice it: tasks, sessions over SSH, backups, and environments that wake. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../../edge/testing/running-edge.ts';
import { shortId } from '../../../kernel/id.ts';
import { activitiesOf } from '../../../kernel/room.ts';
import { startRunner, type Runner } from '../../../kernel/runner.ts';
import { sendIdleToSleep } from './sleep.ts';
import { wakeWhenVisited } from './wake-when-visited.ts';
import { serveSsh } from '../../ssh/public.ts';
import { openSshClient, type SshClient } from '../../../testing/ssh-client.ts';
import { rooms } from '../../../rooms.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import type { Person } from '../../../testing/platform.ts';
import { sampleOrganization } from '../../../testing/samples.ts';

const openMilliseconds = 600_000;
const waiting = { timeout: 120_000, interval: 100 };
/** One more than it may wake at once. */
const greedyProjects = 5;
const storesOfOneMax = 2;
const greedyTasks = 6;
const sessionsOfOneMax = 200;

/** As long as a file says so, it does not open its port. */
const files: Content = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { data: { source: storage, source_path: data } }
    web: { commands: { start: exec node server.js } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'server.js': `
const server = require('node:http').createServer((_, reply) => reply.end('hello'));
const begin = () => require('node:fs').existsSync('/app/data/hangs') ? setTimeout(begin, 100) : server.listen(process.env.PORT, '0.0.0.0');
begin();
`,
};
const withTask = (command: string): Content => ({
  ...files,
  '.upsun/config.yaml': `${files['.upsun/config.yaml']}
tasks: { work: { type: nodejs:22, build: { flavor: none }, run: { command: ${command} } } }
`,
});

type Project = Awaited<ReturnType<TestDeployments['project']>>;

describe.runIf(canRunContainers)(`of the machine${whyNoContainers}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-fair-'));
  let edge: RunningEdge;
  let all: TestDeployments;
  let door: Awaited<ReturnType<typeof serveSsh>>;
  let client: SshClient;
  let runner: Runner;
  let mallory: Person;
  let modest: Project;
  const greedy: Project[] = [];
  const over = Promise.withResolvers<void>();

  beforeAll(async () => {
    all = await openTestDeployments(async (volumes) => {
      edge = await startRunningEdge({ volumes });
      return edge.edge;
    });
    const { platform, person } = all.home;
    await all.machine.images.ensure('nodejs:22');
    mallory = await person();
    const { organization_id } = await sampleOrganization(mallory);
    modest = await all.project();
    for (let n = 0; n < greedyProjects; n += 1) greedy.push(await all.project());
    const ids = greedy.map(({ projectId }) => projectId);
    await platform.db.updateTable('projects').set({ organization_id }).where('id', 'in', ids).execute();
    const deploying = [await modest.beginDeploy(withTask('echo done'))];
    for (const [n, project] of greedy.entries()) deploying.push(await project.beginDeploy(n === 0 ? withTask('sleep 900') : files));
    for (const each of deploying) {
      const { result, log } = await modest.ended(each);
      if (result !== 'success') throw new Error(`A deployment failed:\n${log}`);
    }
    door = await serveSsh(platform, { host: '127.0.0.1', sshPort: 0 });
    client = openSshClient(folder, door);
    runner = startRunner(activitiesOf(rooms), platform);
  }, openMilliseconds);
  afterAll(async () => {
    over.resolve();
    await runner?.close();
    await door?.close();
    await edge[Symbol.asyncDispose]();
    await all.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const begin = async (person: Person, { projectId }: Project, path: string): Promise<string> => {
    const { status, json, text } = await person.send('POST', `/projects/${projectId}/environments/main/${path}`, {});
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${path} was answered ${status}: ${text}`);
    return activity.id;
  };
  const stateOf = async (id: string) =>
    (await all.home.platform.db.selectFrom('activities').select(['state', 'result']).where('id', '=', id).executeTakeFirstOrThrow()).state;
  const inState = async (ids: readonly string[], state: string) => {
    const states = await Promise.all(ids.map(stateOf));
    return states.filter((each) => each === state).length;
  };
  const untilComplete = async (id: string) => {
    await expect.poll(() => stateOf(id), waiting).toBe('complete');
  };

  test('tasks: those of the modest run to their end while those of the greedy run and wait', { timeout: openMilliseconds }, async () => {
    const [first] = greedy as [Project];
    const ids: string[] = [];
    for (let n = 0; n < greedyTasks; n += 1) ids.push(await begin(mallory, first, 'tasks/work/run'));
    // Of each task of an environment one runs at a time.
    await expect.poll(() => inState(ids, 'in_progress'), waiting).toBe(1);
    await untilComplete(await begin(modest.owner, modest, 'tasks/work/run'));
    expect([await inState(ids, 'in_progress'), await inState(ids, 'pending')]).toEqual([1, greedyTasks - 1]);
    for (const id of ids.toReversed()) await mallory.send('POST', `/projects/${first.projectId}/activities/${id}/cancel`, {});
    await expect.poll(() => inState(ids, 'cancelled'), waiting).toBe(ids.length);
  });

  test('SSH: the modest get in while the greedy have as many sessions as they may', { timeout: openMilliseconds }, async () => {
    const { db } = all.home.platform;
    const environment_id = 'main';
    const session = (n: number) => ({
      id: shortId(),
      user_id: mallory.user.id,
      project_id: greedy[n % 4]?.projectId ?? '',
      environment_id,
    });
    const rows = Array.from({ length: sessionsOfOneMax }, (_, n) => ({
      ...session(n),
      runs: 'app',
      instance: 0,
      address: '192.0.2.7',
      via: 'test',
    }));
    await db.insertInto('ssh_sessions').values(rows).execute();
    const comeTo = async ({ projectId, row }: Project, owner: Person) => {
      const colleague = await all.home.person();
      const { organization } = (await owner.send('GET', `/projects/${projectId}`)).json;
      await owner.send('POST', `/organizations/${organization}/members`, { user_id: colleague.user.id });
      await owner.send('POST', `/projects/${projectId}/user-access`, [{ user_id: colleague.user.id, permissions: ['admin'] }]);
      await client.addKey(colleague, projectId);
      return client.ssh(projectId, [`${projectId}-${(await row()).machine_name}--app@127.0.0.1`, 'echo inside']);
    };
    expect((await comeTo(greedy[4] as Project, mallory)).stderr).toContain('The organization has 200 sessions open already');
    expect((await comeTo(modest, modest.owner)).stdout.toString()).toBe('inside\n');
    await db.deleteFrom('ssh_sessions').where('via', '=', 'test').execute();
  });

  test('backups: one of the modest is stored while those of the greedy hold their places', { timeout: openMilliseconds }, async () => {
    const { blobs } = all.home.platform;
    const store = blobs.store.bind(blobs);
    const ids = new Set(greedy.map(({ projectId }) => projectId));
    const held: string[] = [];
    // A place elsewhere that answers them slowly.
    blobs.store = async (repository, ...others) => {
      if (ids.has(repository)) {
        held.push(repository);
        await over.promise;
      }
      return store(repository, ...others);
    };
    const backups = [];
    for (const project of greedy) backups.push(await begin(mallory, project, 'backup'));
    await expect.poll(() => held.length, waiting).toBe(storesOfOneMax);
    await untilComplete(await begin(modest.owner, modest, 'backup'));
    expect([held.length, await inState(backups, 'complete')]).toEqual([storesOfOneMax, 0]);
    over.resolve();
    for (const id of backups) await untilComplete(id);
  });

  test(
    'waking: a visitor of the modest is answered while apps of the greedy take long to start',
    { timeout: openMilliseconds },
    async () => {
      const { platform } = all.home;
      const hearing = new AbortController();
      const { signal } = hearing;
      for (const project of greedy) await project.inside('touch data/hangs');
      await platform.db.updateTable('environments').set({ type: 'development', sleep_after_seconds: 1 }).execute();
      const sleeping = async () => {
        await sendIdleToSleep.run(platform, signal);
        const rows = await platform.db.selectFrom('environments').select('id').where('sleeping_since', 'is not', null).execute();
        return rows.length;
      };
      await expect.poll(sleeping, waiting).toBe(greedyProjects + 1);
      const listening = wakeWhenVisited.listen(platform, signal);
      const hostOf = async ({ projectId, row }: Project) => `${(await row()).machine_name}-${projectId}.offshoot.localhost`;
      const visits = greedy.map(async (project) => edge.get(await hostOf(project)));
      const waking = async () => (await platform.db.selectFrom('environments').select('id').where('is_waking', '=', true).execute()).length;
      await expect.poll(waking, waiting).toBeGreaterThanOrEqual(greedyProjects - 1);
      const answer = await edge.get(await hostOf(modest));
      expect(answer).toMatchObject({ status: 200, body: 'hello' });
      expect(await waking()).toBeGreaterThanOrEqual(greedyProjects - 1);
      for (const project of greedy) {
        const storage = await all.machine.volumes.volume(`stack-${(await project.row()).stack_id}-storage-app`);
        rmSync(`${storage?.path}/data/hangs`);
      }
      for (const visit of visits) expect(await visit).toMatchObject({ status: 200 });
      hearing.abort();
      await listening;
    },
  );
});
