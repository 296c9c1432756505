import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Platform } from '../platform.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../testing/activities.ts';
import { openTestPlatform } from '../testing/platform.ts';
import { stormy } from '../testing/runner.ts';
import { sampleOrganization } from '../testing/samples.ts';
import { watchStalls } from '../testing/stalls.ts';
import { activity, CommandFailed, startActivity, type ActivityDefinition, type Start } from './activity.ts';
import { askToCancel, claim, releaseStaged } from './activity-queries.ts';
import { Problem } from './problem.ts';
import { startRunner } from './runner.ts';

let platform: Platform;
let databaseUrl: string;
let project_id: string;

const environment = (id: string, type = 'development') => ({ id, type });

const start = <Input>(definition: ActivityDefinition<any>, started: Partial<Start<Input>> = {}) =>
  platform.db.transaction().execute((tx) => startActivity(tx, definition, { project_id, input: {}, ...started }));

/** What happened in the outside world, by name; doing and undoing bear repetition. */
const world = new Set<string>();
const happened: string[] = [];

const build = activity({
  type: 'test.build',
  queue: 'default',
  input: Type.Object({ breaks: Type.Optional(Type.String()) }),
  run: async ({ input, step, record, log, command, progress, tell }, { db }) => {
    log('Building');
    await step(
      'make room',
      async () => void world.add('room'),
      async () => void world.delete('room'),
    );
    progress(50);
    await record(
      'write down',
      async (tx) => {
        await sql`insert into notes (text) values ('built') on conflict do nothing`.execute(tx);
      },
      async () => void (await sql`delete from notes`.execute(db)),
    );
    const size = await step('measure', async () => 42);
    tell({ size });
    command({ app: 'app', type: 'build', exit_code: 0 });
    if (input.breaks === 'problem') throw new Problem('conflict', 'There is no more room; remove something.');
    if (input.breaks === 'command') throw new CommandFailed('The build hook ended with 1.');
    log('Done');
  },
});

beforeAll(async () => {
  const home = await openTestPlatform();
  ({ platform, databaseUrl } = home);
  const { organization_id } = await sampleOrganization(await home.person());
  project_id = 'storm';
  await platform.db.insertInto('projects').values({ id: project_id, organization_id, region: 'here' }).execute();
  await sql`create table notes (text text primary key)`.execute(platform.db);
});

const notes = async () => (await sql<{ text: string }>`select text from notes`.execute(platform.db)).rows.length;
const logOf = async (id: string) =>
  (await platform.db.selectFrom('activity_log').selectAll().where('activity_id', '=', id).orderBy('position').execute()).map(
    ({ message }) => message,
  );
const work = (...definitions: ActivityDefinition<any>[]) => workThrough(platform, undefined, definitions);

