import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { logFile } from '../../../drivers/logs/log-folders.ts';
import { endOldExecutions } from '../../../drivers/runtime/runc/exec.ts';
import { openRuntimeFolders } from '../../../drivers/runtime/runc/runtime-folders.ts';
import { startActivity } from '../../../kernel/activity.ts';
import { startRunner } from '../../../kernel/runner.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../../testing/activities.ts';
import { openTestDeployments, type TestDeployments } from '../../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { stackLogs } from './app-logs.ts';
import { shellScript } from './lasting-command.ts';
import { currentlyDeployed, type Deployed } from '../queries.ts';
import type { LastingRun } from './run-lasting.ts';
import { lastingActivity, type Asked } from './test-lasting-runner.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const secondsMax = 600;
const usual = { app: 'app', type: 'test', secondsMax, stop: { script: null, secondsMax: 60 } };

const content = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    source: { root: app }
    variables: { env: { COLOR: red } }
    mounts: { data: { source: storage, source_path: data } }
    web: { commands: { start: exec node server.js } }
  files:
    type: nodejs:22
    build: { flavor: none }
    source: { root: files }
    web: { locations: { /: { root: public } } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'app/server.js': `require('node:http').createServer((_, reply) => reply.end('{}')).listen(process.env.PORT, '0.0.0.0');`,
  'app/.environment': 'export FROM_FILE=blue\n',
  'files/public/index.html': 'hello',
};

