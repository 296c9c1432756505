import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachStepTwice, failAtEachStep } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { filesOf, openRunningProject, type RunningProject } from './test-running-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const services = '{ store: { type: "redis-persistent:8.0" } }';

describe.runIf(canRunContainers)(`going back and maintenance${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'redis-persistent:8.0']) await all.machine.images.ensure(type);
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const history = async (project: RunningProject) =>
    (await project.send('GET', '/earlier-deployments')).json as { id: string; number: number; commit: string }[];

  const storeFolder = async (project: RunningProject) => {
    const { stack_id } = await project.row();
    return (await all.machine.volumes.volume(`stack-${stack_id}-data-store-redis-persistent`))?.path ?? 'absent';
  };

  test('what ran before runs again without a build; its code stays until new code comes', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    const first = project.head();
    expect((await project.environment())._links).not.toHaveProperty('#rollback');
    await project.push(filesOf('two'));
    await project.act('POST', '/variables', { name: 'env:COLOR', value: 'red' });

    const gone = await project.act('POST', '/rollback', {});
    expect(gone).toMatchObject({ type: 'environment.rollback', state: 'complete', result: 'success' });
    expect(gone.log).toMatch(/Rolling back to deployment 1 of /);
    expect(gone.log).not.toContain('Building');
    expect(await project.ask()).toMatchObject({ version: 'one', color: 'red' });
    expect(await history(project)).toMatchObject([
      { number: 4, commit: first, is_current: true, can_rollback: false, user: { id: project.owner.user.id } },
      { number: 3, commit: project.head(), is_current: false, can_rollback: true, text: expect.stringContaining('added variable') },
      { number: 2, can_rollback: true, text: expect.stringContaining('pushed to') },
      { number: 1, commit: first, can_rollback: true },
    ]);
    expect((await project.send('POST', '/rollback', {})).json).toMatchObject({ message: expect.stringContaining('no older deployment') });

    await project.act('POST', '/variables', { name: 'env:OTHER', value: 'x' });
    await project.act('POST', '/redeploy', {});
    expect(await project.ask()).toMatchObject({ version: 'one' });
    expect((await project.send('POST', '/rollback', { deployment: '6' })).json.message).toContain('is already what runs');
    expect((await project.send('POST', '/rollback', { deployment: '66' })).json.message).toContain('There is no deployment 66');

    expect(await project.act('POST', '/rollback', { deployment: '2', strategy: 'rolling' })).toMatchObject({ result: 'success' });
    expect(await project.ask()).toMatchObject({ version: 'two' });
    await project.act('POST', '/rollback', { deployment: (await history(project)).at(-1)?.id });
    expect(await project.push(filesOf('three'))).toMatchObject({ state: 'complete', result: 'success' });
    await project.act('POST', '/redeploy', {});
    expect(await project.ask()).toMatchObject({ version: 'three', color: 'red' });

    const slug = (await project.send('GET', '/deployments/current')).json.webapps.app.slug_id;
    await sql`delete from slugs where project_id = ${project.projectId} and id <> ${slug}`.execute(all.home.platform.db);
    expect((await history(project)).filter((earlier) => 'can_rollback' in earlier && earlier.can_rollback)).toMatchObject([
      { commit: project.head() },
    ]);
    expect((await project.send('POST', '/rollback', { deployment: '2' })).json.message).toContain('are not kept any more');
  });

  test('data is never rolled back: what earlier code did not know stays for the code that comes back', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    await project.push(filesOf('two', { services }));
    writeFileSync(join(await storeFolder(project), 'marker'), 'kept');
    await project.inside('echo kept >/app/data/file');
    await project.act('POST', '/rollback', { deployment: '1' });
    expect((await project.found()).containers).toEqual([expect.stringContaining('-app-app-3-')]);
    expect(await project.inside('cat /app/data/file')).toBe('kept');
    await project.act('POST', '/redeploy', {});
    expect(existsSync(join(await storeFolder(project), 'marker'))).toBe(true);
    // One that fails must not take along what was there before it.
    expect(await project.push({ ...filesOf('three', { services }), 'server.js': 'process.exit(3)' })).toMatchObject({ result: 'failure' });
    expect(existsSync(join(await storeFolder(project), 'marker'))).toBe(true);
    await project.push(filesOf('four', { services }));
    expect(existsSync(join(await storeFolder(project), 'marker'))).toBe(true);
    await project.act('POST', '/rollback', { deployment: '1' });
    await project.push(filesOf('five'));
    expect(await storeFolder(project)).toBe('absent');
    expect(await project.act('POST', '/rollback', { deployment: '2' })).toMatchObject({
      result: 'success',
      log: expect.stringContaining('W: The data of data-store-redis-persistent was removed in the meantime; it starts empty'),
    });
  });

  test('a rollback bears a kill after each step, and fails without a trace until it is current', { timeout: 2 * timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    await project.push(filesOf('two'));
    const { volumes } = await project.found();
    const { platform } = all.home;
    let serving = 'two';
    const failed = await failAtEachStep(
      platform,
      () => project.begin('POST', '/rollback', { deployment: '1' }),
      async (step) => {
        if (step === 'clean up') serving = 'one';
        expect([step, await project.ask()]).toMatchObject([step, { version: serving }]);
        expect((await project.found()).volumes).toEqual(volumes);
        const { pinned_commit } = await project.row();
        expect([step, pinned_commit === null]).toEqual([step, serving === 'two']);
      },
    );
    expect(failed).toEqual(expect.arrayContaining(['find builds', 'prepare deployment', 'open applications', 'make current', 'clean up']));
    await eachStepTwice(platform, () => project.begin('POST', '/rollback', { deployment: '2' }));
    expect([await project.ask(), (await project.row()).pinned_commit]).toMatchObject([{ version: 'two' }, null]);
    expect((await project.found()).containers).toHaveLength(1);
  });

  test('an environment that is paused runs again when it is rolled back', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    await project.push(filesOf('two'));
    await project.inside('echo kept >/app/data/file');
    await project.act('POST', '/pause');
    expect((await project.found()).containers).toEqual([]);
    expect(await project.act('POST', '/rollback', {})).toMatchObject({ result: 'success' });
    expect([(await project.environment()).status, await project.ask()]).toMatchObject(['active', { version: 'one' }]);
    expect(await project.inside('cat /app/data/file')).toBe('kept');
  });

  test('maintenance of a whole project starts anew what runs in it, and leaves what is paused alone', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one'));
    for (const name of ['busy', 'resting']) expect(await project.act('POST', '/branch', { name })).toMatchObject({ result: 'success' });
    const before = [await project.ask('main'), await project.ask('busy')];
    const resting = `/projects/${project.projectId}/environments/resting`;
    await project.ended((await project.owner.send('POST', `${resting}/pause`)).json._embedded.activities[0]);
    const { json } = await project.owner.send('POST', `/projects/${project.projectId}/maintenance-redeploy`);
    const begun = json._embedded.activities as { id: string; environments: string[] }[];
    expect(begun.flatMap(({ environments }) => environments).toSorted()).toEqual(['busy', 'main']);
    for (const one of begun) expect(await project.ended(one)).toMatchObject({ type: 'maintenance.upgrade', result: 'success' });
    for (const [n, environment] of ['main', 'busy'].entries()) {
      expect(await project.ask(environment)).not.toEqual(before[n]);
      expect((await project.row(environment)).last_maintenance_at).not.toBeNull();
    }
    expect([(await project.row('resting')).status, (await project.found('resting')).containers]).toEqual(['paused', []]);
  });

  test('a redeployment leaves services alone; one for maintenance starts them on newer images', { timeout }, async () => {
    const project = await openRunningProject(all);
    await project.push(filesOf('one', { services }));
    const { images } = all.machine;
    const { stack_id } = await project.row();
    const startOf = async () => (await all.machine.runtime.state(`${stack_id}-service-store`)).startedAt;
    const [before, app] = [await startOf(), await project.ask()];
    await project.act('POST', '/maintenance-redeploy');
    expect(await startOf()).toEqual(before);
    expect(await project.ask()).not.toEqual(app);
    // As a newer version of the platform would have it.
    const layer = mkdtempSync(join(tmpdir(), 'offshoot-layer-'));
    all.machine.images = {
      ...images,
      ensure: async (...given) => {
        const image = await images.ensure(...given);
        return given[0].startsWith('redis') ? { ...image, layers: [...image.layers, layer] } : image;
      },
    };
    try {
      await project.act('POST', '/redeploy', {});
      expect(await startOf()).toEqual(before);
      const steps = await eachStepTwice(all.home.platform, () => project.begin('POST', '/maintenance-redeploy'));
      expect(steps).toContain('open services');
      expect(await startOf()).not.toEqual(before);
      expect(await project.ask()).toMatchObject({ version: 'one' });
      expect((await project.environment()).deployment_state.last_maintenance_at).not.toBeNull();
    } finally {
      all.machine.images = images;
      await project.act('POST', '/maintenance-redeploy');
      rmSync(layer, { recursive: true });
    }
  });
});