const meetingMillisecondsMax = 60_000;
/** Until another has begun, too, however slow the machine is; in vain where they do not go side by side, which their order tells then. */
const meeting = async (hasBegun: () => boolean) => {
  const until = performance.now() + meetingMillisecondsMax;
  while (!hasBegun() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
};

const until = ({ signal }: AbortController) => signal.aborted || new Promise((resolve) => signal.addEventListener('abort', resolve));

describe('an activity', () => {
  test('runs its steps, keeps their results, and ends with what became known', async () => {
    const { id } = await start(build);
    await work(build);
    const row = await activityRow(platform, id);
    expect(row).toMatchObject({
      state: 'complete',
      result: 'success',
      failure_reason: null,
      completion_percent: 100,
      payload: { size: 42 },
      commands: [{ app: 'app', type: 'build', exit_code: 0 }],
    });
    expect(row.timings).toMatchObject({ wait: expect.any(Number), execute: expect.any(Number), make_room: expect.any(Number) });
    expect(await logOf(id)).toEqual(['Building\n', 'Done\n']);
    expect([world.has('room'), await notes()]).toEqual([true, 1]);
  });

  test('bears every step being interrupted after it was done', async () => {
    await sql`delete from notes`.execute(platform.db);
    const steps = await eachStepTwice(platform, () => start(build), [build]);
    expect(steps).toEqual(['make room', 'write down', 'measure']);
    expect([world.has('room'), await notes()]).toEqual([true, 1]);
  });

  test('that fails at any step leaves everything as it was', async () => {
    world.clear();
    await sql`delete from notes`.execute(platform.db);
    await failAtEachStep(
      platform,
      async () => {
        world.clear();
        await sql`delete from notes`.execute(platform.db);
        return start(build);
      },
      async () => expect([world.has('room'), await notes()]).toEqual([false, 0]),
      [build],
    );
  });

  test('can rest with its result, out of the way of others, until its lane is released', async () => {
    const careful = activity({
      type: 'test.careful',
      queue: 'default',
      input: Type.Object({ breaks: Type.Optional(Type.Boolean()) }),
      run: async ({ input, step, stage }) => {
        stage('one');
        await step('try', async () => {
          if (input.breaks) throw new CommandFailed('It cannot be built.');
        });
      },
    });
    const begin = (breaks: boolean) => start(careful, { input: { breaks }, environments: [environment('one'), environment('two')] });
    const [good, bad] = [await begin(false), await begin(true)];
    await work(careful);
    await eachStepTwice(platform, () => begin(false), [careful], 'staged');
    const later = await start(build, { environments: [environment('one')] });
    await work(build, careful);
    expect(await activityRow(platform, later.id)).toMatchObject({ state: 'complete' });
    const rests = { state: 'staged', staged_in: 'one', completion_percent: 100, completed_at: null };
    expect(await activityRow(platform, good.id)).toMatchObject({ ...rests, result: 'success' });
    expect(await activityRow(platform, bad.id)).toMatchObject({ ...rests, result: 'failure', failure_reason: 'shell' });
    const release = (lane: string) => platform.db.transaction().execute((tx) => releaseStaged(tx, project_id, lane));
    await release('two');
    expect(await activityRow(platform, good.id)).toMatchObject(rests);
    await release('one');
    const released = { state: 'complete', staged_in: null, completed_at: expect.any(String) };
    expect(await activityRow(platform, good.id)).toMatchObject({ ...released, result: 'success' });
    expect(await activityRow(platform, bad.id)).toMatchObject({ ...released, result: 'failure' });
  });

  test('goes on beside others that say so, one at a time of each name, while whoever says nothing has the environment alone', async () => {
    const order: string[] = [];
    const slow = activity({
      type: 'test.slow',
      queue: 'internal',
      input: Type.Object({ name: Type.String() }),
      run: async ({ input: { name }, step }) => {
        await step('take time', async () => {
          order.push(`${name} begins`);
          await new Promise((resolve) => setTimeout(resolve, 60));
          if (name === 'cron 1') await meeting(() => order.includes('task begins'));
          order.push(`${name} ends`);
        });
      },
    });
    const begin = (name: string, beside?: string) =>
      start(slow, { input: { name }, environments: [environment('busy')], ...(beside !== undefined && { beside }) });
    await begin('cron 1', 'cron web');
    await begin('task', 'task import');
    await begin('cron 2', 'cron web');
    await begin('deployment');
    await begin('cron 3', 'cron web');
    await work(slow);
    const at = (what: string) => order.indexOf(what);
    expect(at('task begins')).toBeLessThan(at('cron 1 ends'));
    expect(at('cron 2 begins')).toBeGreaterThan(at('cron 1 ends'));
    expect(order.slice(6)).toEqual(['deployment begins', 'deployment ends', 'cron 3 begins', 'cron 3 ends']);
  });

  test('lets those behind it pass when it is done with the environment, and ends when it is done, whoever runs it', async () => {
    const order: string[] = [];
    const [passing, deployed] = [new AbortController(), new AbortController()];
    const copying = activity({
      type: 'test.copying',
      queue: 'internal',
      input: Type.Object({}),
      run: async ({ step, letOthersPass }) => {
        await step('copy', async () => {
          await until(passing);
          order.push('copied');
        });
        await letOthersPass();
        await step('store', async (signal) => {
          order.push('storing');
          await Promise.race([until(deployed), once(signal, 'abort')]);
          signal.throwIfAborted();
          order.push('stored');
        });
      },
    });
    const deployment = activity({
      type: 'test.deployment',
      queue: 'internal',
      input: Type.Object({}),
      run: ({ step }) => step('deploy', async () => void order.push('deployed')),
    });
    const copy = await start(copying, { environments: [environment('copied')] });
    const { id } = await start(deployment, { environments: [environment('copied')] });
    const stateOf = async (which: string) => (await activityRow(platform, which)).state;
    const first = startRunner([copying, deployment], platform, { leaseSeconds: 2 });
    await expect.poll(() => stateOf(copy.id)).toBe('in_progress');
    expect(await stateOf(id)).toBe('pending');
    passing.abort();
    await expect.poll(() => stateOf(id)).toBe('complete');
    await expect.poll(() => order).toContain('storing');
    await first.close();
    expect(await stateOf(copy.id)).toBe('in_progress');
    deployed.abort();
    await work(copying);
    expect(await stateOf(copy.id)).toBe('complete');
    expect(order.toSorted()).toEqual(['copied', 'deployed', 'stored', 'storing', 'storing']);
  });

  test('is not kept waiting by any number of others that only follow something', async () => {
    const over = new AbortController();
    const follower = activity({
      type: 'test.follower',
      queue: 'internal',
      isPatient: true,
      input: Type.Object({}),
      run: ({ step }) => step('follow', async () => void (await until(over))),
    });
    const followers = await Promise.all(
      Array.from({ length: 5 }, (_, index) => start(follower, { environments: [environment('followed')], beside: `cron ${index}` })),
    );
    const runner = startRunner([build, follower], platform, { activitiesMax: 2, leaseSeconds: 2 });
    try {
      const states = () => Promise.all(followers.map(async ({ id }) => (await activityRow(platform, id)).state));
      await expect.poll(states).toEqual(followers.map(() => 'in_progress'));
      const { id } = await start(build);
      await expect.poll(async () => (await activityRow(platform, id)).state).toBe('complete');
    } finally {
      over.abort();
      await runner.close();
    }
  });

  test('says in its log why it failed, and whose fault it was', async () => {
    const [problem, command] = [await start(build, { input: { breaks: 'problem' } }), await start(build, { input: { breaks: 'command' } })];
    await work(build);
    expect(await logOf(problem.id)).toContain('E: There is no more room; remove something.\n');
    expect(await activityRow(platform, problem.id)).toMatchObject({ result: 'failure', failure_reason: 'error' });
    expect(await activityRow(platform, command.id)).toMatchObject({ result: 'failure', failure_reason: 'shell', completion_percent: 100 });
  });

  test('is tried again when something unexpected breaks it, from the step that broke', async () => {
    const done: string[] = [];
    const flaky = activity({
      type: 'test.flaky',
      queue: 'default',
      input: Type.Object({}),
      run: async ({ step }) => {
        await step('once', async () => void done.push('once'));
        await step('twice', async () => {
          if (done.push('twice') === 2) throw new TypeError('a bug');
        });
      },
    });
    const { id } = await start(flaky);
    await work(flaky);
    expect(done).toEqual(['once', 'twice', 'twice']);
    expect(await activityRow(platform, id)).toMatchObject({ state: 'complete', result: 'success', attempts: 1 });
  });

  test('goes on undoing where it was interrupted, in the order from the last step to the first', async () => {
    const undone: string[] = [];
    const fragile = activity({
      type: 'test.fragile',
      queue: 'default',
      input: Type.Object({}),
      run: async ({ step }) => {
        for (const name of ['one', 'two', 'three'])
          await step(
            name,
            async () => name,
            async (result) => {
              undone.push(`${name} ${result}`);
              if (name === 'two' && undone.length === 2) throw new TypeError('the first time it cannot');
            },
          );
        throw new Problem('conflict', 'It was not to be.');
      },
    });
    const { id } = await start(fragile);
    await work(fragile);
    expect(undone).toEqual(['three three', 'two two', 'two two', 'one one']);
    expect(await activityRow(platform, id)).toMatchObject({ state: 'complete', result: 'failure' });
    expect((await logOf(id)).filter((line) => line.includes('It was not to be.'))).toHaveLength(1);
  });

  test('does not exist if the change it follows from does not', async () => {
    const failing = platform.db.transaction().execute(async (tx) => {
      await startActivity(tx, build, { project_id, input: {}, parameters: { lost: true } });
      throw new Error('the change failed');
    });
    await expect(failing).rejects.toThrow('the change failed');
    const { rows } = await sql`select from activities where parameters @> '{"lost": true}'`.execute(platform.db);
    expect(rows).toEqual([]);
  });

  test('can be put off until later', async () => {
    const later = await start(build, { at: new Date(Date.now() + 3600_000), environments: [environment('later')] });
    const now = await start(build, { environments: [environment('later')] });
    expect(later.state).toBe('scheduled');
    await work(build);
    expect((await activityRow(platform, now.id)).state).toBe('complete');
    expect((await activityRow(platform, later.id)).state).toBe('scheduled');
    await sql`update activities set run_after = clock_timestamp() + interval '1 second' where id = ${later.id}`.execute(platform.db);
    const runner = startRunner([build], platform);
    await expect.poll(async () => (await activityRow(platform, later.id)).state).toBe('complete');
    await runner.close();
    const { rows } = await sql`select from activities where id = ${later.id} and started_at >= run_after`.execute(platform.db);
    expect(rows).toHaveLength(1);
  });

  test('is not begun once more by the runner that has it in hand, and was too late to say so', async () => {
    const { id } = await start(build);
    const places = [{ is_patient: false, free: 1, newcomers: 0, party_most: 2, outer_most: 2 }];
    const claimed = async (ids: string[]) => {
      const inHand = ids.map((each) => ({ id: each, is_patient: false }));
      return (await claim(platform.db, 'held up', { leaseSeconds: 0, capacity: places, patient: [], except: [], inHand })).map(
        (row) => row.id,
      );
    };
    expect(await claimed([])).toEqual([id]);
    expect(await claimed([id])).toEqual([]);
    expect(await claimed([])).toEqual([id]);
    await work(build);
    expect(await activityRow(platform, id)).toMatchObject({ state: 'complete', result: 'success' });
  });

  test('that is cancelled stops at its step, undoes what it did, and says so', async () => {
    const waiting = activity({
      type: 'test.waiting',
      queue: 'default',
      input: Type.Object({}),
      run: async ({ step }) => {
        await step(
          'do',
          async () => void happened.push('do'),
          async () => void happened.push('undo'),
        );
        await step('wait', (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))));
      },
    });
    const { id } = await start(waiting);
    const runner = startRunner([waiting], platform);
    await expect.poll(() => happened).toEqual(['do']);
    await platform.db.transaction().execute((tx) => askToCancel(tx, id));
    await expect.poll(async () => (await activityRow(platform, id)).state).toBe('cancelled');
    await runner.close();
    expect(happened).toEqual(['do', 'undo']);
    expect(await activityRow(platform, id)).toMatchObject({ result: 'failure', completion_percent: 100, cancelled_at: expect.any(String) });
  });
});

