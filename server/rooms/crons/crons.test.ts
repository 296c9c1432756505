import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { logFile, logsOf } from '../../drivers/logs/log-folders.ts';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import type { Tx } from '../../kernel/sql.ts';
import { rooms } from '../../rooms.ts';
import { activityRow, eachStepTwice, workThrough } from '../../testing/activities.ts';
import { definitions as deploying, openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { startCronsAt } from './start-crons.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const definitions = [...deploying, ...activitiesOf(rooms)];
const hourMilliseconds = 3_600_000;
/** How many rows of one table a look that finds nothing due may read. */
const rowsReadMax = 100;

/** How many rows this connection has read of each table within this transaction, by scans and by indexes. */
const rowsRead = async (tx: Tx): Promise<Map<string, number>> => {
  const { rows } = await sql<{ relname: string; rows: number }>`
    select relname, (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as rows from pg_stat_xact_user_tables`.execute(tx);
  return new Map(rows.map(({ relname, rows }) => [relname, rows]));
};

const filesOf = (crons: object) => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    timezone: Europe/Berlin
    variables: { env: { COLOR: red } }
    mounts: { data: { source: storage, source_path: data } }
    web: { commands: { start: exec node server.js } }
    crons: ${JSON.stringify(crons)}
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': `require('node:http').createServer((_, reply) => reply.end('{}')).listen(process.env.PORT, '0.0.0.0');`,
});

const hello = { spec: '0 3 * * *', commands: { start: 'echo "hello $COLOR $PLATFORM_PROJECT_ENTROPY"; echo run >>data/hello; exit 4' } };
const inTurn = (name: string) => ({
  spec: '0 9 * * *',
  commands: { start: `echo ${name} >>data/turns; sleep 0.5; echo ${name} >>data/turns` },
});
const endless = (name: string, stop?: string) => ({
  spec: '0 12 * * *',
  commands: { start: `echo begun; until [ -e data/${name} ]; do sleep 0.1; done; echo well`, ...(stop && { stop }) },
  shutdown_timeout: 60,
});

