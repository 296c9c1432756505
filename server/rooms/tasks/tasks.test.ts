import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import { rooms } from '../../rooms.ts';
import { activityRow, eachStepTwice, workThrough } from '../../testing/activities.ts';
import { setQuota } from '../deployments/public.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { filesWith, openTasks, type Tasks } from './test-tasks.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000, interval: 50 };
/** The time limit of the task that is to take too long. It is long enough for the task to begin on a machine that is busy for a moment. */
const slowSeconds = 5;

describe.runIf(canRunContainers)(`tasks${whyNoContainers}`, { timeout }, () => {
  let all: TestDeployments;
  let tasks: Tasks;
  let before: unknown;
  let pushed: string[];

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'postgresql:17']) await all.machine.images.ensure(type);
    tasks = await openTasks(all);
    before = (await tasks.send('GET', '/tasks')).json;
    pushed = await tasks.push(filesWith());
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const running = async (id: string, line: string) => {
    await expect.poll(() => tasks.log(id), waiting).toContain(line);
  };
  const beginRunner = () => startRunner(activitiesOf(rooms), all.home.platform, { leaseSeconds: 2 });

  test('are built with the rest, and listed and told as they are deployed, with every field', async () => {
    expect(before).toEqual([]);
    expect(pushed).toContainEqual(expect.stringMatching(/^Building task 'report' \(runtime type: nodejs:22, tree: /));
    const listed = await tasks.send('GET', '/tasks');
    expect(listed.json.map(({ name }: { name: string }) => name).sort()).toEqual([
      'brief',
      'hooked',
      'other',
      'report',
      'scripted',
      'small',
    ]);
    const { json } = await tasks.send('GET', '/tasks/report');
    expect(json).toMatchObject({
      id: 'report',
      name: 'report',
      type: 'nodejs:22',
      resources: null,
      authorizations: [{ type: 'task', action: 'run', resource: 'scripted' }],
      relationships: { db: { service: 'db', endpoint: 'postgresql' } },
      additional_hosts: { 'legacy.example': '192.0.2.7' },
      mounts: { '/kept': { source: 'storage', source_path: 'kept', service: null } },
      timezone: 'America/New_York',
      variables: { env: { GREETING: 'hello' }, theme: { color: 'red' } },
      container_profile: null,
      source: { root: '/report' },
      hooks: { build: 'echo built >built', deploy: 'echo preparing' },
      dependencies: {},
      runtime: {},
      run: { command: 'sh report.sh', timeout: 60 },
    });
    expect(Object.keys(json._links).sort()).toEqual(['#run', 'self']);
    expect((await tasks.send('GET', '/tasks/small')).json).toMatchObject({ resources: { base_memory: 64, memory_ratio: 128 } });
    expect((await tasks.send('GET', '/tasks/none')).status).toBe(404);
    expect((await tasks.send('POST', '/tasks/none/run', {})).status).toBe(404);
    expect((await tasks.send('GET', '')).json._links['#tasks'].href).toContain(`${tasks.at}/tasks`);
  });

  test('run to their end with their files, mounts, services, hosts and time, and all that they are told', async () => {
    await tasks.run('report', { NAME: 'nobody' });
    const { json } = await tasks.send('POST', '/tasks/report/run', { variables: { env: { NAME: 'Ada' }, theme: { size: 3 } } });
    const [activity] = json._embedded.activities;
    expect(json).toMatchObject({ status: 'OK', code: 200, _embedded: { entity: { name: 'report' } } });
    expect(activity).toMatchObject({
      type: 'environment.task',
      environments: ['main'],
      parameters: { variables: { env: ['NAME'], theme: ['size'] } },
    });
    const { log, ...ended } = await tasks.ended(activity.id);
    expect(log).toEqual([
      "Running task 'report' (type: nodejs:22, cpu: 0.5, memory: 1088)",
      '  Executing deploy hook',
      '    preparing',
      '  Executing command',
      '    hello Ada',
      '    from built, in EST, as report of main',
      '    192.0.2.7       legacy.example',
      '    run 2 at db.internal and db.internal',
      '    kept 2, shared deployed',
      '    cannot change its own files',
      '    its password is *****',
      '    {"theme:color":"red","theme:size":3}',
      '    to the end',
    ]);
    expect(ended).toMatchObject({
      state: 'complete',
      result: 'success',
      commands: [
        { app: 'report', type: 'deploy', exit_code: 0 },
        { app: 'report', type: 'task', exit_code: 0 },
      ],
    });
    const row = JSON.stringify(await activityRow(all.home.platform, activity.id));
    expect(row).not.toContain('Ada"');
    expect(await tasks.containers()).toEqual([]);
  });

  test('treat a variable that is given in the place of a sensitive one as sensitive', async () => {
    const own = { name: 'env:TOKEN', value: 'open sesame', is_sensitive: true };
    expect((await tasks.send('POST', '/variables', own)).status).toBe(201);
    await workThrough(all.home.platform);
    const { log } = await tasks.run('scripted', { SCRIPT: 'echo told $TOKEN', TOKEN: 'shut barley' });
    expect(log).toContain('    told *****');
    await tasks.send('DELETE', '/variables/env:TOKEN');
    await workThrough(all.home.platform);
  });

  test('fail with the exit code of their command, or of the hook before it, which they do not outrun', async () => {
    expect(await tasks.run('scripted', { SCRIPT: 'echo out; echo wrong >&2; exit 7' })).toMatchObject({
      state: 'complete',
      result: 'failure',
      failure_reason: 'shell',
      commands: [{ app: 'scripted', type: 'task', exit_code: 7 }],
      log: expect.arrayContaining(['    out', '    W: wrong', "E: Task 'scripted' ended with exit code 7."]),
    });
    const byHook = await tasks.run('hooked', { HOOK: '3', CODE: '0' });
    expect(byHook).toMatchObject({ result: 'failure', commands: [{ app: 'hooked', type: 'deploy', exit_code: 3 }] });
    expect(byHook.log.at(-1)).toBe("E: The deploy hook of task 'hooked' ended with exit code 3.");
    expect(byHook.log).not.toContain('    done');
    expect(await tasks.run('hooked', { HOOK: '0', CODE: '4' })).toMatchObject({
      result: 'failure',
      commands: [
        { type: 'deploy', exit_code: 0 },
        { type: 'task', exit_code: 4 },
      ],
    });
    expect(await tasks.containers()).toEqual([]);
  });

  test('that take too long are told to end; one that ends with exit code 124 by itself was not too slow', async () => {
    const late = await tasks.run('brief', { SCRIPT: "trap 'echo asked; exit 0' TERM; while :; do sleep 0.1; done" });
    expect(late).toMatchObject({ result: 'failure', failure_reason: 'shell', commands: [{ type: 'task', exit_code: 124 }] });
    expect(late.log).toContain('    asked');
    expect(late.log.at(-1)).toBe(`E: Task 'brief' did not end within ${slowSeconds} seconds, which is its run.timeout, and was stopped.`);
    expect((await tasks.run('brief', { SCRIPT: 'exit 124' })).log.at(-1)).toBe("E: Task 'brief' ended with exit code 124.");
  });

  test('that do not end when they are told to are killed, with all that they started', async () => {
    const script = readFileSync(join(import.meta.dirname, 'run-task.sh'), 'utf8');
    const { layers } = await all.machine.images.ensure('nodejs:22');
    const deaf = `trap '' TERM; setsid dash -c "trap '' TERM; sleep 60" & while :; do sleep 0.1; done`;
    await all.machine.runtime.ensure({
      name: 'deaf',
      layers,
      argv: ['dash', '-c', script, 'task', 'mark', String(slowSeconds), '1', '', deaf],
      env: {},
      user: { uid: 1000, gid: 1000 },
      workingFolder: '/',
      writable: [],
      mounts: [],
      limits: { cpu: 1, memoryBytes: 2 ** 28, pids: 50, diskBytes: 2 ** 20 },
      network: 'deaf',
      names: [],
      restart: 'never',
      stop: { signal: 'SIGTERM', secondsMax: 1 },
    });
    await expect.poll(async () => (await all.machine.runtime.state('deaf')).exit?.code, waiting).toBe(137);
    const said: string[] = [];
    for await (const { text } of all.machine.runtime.logs('deaf', {})) said.push(text);
    // The shell says on the other stream that it was killed, and the order of the two streams is not known.
    expect(said.filter((line) => line !== 'Killed')).toEqual(['mark begun', 'mark ended late', 'mark ended late']);
    expect(said.filter((line) => line === 'Killed')).toHaveLength(1);
  });

  test('that are cancelled are told to end, and say their last words', async () => {
    const id = await tasks.begin('scripted', { SCRIPT: "trap 'echo asked; exit 0' TERM; echo begun; while :; do sleep 0.1; done" });
    const runner = beginRunner();
    await running(id, '    begun');
    expect((await tasks.owner.send('POST', `/projects/${tasks.projectId}/activities/${id}/cancel`)).status).toBe(200);
    await expect.poll(async () => (await activityRow(all.home.platform, id)).state, waiting).toBe('cancelled');
    await runner.close();
    expect(await tasks.log(id)).toEqual(expect.arrayContaining(['    asked', 'The activity was cancelled.']));
    expect(await tasks.containers()).toEqual([]);
  });

  test('run one after the other where they are the same, in order, and beside each other where they are not', async () => {
    const runner = beginRunner();
    const first = await tasks.begin('scripted', { SCRIPT: 'echo first; while [ ! -e /tmp/go ]; do sleep 0.1; done' });
    await running(first, '    first');
    const second = await tasks.begin('scripted', { SCRIPT: 'echo second' });
    const beside = await tasks.begin('other', { SCRIPT: 'echo beside' });
    await running(beside, '    beside');
    expect((await activityRow(all.home.platform, second)).state).toBe('pending');
    const container = (await tasks.containers()).find((name) => name.endsWith(first));
    await all.machine.runtime.exec(container ?? '', { argv: ['touch', '/tmp/go'] });
    await running(second, '    second');
    const [before, after] = [await activityRow(all.home.platform, first), await activityRow(all.home.platform, second)];
    expect(String(after.started_at) >= String(before.completed_at)).toBe(true);
    await runner.close();
    expect((await tasks.ended(second)).result).toBe('success');
  });

  test('go on while the platform is away, and nothing of what they say is lost or said twice', async () => {
    const script = 'for n in $(seq 60); do echo line $n; sleep 0.05; done; echo once >>/tmp/once; wc -l </tmp/once; exit 5';
    const id = await tasks.begin('scripted', { SCRIPT: script });
    for (const seen of ['    line 3', '    line 20']) {
      const runner = beginRunner();
      await running(id, seen);
      await runner.close();
    }
    await sleep(500);
    const { log, commands, result } = await tasks.ended(id);
    expect(log.slice(2)).toEqual([
      ...Array.from({ length: 60 }, (_, n) => `    line ${n + 1}`),
      '    1',
      "E: Task 'scripted' ended with exit code 5.",
    ]);
    expect({ commands, result }).toEqual({ commands: [{ app: 'scripted', type: 'task', exit_code: 5 }], result: 'failure' });
  });

  test('are run once, however often each step is done', async () => {
    const begin = async () => ({ id: await tasks.begin('report', { NAME: 'again' }) });
    const before = Number((await tasks.run('report', { NAME: 'now' })).log.join().match(/run (\d+)/)?.[1]);
    const interrupted = await eachStepTwice(all.home.platform, begin);
    expect(interrupted).toEqual(['reserve resources', 'start container', 'run', 'remove container', 'release resources']);
    const after = Number((await tasks.run('report', { NAME: 'now' })).log.join().match(/run (\d+)/)?.[1]);
    expect(after - before).toBe(2);
  });

  test('have the size that was chosen for them, and no more; what runs is not started anew for that', async () => {
    const startedAt = await tasks.ask();
    const wrong = await tasks.send('PATCH', '/deployments/next', {
      tasks: { scripted: { resources: { profile_size: '3' }, instance_count: 2 }, report: { disk: 1024 }, none: {} },
    });
    expect(wrong).toMatchObject({
      status: 400,
      json: {
        detail: {
          'tasks.scripted.resources.profile_size': expect.stringContaining('must be one of the sizes of BALANCED'),
          'tasks.scripted.instance_count': expect.stringContaining('cannot be set'),
          'tasks.report.disk': expect.stringContaining('cannot be set'),
          'tasks.none': expect.stringContaining('does not name any task of this environment; choose from report, scripted'),
        },
      },
    });
    const { json } = await tasks.send('PATCH', '/deployments/next', { tasks: { scripted: { resources: { profile_size: '0.25' } } } });
    const resized = await tasks.ended(json._embedded.activities[0].id);
    expect(resized.log).toContain("  Setting 'scripted' resources to 0.25 CPU, 640MB RAM.");
    const changed = await tasks.push(filesWith('  new: { type: nodejs:22, source: { root: report }, run: { command: "true" } }'));
    expect(changed).not.toContainEqual(expect.stringContaining('deploy hook'));
    expect(await tasks.ask()).toBe(startedAt);
    expect((await tasks.send('GET', '/deployments/current')).json.tasks).toMatchObject({
      scripted: { resources: { profile_size: '0.25' }, container_profile: 'BALANCED' },
      new: { resources: { profile_size: '0.5' } },
    });
    expect((await tasks.send('GET', '')).json.sizing.tasks).toMatchObject({ scripted: { resources: { profile_size: '0.25' } } });

    const limits = `node -p 'JSON.stringify(require("/run/config.json").info.limits)'`;
    expect((await tasks.run('scripted', { SCRIPT: limits })).log.join('\n')).toContain('\n    {"cpu":0.25,"memory":640}');
    const greedy = await tasks.run('small', { SCRIPT: `exec node -e 'Buffer.alloc(2e8).fill(1)'` });
    expect(greedy.log[0]).toContain('cpu: 0.5, memory: 128)');
    expect(greedy.log.at(-1)).toBe("E: Task 'small' needs more memory than it has with size 0.5; choose a larger one.");
  });

  test('count while they run: one for which there is no room is refused, in words, and leaves nothing', async () => {
    const { db } = all.home.platform;
    const { cpu } = await db
      .selectFrom('deployments')
      .select('cpu')
      .where('project_id', '=', tasks.projectId)
      .where('status', '=', 'current')
      .executeTakeFirstOrThrow();
    await setQuota(db, { project_id: tasks.projectId, organization_id: null }, { cpu: cpu + 0.7 });
    const runner = beginRunner();
    const first = await tasks.begin('other', { SCRIPT: 'echo begun; sleep 600' });
    await running(first, '    begun');
    const second = await tasks.begin('hooked', { HOOK: '0', CODE: '0' });
    await expect.poll(async () => (await activityRow(all.home.platform, second)).result, waiting).toBe('failure');
    expect((await tasks.log(second)).at(-1)).toMatch(
      /^E: The task 'hooked' cannot run now: The project .* would exceed its quota\. processors: /,
    );
    await tasks.owner.send('POST', `/projects/${tasks.projectId}/activities/${first}/cancel`);
    await expect.poll(async () => (await activityRow(all.home.platform, first)).state, waiting).toBe('cancelled');
    await runner.close();
    expect(await db.selectFrom('running_tasks').selectAll().execute()).toEqual([]);
    await db.deleteFrom('quotas').execute();
    expect((await tasks.run('hooked', { HOOK: '0', CODE: '0' })).result).toBe('success');
  });

  test('wake an environment that sleeps, whichever of them comes first', async () => {
    const { db } = all.home.platform;
    const set = (change: object) => db.updateTable('environments').set(change).where('project_id', '=', tasks.projectId).execute();
    await set({ type: 'development', sleeping_since: new Date().toISOString() });
    for (const { name } of await all.machine.runtime.list()) await all.machine.runtime.remove(name);
    const [one, other] = [await tasks.begin('report', { NAME: 'early' }), await tasks.begin('other', { SCRIPT: 'echo awake' })];
    expect([await tasks.ended(one), await tasks.ended(other)]).toMatchObject([{ result: 'success' }, { result: 'success' }]);
    expect((await tasks.send('GET', '')).json.sleeping_since).toBeNull();
    expect(await tasks.ask()).toEqual(expect.any(String));
  });

  test('are refused where the request is wrong, by field, and where the environment is not active', async () => {
    const bad = await tasks.send('POST', '/tasks/report/run', { variables: { env: { 'A-B': 'x', B: null }, 'c d': {} } });
    expect(bad).toMatchObject({
      status: 400,
      json: {
        detail: { 'variables.env.A-B': expect.any(String), 'variables.env.B': expect.any(String), 'variables.c d': expect.any(String) },
      },
    });
    for (const body of [{ variables: [] }, { variables: { env: 'x' } }, { wait: true }, []])
      expect((await tasks.send('POST', '/tasks/report/run', body)).status).toBe(400);
    const { db } = all.home.platform;
    await db.updateTable('environments').set({ status: 'paused' }).where('project_id', '=', tasks.projectId).execute();
    const refused = await tasks.send('POST', '/tasks/report/run', {});
    expect(refused).toMatchObject({ status: 409, json: { message: expect.stringContaining('active') } });
    expect((await tasks.send('GET', '/tasks/report')).json._links).not.toHaveProperty('#run');
  });
});