describe('who goes first', () => {
  const order: string[] = [];
  const slow = activity({
    type: 'test.slow',
    queue: 'default',
    input: Type.Object({ name: Type.String(), meets: Type.Optional(Type.String()) }),
    run: async ({ input: { name, meets }, step }) => {
      order.push(`${name} begins`);
      await step('work', async () => {
        // Long enough for another to begin that must not.
        await new Promise((resolve) => setTimeout(resolve, 300));
        if (meets !== undefined) await meeting(() => order.includes(`${meets} begins`));
      });
      order.push(`${name} ends`);
    },
  });
  const queued = (name: string, environments: { id: string; type: string }[], meets?: string) =>
    start(slow, { input: { name, ...(meets !== undefined && { meets }) }, environments });

  test('one environment is worked on by one activity at a time; others go ahead', async () => {
    order.length = 0;
    await queued('a1', [environment('a')], 'b1');
    await queued('a2', [environment('a')]);
    await queued('b1', [environment('b')], 'a1');
    await work(slow);
    expect(order.slice(0, 2).toSorted()).toEqual(['a1 begins', 'b1 begins']);
    expect(order.indexOf('a2 begins')).toBeGreaterThan(order.indexOf('a1 ends'));
  });

  test('an activity of two environments waits for both, and both wait for it', async () => {
    order.length = 0;
    await queued('a', [environment('a')]);
    await queued('both', [environment('a'), environment('b')]);
    await queued('b', [environment('b')]);
    await work(slow);
    expect(order).toEqual(['a begins', 'a ends', 'both begins', 'both ends', 'b begins', 'b ends']);
  });

  test('no more than two of a project run at once, and production goes first', async () => {
    order.length = 0;
    await queued('a', [environment('a')], 'live');
    for (const name of ['b', 'c']) await queued(name, [environment(name)]);
    await queued('live', [environment('live', 'production')], 'a');
    await work(slow);
    let count = 0;
    const running = order.map((line) => (count += line.endsWith('begins') ? 1 : -1));
    expect(Math.max(...running)).toBe(2);
    expect(order.slice(0, 2)).toContain('live begins');
  });
});

