/** What follows from measurements, on a machine that only remembers what it is told. */
import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { changeQuota } from '../../../cli/quota.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import type { MemoryMachine } from '../../testing/memory-machine.ts';
import type { TestPlatform } from '../../testing/platform.ts';
import { autoscaleAt } from './autoscale.ts';
import { later, measure, visit } from './test-measurements.ts';
import { deployedProject, openScalingHome, type ScalingHome, type ScalingProject } from './test-project.ts';

const timeout = 300_000;

let scaling: ScalingHome;
let machine: MemoryMachine;
let home: TestPlatform;
beforeAll(async () => {
  scaling = await openScalingHome();
  ({ home, machine } = scaling);
});

const measured = async ({ projectId: project, row }: ScalingProject, now: Date, minutes: number, cpu: number) =>
  measure(home.platform, { project, environment: (await row()).machine_name }, now, minutes, cpu);

async function containersOf(project: ScalingProject) {
  const { stack_id } = await project.row();
  const states = await machine.runtime.list();
  return states.filter(({ network }) => network === stack_id).map(({ name, startedAt }) => ({ name, startedAt }));
}

describe('the loop', () => {
  async function scaled(said: object = {}) {
    const project = await deployedProject(scaling);
    await project.set({ app: { triggers: { cpu: { enabled: true } }, ...said } });
    return project;
  }
  const look = async (now: Date) => {
    await autoscaleAt(home.platform, now);
    await workThrough(home.platform);
  };

  test('adds an instance under load, waits, and takes it back; people see why, and since when', { timeout }, async () => {
    const project = await scaled();
    const start = new Date();
    await measured(project, start, 5, 95);
    await look(start);
    expect(await project.count()).toBe(2);
    expect(await project.happened()).toEqual([
      'environment.alert: Scaling: CPU for app above 80% for 5 minutes',
      'environment.resources.update: Upscale: 1 instance added to app',
    ]);
    const { last_autoscale_up_at, last_autoscale_down_at } = (await project.environment()).deployment_state;
    expect({ last_autoscale_up_at, last_autoscale_down_at }).toEqual({
      last_autoscale_up_at: expect.any(String),
      last_autoscale_down_at: null,
    });
    await look(later(start, 1));
    expect(await project.count()).toBe(2);
    const idle = later(start, 12);
    await measured(project, idle, 6, 2);
    await look(idle);
    expect(await project.count()).toBe(1);
    expect((await project.happened()).slice(2)).toEqual([
      'environment.alert: Scaling: CPU for app below 20% for 5 minutes',
      'environment.resources.update: Downscale: 1 instance removed from app',
    ]);
    expect((await project.environment()).deployment_state.last_autoscale_down_at).toEqual(expect.any(String));
    const { json } = await project.send('GET', '/activities?type=environment.alert');
    const log = await project.owner.send('GET', `/projects/${project.projectId}/activities/${json[0].id}/log`);
    expect(log.text).toMatch(/On average it was 2\.0% over 2 instances\..*app gets 1 in place of 2\./s);
  });

  test('adds an instance while requests take long, and takes it back when they are quick or nobody asks', { timeout }, async () => {
    const project = await deployedProject(scaling);
    await project.set({ app: { triggers: { latency: { enabled: true, up: { threshold: 400 } } } } });
    const scope = { project: project.projectId, environment: (await project.row()).machine_name };
    const start = new Date();
    await measured(project, start, 5, 30);
    await visit(home.platform, scope, start, 5, 350);
    await look(start);
    expect(await project.count()).toBe(1);
    const slow = later(start, 6);
    await measured(project, slow, 6, 30);
    await visit(home.platform, scope, slow, 5, 900);
    await look(slow);
    expect(await project.count()).toBe(2);
    const idle = later(slow, 12);
    await measured(project, idle, 6, 30);
    await look(idle);
    expect(await project.count()).toBe(1);
    expect((await project.happened()).filter((what) => what.startsWith('environment.alert'))).toEqual([
      'environment.alert: Scaling: Latency for app above 400 ms for 5 minutes',
      'environment.alert: Scaling: Latency for app below 200 ms for 5 minutes',
    ]);
  });

  test(
    'deploys nothing but instances: the list of deployments to go back to stays, and what runs is not started anew',
    { timeout },
    async () => {
      const project = await scaled();
      const containers = async () =>
        (await machine.runtime.list()).filter(({ name }) => name.includes('-app-')).map(({ name, startedAt }) => ({ name, startedAt }));
      const { stack_id } = await project.row();
      const own = async () => (await containers()).filter(({ name }) => name.includes(stack_id ?? ''));
      const [before, listed, { deployment_state }] = [
        await own(),
        (await project.send('GET', '/earlier-deployments')).json,
        await project.environment(),
      ];
      const now = new Date();
      await measured(project, now, 5, 95);
      await look(now);
      expect(await own()).toEqual(expect.arrayContaining(before));
      expect(await own()).toHaveLength(before.length + 1);
      const after = (await project.send('GET', '/earlier-deployments')).json;
      expect(after.slice(1)).toEqual(
        listed.map((one: object) => ({ ...one, is_current: false, can_rollback: true, _links: expect.anything() })),
      );
      expect((await project.environment()).deployment_state.last_deployment_at).toBe(deployment_state.last_deployment_at);
    },
  );

  test('leaves what apps were told of routes as it was when they started, and starts none anew for a domain', { timeout }, async () => {
    const project = await scaled();
    const { status } = await project.owner.send('POST', `/projects/${project.projectId}/domains`, { name: `${project.projectId}.example` });
    expect(status).toBe(201);
    await workThrough(home.platform);
    const before = await containersOf(project);
    const now = new Date();
    await measured(project, now, 5, 95);
    await look(now);
    expect(await project.count()).toBe(2);
    expect(await containersOf(project)).toEqual(expect.arrayContaining(before));
    const routes = (await project.send('GET', '/deployments/current')).json.routes;
    expect(Object.keys(routes).some((url) => url.includes(`${project.projectId}.example`))).toBe(true);
  });

  test('leaves alone what sleeps, is paused, or is being worked on, and what is not measured', { timeout }, async () => {
    const project = await scaled();
    const now = new Date();
    await look(now);
    await measured(project, now, 5, 95);
    const environments = home.platform.db.updateTable('environments').where('project_id', '=', project.projectId);
    for (const [change, back] of [
      [{ sleeping_since: now.toISOString() }, { sleeping_since: null }],
      [{ status: 'paused' }, { status: 'active' }],
      [{ is_waking: true }, { is_waking: false }],
    ] as const) {
      await environments.set(change).execute();
      await autoscaleAt(home.platform, now);
      await environments.set(back).execute();
    }
    await project.send('POST', '/redeploy');
    await autoscaleAt(home.platform, now);
    expect(await project.happened()).toEqual([]);
    await workThrough(home.platform);
    await look(now);
    expect(await project.count()).toBe(2);
  });

  test('decides once, however many look at the same time', { timeout }, async () => {
    const project = await scaled();
    const now = new Date();
    await measured(project, now, 5, 95);
    await Promise.all([autoscaleAt(home.platform, now), autoscaleAt(home.platform, now), autoscaleAt(home.platform, now)]);
    expect(await project.happened()).toHaveLength(2);
    await workThrough(home.platform);
    expect(await project.count()).toBe(2);
  });

  test('says so where there is no room, tries again after the cooldown, and takes away all the same', { timeout }, async () => {
    const project = await scaled();
    await changeQuota(home.platform.db, ['project', project.projectId, 'cpu=1']);
    const now = new Date();
    await measured(project, now, 5, 95);
    await look(now);
    expect(await project.happened()).toEqual([
      expect.stringMatching(/^environment\.alert: Scaling: CPU for app above 80% for 5 minutes, but there is no room: /),
    ]);
    await look(later(now, 1));
    expect(await project.happened()).toHaveLength(1);
    await changeQuota(home.platform.db, ['project', project.projectId, 'cpu=none']);
    const again = later(now, 6);
    await measured(project, again, 6, 95);
    await look(again);
    expect(await project.count()).toBe(2);
  });

  test('scales what runs over kills, and what fails leaves the number as it was', { timeout }, async () => {
    const project = await scaled();
    const begin = async () => {
      const now = new Date();
      await sql`update environments set autoscale_decided_at = null, last_autoscale_up_at = null where project_id = ${project.projectId}`.execute(
        home.platform.db,
      );
      await measured(project, now, 5, 95);
      await autoscaleAt(home.platform, now);
      const { rows } = await sql<{ id: string }>`
        select id from activities where project_id = ${project.projectId} and type = 'environment.resources.update' order by position desc limit 1`.execute(
        home.platform.db,
      );
      return { id: rows[0]?.id ?? '' };
    };
    const cluster = `${project.projectId}-${(await project.row()).machine_name}`;
    const instances = () => machine.edge.table.get(cluster)?.upstreams['app']?.instances.length;
    const settled = new Set(['make current', 'clean up']);
    const beforeSettled = await failAtEachStep(home.platform, begin, async (step) => {
      if (settled.has(step)) return;
      expect([step, await project.count(), instances()]).toEqual([step, 1, 1]);
      expect((await project.environment()).deployment_state.last_autoscale_up_at).toBeNull();
    });
    expect(beforeSettled).toContain('open applications');
    const reached = await project.count();
    const steps = await eachStepTwice(home.platform, begin);
    expect(steps).not.toContain('run deploy hooks');
    expect([await project.count(), instances()]).toEqual([reached + 1, reached + 1]);
  });

  test('does nothing that was overtaken: switched off, or asleep, when its turn comes', { timeout }, async () => {
    const project = await scaled();
    const now = new Date();
    await measured(project, now, 5, 95);
    await autoscaleAt(home.platform, now);
    await project.set({ app: { triggers: { cpu: { enabled: false } } } });
    await workThrough(home.platform);
    expect(await project.count()).toBe(1);
    const { json } = await project.send('GET', '/activities?type=environment.resources.update');
    expect(await activityRow(home.platform, json[0].id)).toMatchObject({ state: 'complete', result: 'success' });
    const { text } = await project.owner.send('GET', `/projects/${project.projectId}/activities/${json[0].id}/log`);
    expect(text).toContain('Nothing is scaled.');
  });
});
