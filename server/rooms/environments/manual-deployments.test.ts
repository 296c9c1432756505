import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { startRebuild } from './start-rebuild.ts';
import { filesOf, openRunningProject } from './test-running-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const manual = { enable_manual_deployments: true };
const automatic = { enable_manual_deployments: false };

describe.runIf(canRunContainers)(`manual deployments${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  test('what changes is built, waits, and is deployed together when somebody says so', { timeout }, async () => {
    const project = await openRunningProject(all);
    expect((await project.send('PATCH', '/settings', manual)).status).toBe(409);
    await project.push(filesOf('one'));
    expect((await project.environment())._links).not.toHaveProperty('#deploy');
    expect((await project.send('POST', '/deploy', {})).status).toBe(409);
    expect((await project.send('PATCH', '/settings', manual)).json._embedded).toMatchObject({ entity: manual, activities: [] });
    expect((await project.environment())._links).toHaveProperty('#deploy');
    const before = await project.ask();

    const pushed = await project.push(filesOf('two'));
    expect(pushed).toMatchObject({ state: 'staged', result: 'success' });
    expect(pushed.log).toMatch(/Building application 'app'.*The changes are staged/s);
    expect(pushed.log).not.toContain('Redeploying');
    const color = { name: 'env:COLOR', value: 'red' };
    expect(await project.act('POST', '/variables', color)).toMatchObject({ state: 'staged', result: 'success' });
    const closed = { http_access: { basic_auth: { ada: 'secret word' } } };
    expect(await project.act('PATCH', '', closed)).toMatchObject({ type: 'environment.update.http_access', state: 'staged' });
    const larger = { webapps: { app: { instance_count: 2 } } };
    expect(await project.act('PATCH', '/deployments/next', larger)).toMatchObject({ state: 'staged', result: 'success' });
    expect(await project.ask()).toEqual(before);
    expect(await project.environment()).toMatchObject({ has_staged_activities: true, is_dirty: false });
    expect((await project.staged()).map(({ type }) => type)).toEqual([
      'environment.resources.update',
      'environment.update.http_access',
      'environment.variable.create',
      'environment.push',
    ]);
    expect((await project.send('POST', `/activities/${pushed.id}/cancel`)).json).toMatchObject({
      message: expect.stringContaining('cannot be cancelled in its current state'),
    });

    expect(await project.act('POST', '/redeploy', {})).toMatchObject({ result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'one' });
    expect(await project.ask()).not.toEqual(before);
    expect([await project.staged(), await project.instances()]).toMatchObject([{ length: 4 }, { length: 1 }]);
    expect(await project.act('POST', '/rollback', {})).toMatchObject({ result: 'success' });
    expect(await project.ask()).not.toHaveProperty('color');
    expect((await project.table())?.http_access).not.toHaveProperty('basic_auth.ada');
    expect([await project.staged(), await project.instances()]).toMatchObject([{ length: 4 }, { length: 1 }]);

    const deployed = await project.act('POST', '/deploy', { strategy: 'stopstart' });
    expect(deployed).toMatchObject({ type: 'environment.deploy', state: 'complete', result: 'success' });
    expect(deployed.log).toMatch(/Deploying the staged changes:\n.*pushed to.*\n.*added variable env:COLOR/);
    expect([await project.ask(), await project.instances()]).toMatchObject([{ version: 'two', color: 'red' }, { length: 2 }]);
    expect((await project.table())?.http_access).toMatchObject({ basic_auth: { ada: expect.any(String) } });
    expect(await project.staged()).toEqual([]);
    expect(await activityRow(all.home.platform, pushed.id)).toMatchObject({ state: 'complete', result: 'success', staged_in: null });
    expect(await project.environment()).toMatchObject({ has_staged_activities: false, can_rolling_deploy: true });

    await project.push(filesOf('three'));
    expect(await project.act('PATCH', '/settings', automatic)).toMatchObject({ type: 'environment.deploy', result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'three' });
    expect((await project.environment())._links).not.toHaveProperty('#deploy');
    expect(await project.push(filesOf('four'))).toMatchObject({ state: 'complete', result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'four' });
  });

  test('a build that fails shows while nothing else changes; a deployment that fails leaves everything staged', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    await project.send('PATCH', '/settings', manual);
    const failed = await project.push(filesOf('two', { build: 'exit 3' }));
    expect(failed).toMatchObject({ state: 'staged', result: 'failure', failure_reason: 'shell' });
    expect(failed.log).toContain("Unable to build application 'app'");
    const state = { last_deployment_successful: true };
    expect(await project.environment()).toMatchObject({ can_rolling_deploy: true, deployment_state: state });
    expect(await project.act('POST', '/deploy', {})).toMatchObject({ state: 'complete', result: 'failure' });
    expect(await project.environment()).toMatchObject({ can_rolling_deploy: false, has_staged_activities: true });
    const refused = await project.send('POST', '/deploy', { strategy: 'rolling' });
    expect(refused).toMatchObject({ status: 409, json: { message: expect.stringContaining('Could not perform a rolling deployment') } });
    expect(await project.ask()).toMatchObject({ version: 'one' });
    await project.push(filesOf('three'));
    expect(await project.act('POST', '/deploy', { strategy: 'stopstart' })).toMatchObject({ result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'three' });
    expect(await activityRow(all.home.platform, failed.id)).toMatchObject({ state: 'complete', result: 'failure' });
    await project.push(filesOf('four'));
    expect(await project.act('POST', '/deploy', { strategy: 'rolling' })).toMatchObject({ result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'four' });
  });

  test(
    'staging and deploying bear a kill after each step; what fails before it is current stays staged',
    { timeout: 2 * timeout },
    async () => {
      const project = await openRunningProject(all);
      const { platform } = all.home;
      await project.push(filesOf('one'));
      await project.send('PATCH', '/settings', manual);
      await eachStepTwice(platform, () => project.beginPush(filesOf('two')), undefined, 'staged');
      let serving = 'one';
      await failAtEachStep(
        platform,
        () => project.begin('POST', '/deploy', { strategy: 'stopstart' }),
        async (step) => {
          if (step === 'clean up') serving = 'two';
          expect([step, await project.ask()]).toMatchObject([step, { version: serving }]);
          expect([step, (await project.staged()).length]).toEqual([step, serving === 'one' ? 1 : 0]);
        },
      );
      await project.push(filesOf('three'));
      const steps = await eachStepTwice(platform, () => project.begin('POST', '/deploy', { strategy: 'rolling' }));
      expect(steps).toEqual(expect.arrayContaining(['list staged changes', 'build app', 'make current', 'clean up']));
      expect([await project.ask(), await project.staged()]).toMatchObject([{ version: 'three' }, []]);
    },
  );

  test('what was built and is lost is built again as it was; what is staged stays so', { timeout }, async () => {
    const project = await openRunningProject(all);
    const { platform } = all.home;
    await project.act('POST', '/variables', { name: 'env:COLOR', value: 'red' });
    await project.push(filesOf('one'));
    await project.send('PATCH', '/settings', manual);
    await project.push(filesOf('two'));
    await project.act('PATCH', '/variables/env:COLOR', { value: 'blue' });
    const slugs = (await all.machine.volumes.list())
      .map(({ name }) => name)
      .filter((name) => name.startsWith(`slug-${project.projectId}-`));
    for (const { name } of await all.machine.runtime.list()) await all.machine.runtime.remove(name);
    for (const name of slugs) await all.machine.volumes.remove(name);
    await platform.db.transaction().execute((tx) => startRebuild(tx, platform.config.domain, project.projectId, 'main'));
    await workThrough(platform);
    expect([await project.ask(), await project.staged()]).toMatchObject([{ version: 'one', color: 'red' }, { length: 2 }]);
    expect(await project.environment()).toMatchObject({ deployment_state: { last_deployment_successful: true } });
  });

  test('a merge waits in the parent alone, and is deployed there', { timeout }, async () => {
    const project = await openRunningProject(all);
    const { owner, projectId } = project;
    await project.push(filesOf('one'));
    await project.send('PATCH', '/settings', manual);
    const { git: repositories, db } = all.home.platform;
    const head_commit = commitFiles(repositories.path(projectId), project.head(), filesOf('merged'));
    git(repositories.path(projectId), ['update-ref', 'refs/heads/feature', head_commit]);
    await project.addEnvironment('feature');
    await db.updateTable('environments').set({ head_commit }).where('project_id', '=', projectId).where('id', '=', 'feature').execute();
    await owner.send('POST', `/projects/${projectId}/environments/feature/merge`, {});
    await workThrough(all.home.platform);
    expect(await project.staged()).toMatchObject([{ type: 'environment.merge', result: 'success' }]);
    const { json: child } = await owner.send('GET', `/projects/${projectId}/environments/feature`);
    expect([child.has_staged_activities, (await project.environment()).has_staged_activities]).toEqual([false, true]);
    const stagedThere = await owner.send('GET', `/projects/${projectId}/environments/feature/activities?state=staged`);
    expect(stagedThere.json).toEqual([]);
    expect(await project.ask()).toMatchObject({ version: 'one' });
    await project.act('POST', '/deploy', {});
    expect([await project.ask(), await project.staged()]).toMatchObject([{ version: 'merged' }, []]);
  });

  test(
    'what is pushed while manual deployments end is deployed by what follows; a waiting push can be cancelled',
    { timeout },
    async () => {
      const project = await openRunningProject(all);
      await project.push(filesOf('one'));
      await project.send('PATCH', '/settings', manual);
      const waiting = await project.beginPush(filesOf('two'));
      expect((await project.send('POST', `/activities/${waiting.id}/cancel`)).json._embedded.entity).toMatchObject({ state: 'cancelled' });
      await project.beginPush(filesOf('three'));
      const { json } = await project.send('PATCH', '/settings', automatic);
      expect(json._embedded.activities).toMatchObject([{ type: 'environment.deploy' }]);
      await workThrough(all.home.platform);
      expect([await project.ask(), await project.staged()]).toMatchObject([{ version: 'three' }, []]);
    },
  );
});