describe('a log', () => {
  test('is told from its beginning, as it grows, to any number of watchers, and ends', async () => {
    const watchers = 500;
    const rounds = Array.from({ length: 10 }, (_, round) => `round ${round}`);
    // A round begins when all have heard the one before: nothing is kept back until there is more, or until the end.
    const heard = new Map(['two', ...rounds].map((line) => [`${line}\n`, { left: watchers, byAll: Promise.withResolvers<void>() }]));
    const talk = activity({
      type: 'test.talk',
      queue: 'default',
      input: Type.Object({}),
      run: async ({ log, step }) => {
        log('one\ntwo');
        let before = 'two\n';
        for (const round of rounds) {
          await step(`wait for ${round}`, async () => heard.get(before)?.byAll.promise);
          log(round);
          before = `${round}\n`;
        }
      },
    });
    const { id } = await start(talk);
    const watch = async () => {
      const lines: string[] = [];
      for await (const rows of platform.logs.follow(id, new AbortController().signal)) {
        for (const { message } of rows ?? []) {
          lines.push(message);
          const line = heard.get(message);
          if (line && (line.left -= 1) === 0) line.byAll.resolve();
        }
        if (!rows) lines.push('sealed');
      }
      return lines;
    };
    const watching = Promise.all(Array.from({ length: watchers }, watch));
    await work(talk);
    for (const lines of [...(await watching), await watch()]) expect(lines).toEqual(['one\n', ...heard.keys(), 'sealed']);
  });

  test('is bounded, and bears what cannot be stored', async () => {
    const chatty = activity({
      type: 'test.chatty',
      queue: 'default',
      input: Type.Object({}),
      run: async ({ log }) => {
        log('nul \0 and half a pair \ud800');
        for (let n = 0; n < 1200; n += 1) log('x'.repeat(10_000));
      },
    });
    const { id } = await start(chatty);
    await work(chatty);
    const lines = await logOf(id);
    expect(lines[0]).toBe('nul  and half a pair \ufffd\n');
    expect(lines.length).toBeLessThan(1100);
    expect(lines.at(-1)).toMatch(/too long to keep/);
  });
});