describe.runIf(canRunContainers)(`commands that outlive the platform${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: Awaited<ReturnType<TestDeployments['project']>>;
  let deployed: Deployed;
  const definition = lastingActivity(() => deployed);

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
    project = await all.project();
    await project.push(content);
    const { db, secrets } = all.home.platform;
    const found = await currentlyDeployed(db, secrets, project.projectId, 'main');
    if (!found) throw new Error('Nothing is deployed');
    deployed = found;
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const begin = (input: Partial<Omit<LastingRun, 'deployed'>> & Pick<LastingRun, 'argv'>) =>
    all.home.platform.db.transaction().execute((tx) =>
      startActivity(tx, definition, {
        project_id: project.projectId,
        environments: [{ id: 'main', type: 'production' }],
        input: { ...usual, ...input },
      }),
    );
  const lines = async (id: string): Promise<string[]> => {
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(all.home.platform.db);
    return rows.map(({ message }) => message.replace('\n', ''));
  };
  const ended = async ({ id }: { id: string }) => {
    await workThrough(all.home.platform, undefined, [definition]);
    const { state, result, failure_reason } = await activityRow(all.home.platform, id);
    return { state, result, failure_reason, lines: await lines(id) };
  };
  const run = async (input: Parameters<typeof begin>[0]) => ended(await begin(input));
  const waitForLines = async (id: string, count: number) => {
    for (let looks = 0; (await lines(id)).length < count; looks++) {
      if (looks > 3000) throw new Error(`Only ${(await lines(id)).join('\n')} was said`);
      await sleep(20);
    }
  };
  const traces = () => project.inside('ls /run/offshoot-commands');

  test('it runs with the variables of its app; arguments stay what they are, and what is secret is not shown', { timeout }, async () => {
    const script = 'echo "$COLOR $FROM_FILE $PLATFORM_PROJECT_ENTROPY"; pwd; printf "%s|" "$@"; echo; echo oops >&2; exit 3';
    const { lines } = await run({ argv: shellScript(script, 'a b', '$(id)', "'") });
    expect(lines).toEqual(['    red blue *****', '    /app', "    a b|$(id)|'|", '    oops', 'It ended with 3']);
    expect((await run({ argv: ['no-such-program', 'x'] })).lines.at(-1)).toBe('It ended with 127');
    expect(await traces()).toBe('');
  });

  test('an app without instances has a container for it, for as long as it takes', { timeout }, async () => {
    const before = await project.found();
    expect((await run({ app: 'files', argv: shellScript('cat public/index.html; hostname') })).lines.at(-1)).toBe('It ended with 0');
    await eachStepTwice(all.home.platform, () => begin({ app: 'files', argv: shellScript('cat public/index.html') }), [definition]);
    expect(await project.found()).toEqual(before);
  });

  /** Says forty lines and how often it was begun; half way it waits until it is let go on, and after some more it tells that it did. */
  const counting = shellScript(`echo run >>data/runs; n=0
    while [ $n -lt 40 ]; do
      n=$((n+1)); echo line $n; sleep 0.05
      [ $n -ne 20 ] || until [ -e data/go ]; do sleep 0.05; done
      [ $n -ne 30 ] || touch data/went
    done; exit 7`);
  /** And it does, whoever hears it. */
  const letGoOn = () => project.inside('touch data/go; until [ -e data/went ]; do sleep 0.05; done; rm data/go data/went');
  const counted = Array.from({ length: 40 }, (_, n) => `line ${n + 1}`);
  const runs = async () => project.inside('cat data/runs; rm data/runs');
  const inAppLog = () =>
    readFileSync(logFile(stackLogs(all.machine, deployed.stack), 'app', 'cron'), 'utf8')
      .trim()
      .split('\n');

  test(
    'a kill -9 of the platform in the middle: it is not run again, and every line and its exit code arrive once',
    { timeout },
    async () => {
      const { id } = await begin({ argv: counting, log: { name: 'cron', heading: 'Launching it' } });
      const asked: Asked = { databaseUrl: all.home.databaseUrl, folder: all.folder, logs: all.machine.logs, deployed };
      const child = spawn(process.execPath, [join(import.meta.dirname, 'test-lasting-runner.ts'), JSON.stringify(asked)], {
        stdio: 'inherit',
      });
      await waitForLines(id, 8);
      child.kill('SIGKILL');
      await once(child, 'close');
      expect((await lines(id)).length).toBeLessThan(40);
      await letGoOn();
      // As a platform does that starts: what another left in containers is ended.
      const [instance] = await project.instances();
      endOldExecutions(openRuntimeFolders(join(all.folder, 'runtime'), { runFolder: join(all.folder, 'run') }), instance?.id ?? '');
      const after = await ended({ id });
      expect(after).toMatchObject({ result: 'success', lines: [...counted.map((line) => `    ${line}`), 'It ended with 7'] });
      expect(inAppLog()).toEqual([expect.stringMatching(/^\[.*\] Launching it \(activity /), ...counted]);
      expect([await runs(), await traces()]).toEqual(['run', '']);
    },
  );

  test('a platform that is stopped leaves it to the next; steps that are done twice run it once', { timeout }, async () => {
    const { platform } = all.home;
    const { id } = await begin({ argv: counting });
    const runner = startRunner([definition], platform);
    await waitForLines(id, 5);
    await runner.close();
    expect((await activityRow(platform, id)).state).toBe('in_progress');
    await letGoOn();
    expect((await ended({ id })).lines).toEqual([...counted.map((line) => `    ${line}`), 'It ended with 7']);
    expect(await runs()).toBe('run');
    const steps = await eachStepTwice(platform, () => begin({ argv: shellScript('echo run >>data/runs') }), [definition]);
    expect(steps).toEqual(['prepare the command', 'run the command', 'clean up after the command']);
    await failAtEachStep(
      platform,
      () => begin({ argv: shellScript('true') }),
      async () => expect(await traces()).toBe(''),
      [definition],
    );
    expect([await runs(), await traces()]).toEqual(['run', '']);
  });

  test('one that ended in time while no platform ran is not told to be late; one that is late has an exit code', { timeout }, async () => {
    const { platform } = all.home;
    const begunAndLeft = async (script: string) => {
      const { id } = await begin({ argv: shellScript(script) });
      const runner = startRunner([definition], platform);
      await waitForLines(id, 1);
      await runner.close();
      return { id };
    };
    /** By the clock of a platform that comes only when its time is over. */
    const endedAfterItsTime = async (activity: { id: string }) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + secondsMax * 1000 });
      return ended(activity).finally(() => void vi.useRealTimers());
    };
    const { id } = await begunAndLeft('echo run >>data/runs; echo begun; until [ -e data/end ]; do sleep 0.05; done; exit 4');
    await project.inside(`touch data/end; until [ -e /run/offshoot-commands/${id}/code ]; do sleep 0.05; done; rm data/end`);
    expect(await endedAfterItsTime({ id })).toMatchObject({ result: 'success', lines: ['    begun', 'It ended with 4'] });
    expect(await runs()).toBe('run');
    const late = await begunAndLeft('echo begun; sleep 600');
    expect(await endedAfterItsTime(late)).toMatchObject({ result: 'failure' });
    for (const [which, exit_code] of [
      [id, 4],
      [late.id, 143],
    ] as const)
      expect((await activityRow(platform, which)).commands).toEqual([{ app: 'app', type: 'test', exit_code }]);
  });

  test(
    'it is stopped when it takes too long or is cancelled: as it wants to be, by SIGTERM, and at last by SIGKILL',
    { timeout },
    async () => {
      const deaf = shellScript('trap "" TERM; echo deaf; while :; do sleep 0.1; done');
      const late = await run({ argv: deaf, secondsMax: 1, stop: { script: null, secondsMax: 1 } });
      expect(late).toMatchObject({ state: 'complete', result: 'failure', failure_reason: 'shell' });
      expect(late.lines).toContain('E: The command took longer than 1 s and was stopped.');

      for (const [argv, stop, word] of [
        [shellScript('trap "echo by signal; exit" TERM; echo begun; while :; do sleep 0.1; done'), null, 'by signal'],
        [shellScript('echo begun; until [ -e /tmp/end ]; do sleep 0.1; done; echo by itself'), 'touch /tmp/end', 'by itself'],
        [shellScript('trap "echo by signal; exit" TERM; echo begun; while :; do sleep 0.1; done'), 'false', 'by signal'],
      ] as const) {
        const { id } = await begin({ argv, stop: { script: stop, secondsMax: 60 } });
        const runner = startRunner([definition], all.home.platform, { leaseSeconds: 2 });
        await waitForLines(id, 1);
        await all.home.platform.db
          .updateTable('activities')
          .set({ cancel_requested_at: sql<string>`now()` })
          .where('id', '=', id)
          .execute();
        for (let looks = 0; (await activityRow(all.home.platform, id)).state === 'in_progress' && looks < 3000; looks++) await sleep(20);
        await runner.close();
        expect((await activityRow(all.home.platform, id)).state).toBe('cancelled');
        // A shell may tell of its child.
        const said = (await lines(id)).filter((line) => line !== '    Terminated');
        expect(said).toEqual(['    begun', `    ${word}`, 'The activity was cancelled.']);
      }
      expect([await traces(), await project.inside('grep -l sleep /proc/[0-9]*/comm || true')]).toEqual(['', '']);
    },
  );

  test('however much it says, it is not kept waiting, and its last lines are there', { timeout }, async () => {
    const { lines } = await run({ argv: shellScript('seq 1 800000; echo the end') });
    expect(lines.findLast((line) => line.startsWith('    '))).toBe('    the end');
    expect(lines.length).toBeLessThan(25_000);
    expect(lines).toEqual(expect.arrayContaining([expect.stringContaining('more lines are left out here'), '    1', '    2']));
  });

  test('one whose container goes away fails with a sentence, and is not run again', { timeout }, async () => {
    const { id } = await begin({ argv: shellScript('echo run >>data/runs; echo begun; sleep 600') });
    const runner = startRunner([definition], all.home.platform, { leaseSeconds: 2 });
    await waitForLines(id, 1);
    const [instance] = await project.instances();
    await all.machine.runtime.remove(instance?.id ?? '');
    await runner.close();
    const gone = await ended({ id });
    expect(gone).toMatchObject({ state: 'complete', result: 'failure', failure_reason: 'error' });
    expect(gone.lines.at(-1)).toMatch(/^E: The command ended with its container, .* It is not run again\.$/);
    expect((await run({ argv: shellScript('true') })).lines).toEqual([
      "E: No instance of 'app' is running, so the command cannot be run; try again when one is.",
    ]);
  });
});
