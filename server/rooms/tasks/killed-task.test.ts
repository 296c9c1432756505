import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { startActivity } from '../../kernel/activity.ts';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { beginPush, loadRunner, makeMachine, openRunning, removeMachine, type Asked } from '../../testing/killed-runner.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { sealGiven } from '../variables/public.ts';
import { runOf, runTaskActivity } from './run-task.ts';

const files = {
  '.upsun/config.yaml': `
applications:
  app: { type: nodejs:22, build: { flavor: none }, mounts: { shared: { source: storage, source_path: shared } }, web: { commands: { start: node server.js } } }
tasks:
  counter:
    type: nodejs:22
    mounts: { kept: { source: storage, source_path: kept } }
    hooks: { deploy: echo x >>kept/begun }
    run: { command: sh counter.sh }
`,
  // Half way, the script waits until it may go on; some lines later it leaves a file that shows that it did.
  'counter.sh': `
for n in $(seq 60); do
  echo line $n; sleep 0.05
  [ $n -ne 30 ] || until [ -e kept/go ]; do sleep 0.05; done
  [ $n -ne 45 ] || touch kept/went
done
wc -l <kept/begun; exit 6`,
  'server.js': `require('node:http').createServer((request, reply) => reply.end()).listen(process.env.PORT, '0.0.0.0');`,
};

test.runIf(canRunContainers)(
  `a task goes on when the process that runs it is killed: the next one hears all of it once, and its end${whyNoContainers}`,
  { timeout: 300_000 },
  async () => {
    const home = await openTestPlatform();
    const { projectId: project_id } = await sampleProject(await home.person());
    const { git } = home.platform;
    const asked = makeMachine(home);
    const lines = async (id: string) => {
      const { rows } = await sql<{ message: string }>`
        select message from activity_log where activity_id = ${id} order by position`.execute(home.platform.db);
      return rows.map(({ message }) => message.trimEnd());
    };
    try {
      const id = await deployed(asked, project_id, commitFiles(git.path(project_id), undefined, files));
      await runAndKill(asked, async () => (await lines(id)).includes('    line 10'));
      const { platform, machine, leave } = await openRunning(asked);
      const containers = async () => (await machine.runtime.list()).map(({ name }) => name).filter((name) => name.includes('-task-'));
      const [container = '', ...others] = await containers();
      expect([container, others]).toEqual([expect.stringContaining(id), []]);
      const goOn = 'cd /app/kept && touch go && until [ -e went ]; do sleep 0.05; done';
      const goingOn = await machine.runtime.exec(container, { argv: ['dash', '-c', goOn] });
      expect(await goingOn.exited).toBe(0);
      await workThrough(platform);
      expect(await activityRow(platform, id)).toMatchObject({
        state: 'complete',
        result: 'failure',
        failure_reason: 'shell',
        commands: [
          { app: 'counter', type: 'deploy', exit_code: 0 },
          { app: 'counter', type: 'task', exit_code: 6 },
        ],
      });
      expect((await lines(id)).filter((line) => line.startsWith('    '))).toEqual([
        ...Array.from({ length: 60 }, (_, n) => `    line ${n + 1}`),
        '    1',
      ]);
      expect(await containers()).toEqual([]);
      await leave();
    } finally {
      await removeMachine(asked);
    }
  },
);

/** Deploys the commit, and answers with a new activity that is to run its task. */
async function deployed(asked: Asked, project_id: string, commit: string): Promise<string> {
  const { platform, leave } = await openRunning(asked);
  const { db, secrets } = platform;
  const push = await beginPush(platform, project_id, commit);
  await workThrough(platform);
  expect(await activityRow(platform, push.id)).toMatchObject({ result: 'success' });
  const variables_sealed = sealGiven(secrets, runOf(project_id, 'main', 'counter'), []);
  const { id } = await db.transaction().execute((tx) =>
    startActivity(tx, runTaskActivity, {
      project_id,
      environments: [{ id: 'main', type: 'production' }],
      beside: 'task counter',
      input: { environment: 'main', task: 'counter', variables_sealed },
    }),
  );
  await leave();
  return id;
}

const lookMilliseconds = 50;

async function runAndKill(asked: Asked, until: () => Promise<boolean>) {
  const runner = loadRunner(asked);
  runner.go();
  while (runner.isAlive() && !(await until())) await sleep(lookMilliseconds);
  expect(await runner.kill()).toBe('');
}
