/** What was paused or asleep when its machine was lost, on a real machine. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachStepTwice, failAtEachStep } from '../../testing/activities.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { forgetStack } from '../deployments/work.ts';
import { deployments } from '../deployments/room.ts';
import { newestBackup, startRecovery } from './recover-environments.ts';
import { drillFiles, openDrill, smallFiles, type DrilledProject } from './test-drill.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

/** An app that asks its database. */
function files() {
  const small = smallFiles('one', { services: '{ pg: { type: "postgresql:17" } }' });
  const config = small['.upsun/config.yaml']?.replace('relationships: {}', 'relationships: { pg: "pg:postgresql" }') ?? '';
  return { ...small, '.upsun/config.yaml': config, 'client.sh': drillFiles('one')['client.sh'] ?? '' };
}

describe.runIf(canRunContainers)(`an environment that did not run when its machine was lost${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: DrilledProject;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'postgresql:17']) await all.machine.images.ensure(type);
    project = await openDrill(all);
    // Production does not sleep.
    await sql`update environments set type = 'development' where project_id = ${project.projectId}`.execute(all.home.platform.db);
    await project.release(files());
    await ask('create table words (word text); insert into words values ($$then$$)');
    await project.backUp(false);
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const ask = (statement: string) => project.inside(`dash /app/client.sh pg '${statement}'`);

  /** Forgets the stack of the environment, and removes all that the machine had of it. */
  async function lose() {
    const { platform } = all.home;
    await platform.db.transaction().execute((tx) => forgetStack(tx, project.projectId, 'main'));
    for (const { name } of await all.machine.runtime.list()) await all.machine.runtime.remove(name);
    for (const { name } of await all.machine.volumes.list()) await all.machine.volumes.remove(name);
  }

  const loseAndRecover = (state: 'paused' | 'asleep') => async () => {
    await lose();
    const { db, config } = all.home.platform;
    const backup = await newestBackup(db, project.projectId, 'main');
    if (!backup) throw new Error('There is no backup');
    const recovery = { project_id: project.projectId, environment_id: 'main', backup, rest: state };
    return db.transaction().execute((tx) => startRecovery(tx, config.domain, recovery));
  };
  /** Runs the work on a machine that has nothing left to give: what does not run needs nothing of it. */
  async function whileFull<T>(work: () => Promise<T>): Promise<T> {
    const { platform } = all.home;
    const { config } = platform;
    platform.config = { ...config, overcommit: { cpu: 1e-6, memory: 1e-6, disk: 1e-6 } };
    return work().finally(() => (platform.config = config));
  }
  const onTheMachine = async () => ({ containers: await all.machine.runtime.list(), volumes: await all.machine.volumes.list() });

  /** Wakes the environment as after a kill at the moment at which somebody visited it. */
  async function wake() {
    const { platform } = all.home;
    await sql`update environments set sleeping_since = null, is_waking = true where project_id = ${project.projectId}`.execute(platform.db);
    const keepRunning = deployments.reconcilers?.find(({ name }) => name === 'keep stacks running');
    await keepRunning?.run(platform, new AbortController().signal);
  }

  test('is asleep again with its data, and whoever visits it finds that; each step bears being done twice', { timeout }, async () => {
    await whileFull(() => eachStepTwice(all.home.platform, loseAndRecover('asleep')));
    expect(await project.row()).toMatchObject({ status: 'active', sleeping_since: expect.any(String) });
    expect((await project.table())?.state).toBe('sleeping');
    expect((await onTheMachine()).containers).toEqual([]);
    await wake();
    // The app still has the password that the database expects.
    expect(await ask('select * from words')).toBe('then');
  });

  test('is paused again, and resumes with its data; what fails on the way leaves nothing', { timeout }, async () => {
    const failed = await failAtEachStep(all.home.platform, loseAndRecover('paused'), async (step) => {
      const isCurrent = step === 'tell edge';
      const { status } = await project.row();
      const hasData = (await onTheMachine()).volumes.some(({ name }) => !name.startsWith('slug-'));
      expect({ step, status, hasData }).toEqual({ step, status: isCurrent ? 'paused' : 'inactive', hasData: isCurrent });
    });
    expect(failed).toContain('replace data');
    expect(await project.row()).toMatchObject({ status: 'paused', sleeping_since: null });
    expect((await onTheMachine()).containers).toEqual([]);
    await project.does('resume');
    expect(await ask('select * from words')).toBe('then');
  });
});