describe('a storm', () => {
  const [environments, runners, kills] = [50, 3, 12];
  /** Each kill has work of its own, of which half is left when it comes: however fast the machine, the work does not run out before the kills do. */
  const [activitiesBefore, activitiesPerKill] = [260, 20];
  const activities = activitiesBefore + kills * activitiesPerKill;
  /** From the last thing that a killed runner did to the next that another does. */
  const recoveryMillisecondsMax = 15_000;

  const launch = async () => {
    const runner = fork(join(import.meta.dirname, '..', 'testing', 'runner.ts'), [databaseUrl], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(runner, 'message');
    return runner;
  };
  const ended = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from activities where type = ${stormy.type} and state = 'complete'`.execute(platform.db);
    return rows[0]?.count ?? 0;
  };
  const untilEnded = async (count: number) => {
    while ((await ended()) < count) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  test('kills one runner after another: each ends once, nothing is done twice, the order holds', { timeout: 600_000 }, async () => {
    await sql`create table storm (activity text, step text, environment text, at timestamptz not null default clock_timestamp())`.execute(
      platform.db,
    );
    let started = 0;
    const startMore = async (count: number) => {
      for (const end = started + count; started < end; started += 1) {
        const id = `env-${started % environments}`;
        await start(stormy, { input: { environment: id }, environments: [environment(id)] });
      }
    };
    const watching = watchStalls(async () => ({ once: () => sql`select`.execute(platform.db) }));
    onTestFinished(async () => void (await watching.stop()));
    await startMore(activitiesBefore);
    const alive = await Promise.all(Array.from({ length: runners }, launch));
    for (let kill = 0; kill < kills; kill += 1) {
      const before = await ended();
      await startMore(activitiesPerKill);
      await untilEnded(before + activitiesPerKill / 2);
      alive.splice(Math.floor(Math.random() * runners), 1)[0]?.kill('SIGKILL');
      alive.push(await launch());
    }
    await untilEnded(activities);
    for (const runner of alive) runner.kill('SIGKILL');

    const rows = await platform.db.selectFrom('activities').selectAll().where('type', '=', stormy.type).orderBy('position').execute();
    expect(rows.every(({ state, result }) => state === 'complete' && result === 'success')).toBe(true);
    const { rows: effects } = await sql<{
      activity: string;
      step: string;
      environment: string;
      at: string;
    }>`select * from storm order by at`.execute(platform.db);
    expect(effects).toHaveLength(activities * 3);
    const longestPause = ({ id, fence }: (typeof rows)[number]) => {
      const times = effects.filter((effect) => effect.activity === id).map(({ at }) => Date.parse(at));
      const pause = (from: number, to: number) => to - from - watching.between(from, to).sumMilliseconds;
      const longest = Math.max(...times.slice(1).map((time, n) => pause(times[n] ?? time, time)));
      /** Whoever took it over may have been killed, too. */
      return longest / Math.max(1, fence - 1);
    };
    const takenOver = rows.filter(({ fence }) => fence > 1);
    expect(takenOver.length).toBeGreaterThan(0);
    /** What a pause is without a kill on this machine, which others use too. */
    const machineMilliseconds = Math.max(...rows.filter(({ fence }) => fence === 1).map(longestPause));
    expect(Math.max(...takenOver.map(longestPause)) - machineMilliseconds).toBeLessThan(recoveryMillisecondsMax);
    expect(new Set(effects.map(({ activity: id, step }) => `${id} ${step}`)).size).toBe(activities * 3);
    for (let n = 0; n < environments; n += 1) {
      const id = `env-${n}`;
      const expected = rows
        .filter((row) => row.environments.includes(id))
        .flatMap((row) => ['first', 'second', 'third'].map((step) => `${row.id} ${step}`));
      expect(effects.filter((effect) => effect.environment === id).map((effect) => `${effect.activity} ${effect.step}`)).toEqual(expected);
    }
  });
});