describe.runIf(canRunContainers)(`crons${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: Awaited<ReturnType<TestDeployments['project']>>;
  /** Midnight in Berlin at the start of a day that no other test has used. */
  let midnight = Date.parse('2027-01-31T23:00:00Z');

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
    project = await all.project();
  }, imagesMillisecondsMax);
  afterAll(() => all.close());
  beforeEach(() => void (midnight += 7 * 24 * hourMilliseconds));

  /** The moment of that day at which a clock in Berlin shows this hour. */
  const at = (hour: number) => new Date(midnight + hour * hourMilliseconds);
  const lookAt = (hour: number) => startCronsAt(all.home.platform, at(hour));
  const deploy = async (crons: object) => {
    await project.push(filesOf(crons));
    await lookAt(0);
  };
  const runs = async (state?: string) => {
    const { rows } = await sql<{ id: string; state: string; result: string; parameters: { cron: string } }>`
      select * from activities where project_id = ${project.projectId} and type = 'environment.cron' and state = coalesce(${state ?? null}, state)
      order by position`.execute(all.home.platform.db);
    return rows;
  };
  const namesOf = async (state?: string) => (await runs(state)).map(({ parameters }) => parameters.cron);
  const work = () => workThrough(all.home.platform, undefined, definitions);
  const linesOf = async (id: string): Promise<string[]> => {
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(all.home.platform.db);
    return rows.map(({ message }) => message.replace('\n', ''));
  };
  const until = async (done: () => Promise<boolean>) => {
    for (let looks = 0; !(await done()); looks++) {
      if (looks > 3000) throw new Error('The test waited in vain');
      await sleep(20);
    }
  };
  const environment = async () => (await project.owner.send('GET', `/projects/${project.projectId}/environments/main`)).json;
  const forget = () => sql`delete from activities where type = 'environment.cron'`.execute(all.home.platform.db);

  test('it runs at its time in the instance of its app, and what it said is in both logs', { timeout }, async () => {
    expect((await environment()).deployment_state.crons).toEqual({ enabled: false, status: 'paused' });
    await deploy({ hello });
    expect((await environment()).deployment_state.crons).toEqual({ enabled: true, status: 'running' });
    await lookAt(2.99);
    expect(await runs()).toEqual([]);
    await lookAt(3.4);
    expect((await environment()).is_dirty).toBe(false);
    await work();
    const [run] = await runs();
    const row = await activityRow(all.home.platform, run?.id ?? '');
    const spec = { spec: '0 3 * * *', commands: { ...hello.commands, stop: null }, shutdown_timeout: 10, timeout: 86_400 };
    expect(row).toMatchObject({
      state: 'complete',
      result: 'failure',
      failure_reason: 'shell',
      queue: 'cron',
      text: 'Offshoot Bot ran cron **hello**',
      commands: [{ app: 'app', type: 'cron', exit_code: 4 }],
      parameters: {
        user: 'admin',
        cluster: expect.stringContaining(project.projectId),
        environment: 'main',
        application: 'app',
        cron: 'hello',
        spec,
      },
      payload: { user: { id: 'admin' }, project: { id: project.projectId }, environment: { id: 'main' }, cron: 'hello' },
    });
    const days = (Date.parse(row.expires_at ?? '') - Date.parse(row.created_at)) / (24 * hourMilliseconds);
    expect(Math.round(days)).toBe(30);
    expect(await linesOf(row.id)).toEqual([
      'Running cron hello of application app',
      '    hello red *****',
      'E: The cron ended with exit code 4.',
    ]);
    const { machine_name } = await project.row();
    const log = readFileSync(logFile(logsOf(all.machine.logs, `${project.projectId}-${machine_name}`), 'app', 'cron'), 'utf8');
    expect(log).toMatch(/^\[.*\] Launching cron hello \(activity \w+\)\nhello red \*{5}\n$/);
    expect(await project.inside('cat data/hello; rm data/hello; ls /run/offshoot-commands')).toBe('run');
  });

  test('each slot is started once, whoever looks; after a long time nobody looked, once', { timeout }, async () => {
    await forget();
    await deploy({ hello, other: { ...hello, spec: 'H 5 * * *' } });
    await Promise.all([lookAt(3.4), lookAt(3.4), lookAt(3.4)]);
    await lookAt(4.9);
    expect(await namesOf()).toEqual(['hello']);
    await work();
    // The hour is 100: as if the platform had been down for four days.
    await Promise.all([lookAt(100), lookAt(100)]);
    expect((await namesOf('pending')).sort()).toEqual(['hello', 'other']);
    await work();
    await lookAt(100);
    expect(await namesOf('pending')).toEqual([]);
    expect(await project.inside('cat data/hello; rm data/hello')).toBe('run\nrun\nrun');
    const once = { spec: '0 3 * * *', commands: { start: 'echo run >>data/once' } };
    await deploy({ once });
    const begin = async () => {
      await lookAt(24 * 6 + 4);
      return { id: (await runs('pending'))[0]?.id ?? '' };
    };
    await eachStepTwice(all.home.platform, begin, definitions);
    expect(await project.inside('cat data/once')).toBe('run');
  });

  test('a deployment changes the times at once, and does not make up for slots before it', { timeout }, async () => {
    await forget();
    await deploy({ hello });
    await project.push(filesOf({ hello: { ...hello, spec: '0 8 * * *' }, fresh: { ...hello, spec: '0 1 * * *' } }));
    await lookAt(4);
    expect(await namesOf()).toEqual([]);
    await lookAt(8.5);
    expect(await namesOf()).toEqual(['hello']);
    await work();
    await project.push(filesOf({}));
    await lookAt(100);
    expect(await namesOf('pending')).toEqual([]);
    expect((await environment()).deployment_state.crons).toEqual({ enabled: false, status: 'running' });
  });

  test('those of one app run one after the other, and a slot that comes while a run waits is left out and told', { timeout }, async () => {
    await forget();
    await deploy({ one: inTurn('one'), two: inTurn('two'), three: inTurn('three') });
    await lookAt(9.5);
    await lookAt(24 + 9.5);
    await lookAt(48 + 9.5);
    expect((await namesOf('pending')).sort()).toEqual(['one', 'three', 'two']);
    await work();
    const turns = (await project.inside('cat data/turns; rm data/turns')).split('\n');
    expect(turns.filter((_, index) => index % 2 === 0)).toEqual(turns.filter((_, index) => index % 2 === 1));
    for (const { id } of await runs()) expect(await linesOf(id)).toContain('W: The cron was due 2 more times while this run waited.');
    await lookAt(72 + 9.5);
    await work();
    expect(await linesOf((await runs()).at(-1)?.id ?? '')).toEqual([expect.stringMatching(/^Running cron/)]);
  });

  test('a deployment waits for a cron that runs, and a cron for a deployment; links stay', { timeout }, async () => {
    await forget();
    await deploy({ endless: endless('go') });
    await lookAt(12.5);
    const runner = startRunner(definitions, all.home.platform, { leaseSeconds: 2 });
    try {
      const [run] = await runs();
      await until(async () => (await linesOf(run?.id ?? '')).includes('    begun'));
      expect((await environment())._links).toHaveProperty('#backup');
      const waits = `Waiting for this to end: Offshoot Bot ran cron endless. Whoever cannot wait cancels it (activity:cancel ${run?.id}).`;
      const { json } = await project.owner.send('POST', `/projects/${project.projectId}/environments/main/backup`, { safe: true });
      const [backup] = json._embedded.activities;
      expect(await linesOf(backup.id)).toEqual([waits]);
      await project.owner.send('POST', `/projects/${project.projectId}/activities/${backup.id}/cancel`);
      const deployment = await project.beginDeploy(filesOf({ endless: endless('go') }));
      expect(await linesOf(deployment.id)).toEqual([waits]);
      await lookAt(24 + 12.5);
      await sleep(500);
      const stateOf = async (id: string) => (await activityRow(all.home.platform, id)).state;
      expect([await stateOf(deployment.id), await namesOf('pending')]).toEqual(['pending', ['endless']]);
      await project.inside('touch data/go');
      await until(async () => (await runs('complete')).length === 2);
      const order = [run?.id, deployment.id, (await runs())[1]?.id];
      const rows = await Promise.all(order.map((id) => activityRow(all.home.platform, id ?? '')));
      expect(rows.map(({ result }) => result)).toEqual(['success', 'success', 'success']);
      const [first, ...others] = await linesOf(deployment.id);
      expect(first).toBe(waits);
      expect(others.length).toBeGreaterThan(0);
      expect(others).not.toContain(waits);
      // The log of a cron tells what the cron does, and not what it waited for.
      expect(await linesOf(order[2] ?? '')).toEqual([expect.stringMatching(/^Running cron/), '    begun', '    well']);
      const times = rows.flatMap(({ started_at, completed_at }) => [started_at, completed_at]).map((time) => Date.parse(time ?? ''));
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    } finally {
      await runner.close();
    }
  });

  test('a run that is cancelled ends as its stop command has it; one that takes too long is stopped', { timeout }, async () => {
    await forget();
    await deploy({ endless: endless('end', 'touch data/end'), slow: { spec: '0 13 * * *', commands: { start: 'sleep 60' }, timeout: 1 } });
    await lookAt(13.5);
    const runner = startRunner(definitions, all.home.platform, { leaseSeconds: 2 });
    try {
      const [first, slow] = (await runs()).map(({ id }) => id);
      await until(async () => (await linesOf(first ?? '')).includes('    begun'));
      expect(await namesOf('pending')).toEqual(['slow']);
      const { status } = await project.owner.send('POST', `/projects/${project.projectId}/activities/${first}/cancel`);
      expect(status).toBe(200);
      await until(async () => (await runs('complete')).length === 1);
      expect(await activityRow(all.home.platform, first ?? '')).toMatchObject({ state: 'cancelled', result: 'failure' });
      expect(await linesOf(first ?? '')).toContain('    well');
      expect(await linesOf(slow ?? '')).toContain('E: The command took longer than 1 s and was stopped.');
    } finally {
      await runner.close();
    }
  });

  test('where nothing runs, nothing is started, and nothing is made up for later', { timeout }, async () => {
    await forget();
    await deploy({ hello });
    const set = (change: object) =>
      all.home.platform.db.updateTable('environments').set(change).where('project_id', '=', project.projectId).execute();
    await set({ sleeping_since: new Date().toISOString() });
    expect((await environment()).deployment_state.crons).toEqual({ enabled: true, status: 'sleeping' });
    await lookAt(3.5);
    await set({ sleeping_since: null });
    await project.does('pause');
    expect((await environment()).deployment_state.crons).toEqual({ enabled: true, status: 'paused' });
    await lookAt(24 + 3.5);
    await project.does('resume');
    await lookAt(48 + 2);
    expect(await runs()).toEqual([]);
    await lookAt(48 + 3.5);
    // The cron was due, and the environment was paused before its turn came.
    await set({ status: 'paused' });
    await work();
    await set({ status: 'active' });
    const [run] = await runs();
    expect(run).toMatchObject({ state: 'complete', result: 'success' });
    expect(await linesOf(run?.id ?? '')).toEqual(['W: The environment is paused. The cron is not run.']);
  });

  test('a look costs as good as nothing, however many crons wait for their time', { timeout }, async () => {
    const { db } = all.home.platform;
    await sql`insert into environments (project_id, id, machine_name, title, type)
      select ${project.projectId}, 'b' || n, 'b' || n, 'b' || n, 'development' from generate_series(1, 10000) n`.execute(db);
    await sql`analyze environments`.execute(db);
    await sql`insert into crons (project_id, environment_id, app, name, spec, next_at)
      select ${project.projectId}, 'b' || n, 'app', 'cron', '*/5 * * * *', 'infinity' from generate_series(1, 10000) n`.execute(db);
    await sql`analyze crons`.execute(db);
    await lookAt(0);
    const read = await db.transaction().execute(async (tx) => {
      const before = await rowsRead(tx);
      await startCronsAt(Object.assign({ ...all.home.platform }, { db: tx }), at(0));
      return [...(await rowsRead(tx))].map(([table, rows]) => ({ table, rows: rows - (before.get(table) ?? 0) }));
    });
    expect(read.filter(({ rows }) => rows > rowsReadMax)).toEqual([]);
  });
});
