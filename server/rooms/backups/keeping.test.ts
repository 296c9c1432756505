import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Blobs, type Copy, Damage } from '../../drivers/blobs/blobs.ts';
import { ulid } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { deploySample } from '../../testing/deployment.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { sampleProject } from '../../testing/samples.ts';
import { backupSnapshot } from '../deployments/public.ts';
import { startDueBackups, startIfDue } from './due-backups.ts';
import { allBackups } from './listed-backups.ts';
import { insertBackup, makeRestorable, storedBefore } from './queries.ts';
import { newestBackup } from './recover-environments.ts';
import { repairStore } from './repair-store.ts';
import { candidates } from './slots.ts';
import { removeOldBackups } from './remove-old-backups.ts';

const day = 86_400_000;
const never = new AbortController().signal;

describe.runIf(canRunContainers)(`which backups are made and kept by themselves${whyNoContainers}`, () => {
  let all: TestDeployments;
  /** The requests that the store got. */
  const asked: string[] = [];
  let isAway = false;

  beforeAll(async () => {
    all = await openTestDeployments();
    const answer = async (what: string) => {
      if (isAway) throw new Problem('unavailable', 'The place does not answer.');
      asked.push(what);
    };
    const blobs: Partial<Blobs> = {
      forget: (project, ids) => answer(`${project} forget ${ids.toSorted().join(' ')}`),
      removeRepository: (project) => answer(`${project} remove`),
    };
    all.home.platform.blobs = { ...all.home.platform.blobs, ...blobs };
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(() => all.close());

  const db = () => all.home.platform.db;
  const tidy = () => removeOldBackups.run(all.home.platform, never);
  const look = () => startDueBackups.run(all.home.platform, never);

  const addPreview = (project_id: string) =>
    db()
      .insertInto('environments')
      .values({ project_id, id: 'preview', machine_name: 'preview', title: 'Preview', type: 'development' })
      .execute();

  /** A project whose environment has been deployed for days, as far as the database knows. */
  async function openProject(environmentId: 'main' | 'preview' = 'main') {
    const owner = await all.home.person();
    const { projectId } = await sampleProject(owner);
    const at = `/projects/${projectId}/environments/${environmentId}`;
    if (environmentId === 'preview') await addPreview(projectId);
    const stack = await deploySample(all.home.platform, { projectId, environmentId });
    await sql`update environments set created_at = now() - interval '9 days' where project_id = ${projectId}`.execute(db());
    const made = async (daysAgo: number, automated = false): Promise<string> => {
      const [id, taken_at] = [ulid(), new Date(Date.now() - daysAgo * day).toISOString()];
      await db()
        .transaction()
        .execute(async (tx) => {
          const slot = automated ? { at: taken_at, index: 1 } : null;
          await insertBackup(tx, all.home.platform.secrets, { id, stack, safe: false, slot, activity_id: null });
          const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
          await makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 1, size_used: 1, taken_at });
        });
      return id;
    };
    return {
      owner,
      projectId,
      stack,
      made,
      send: (method: string, path: string, body?: unknown) => owner.send(method, `${at}${path}`, body),
      retain: (data_retention: unknown) => owner.send('PATCH', `/projects/${projectId}/settings`, { data_retention }),
      list: async (): Promise<{ id: string; expires_at: string | null; status: string; restorable: boolean }[]> =>
        (await owner.send('GET', `${at}/backups`)).json,
      activities: async (): Promise<{ id: string; text: string; payload: Record<string, unknown> }[]> =>
        (await owner.send('GET', `${at}/activities?type=environment.backup`)).json,
      cancel: (id: string) => owner.send('POST', `/projects/${projectId}/activities/${id}/cancel`),
      asked: () =>
        asked
          .splice(0)
          .filter((line) => line.startsWith(projectId))
          .map((line) => line.slice(projectId.length + 1)),
    };
  }

  test('each slot has one automated backup, whoever looks and how often; one that fails is tried again, not for ever', async () => {
    const project = await openProject();
    const candidate = (await candidates(db())).find(({ project_id }) => project_id === project.projectId);
    if (!candidate) throw new Error('It is no candidate');
    // The clock stands still, so that no slot ends during the test.
    vi.useFakeTimers({ toFake: ['Date'] });
    const begun = await Promise.all(Array.from({ length: 6 }, () => startIfDue(all.home.platform, candidate, Date.now())));
    expect(begun.filter(Boolean)).toHaveLength(1);
    await Promise.all([look(), look(), look()]);
    const [first, ...others] = await project.activities();
    expect(others).toEqual([]);
    expect(first).toMatchObject({ text: 'Offshoot Bot created a backup of Main', parameters: { safe: false, environment: 'main' } });
    const later = () =>
      sql`update backup_slots set tried_at = tried_at - interval '21 minutes' where project_id = ${project.projectId}`.execute(db());
    const tries = async () => {
      await project.cancel((await project.activities())[0]?.id ?? '');
      await look();
      const soon = (await project.activities()).length;
      await later();
      await look();
      return [soon, (await project.activities()).length];
    };
    expect([await tries(), await tries(), await tries()]).toEqual([
      [1, 2],
      [2, 3],
      [3, 3],
    ]);
    // The next slot has all of its attempts again.
    await startIfDue(all.home.platform, { ...candidate, slot_at: null }, Date.now() + day);
    expect(await project.activities()).toHaveLength(4);
  });

  test('only what runs and has a schedule is backed up by itself: production, or what the project says; nothing younger than an hour', async () => {
    const [young, preview, scheduled, paused] = [
      await openProject(),
      await openProject('preview'),
      await openProject('preview'),
      await openProject(),
    ];
    await sql`update environments set created_at = now() - interval '50 minutes' where project_id = ${young.projectId}`.execute(db());
    await sql`update environments set status = 'paused' where project_id = ${paused.projectId}`.execute(db());
    await scheduled.retain({ development: { default_config: { schedule: [{ interval: '6h', count: 2 }] } } });
    await look();
    const counts = await Promise.all([young, preview, scheduled, paused].map(async ({ activities }) => (await activities()).length));
    expect(counts).toEqual([0, 0, 1, 0]);
  });

  test('the setting tells all of what was set, and refuses what means nothing', async () => {
    const { retain, owner, projectId } = await openProject();
    const settings = async () => (await owner.send('GET', `/projects/${projectId}/settings`)).json.data_retention;
    expect(await settings()).toBeNull();
    await retain({ production: { default_config: {} }, staging: { max_backups: 9, default_config: { manual_count: 3, schedule: [] } } });
    expect(await settings()).toEqual({
      production: { max_backups: 50, default_config: { manual_count: 4, schedule: [{ interval: '1d', count: 2 }] } },
      staging: { max_backups: 9, default_config: { manual_count: 3, schedule: [] } },
    });
    await retain({ production: { max_backups: 10 } });
    await retain({ production: { default_config: { manual_count: 1 } } });
    expect(await settings()).toEqual({
      production: { max_backups: 10, default_config: { manual_count: 1, schedule: [{ interval: '1d', count: 2 }] } },
      staging: { max_backups: 9, default_config: { manual_count: 3, schedule: [] } },
    });
    const of = (default_config: object) => ({ production: { default_config } });
    for (const [bad, field] of [
      [{ production: { max_backups: 0, default_config: {} } }, 'production.max_backups'],
      [{ other: { default_config: {} } }, 'other'],
      [of({ manual_count: 0 }), 'production.default_config.manual_count'],
      [of({ schedule: [{ interval: '1m', count: 1 }] }), 'production.default_config.schedule.0.interval'],
      [of({ schedule: [{ interval: '0d', count: 1 }] }), 'production.default_config.schedule.0.interval'],
      [of({ schedule: [{ interval: '1d', count: 0 }] }), 'production.default_config.schedule.0.count'],
      [of({ schedule: [{ interval: '1d' }] }), 'production.default_config.schedule.0.count'],
      [of({ schedule: 'daily' }), 'production.default_config.schedule'],
    ] as const)
      expect(await retain(bad)).toMatchObject({ status: 400, json: { detail: { [`data_retention.${field}`]: expect.any(String) } } });
    expect((await owner.send('GET', `/projects/${projectId}/capabilities`)).json.data_retention).toEqual({ enabled: true });
  });

  test('what is too much goes, the oldest first; what stays tells until when; a store that is away is asked again', async () => {
    const project = await openProject();
    const manual: string[] = [];
    for (const daysAgo of [9, 8, 7, 6, 5, 4]) manual.push(await project.made(daysAgo));
    const automated: string[] = [];
    for (const daysAgo of [3.5, 2.5, 1.5, 0.5]) automated.push(await project.made(daysAgo, true));
    isAway = true;
    await tidy();
    isAway = false;
    const going = [...manual.slice(0, 2), ...automated.slice(0, 2)];
    expect((await project.list()).filter(({ status }) => status === 'DELETING').map(({ id }) => id)).toEqual(going.toReversed());
    expect(project.asked()).toEqual([]);
    await tidy();
    expect(project.asked()).toEqual([`forget ${going.toSorted().join(' ')}`]);
    const left = await project.list();
    expect(left.map(({ id }) => id)).toEqual([...manual.slice(2), ...automated.slice(2)].toReversed());
    const [newest, second, ...others] = left.map(({ expires_at }) => expires_at);
    expect(others).toEqual([null, null, null, null]);
    const days = [newest, second].map((time) => (Date.parse(time ?? '') - Date.now()) / day);
    expect(days[0]).toBeGreaterThan(0.4);
    expect(days[0]).toBeLessThan(2);
    expect(days[1]).toBeLessThan(days[0] ?? 0);
    await project.retain({ production: { max_backups: 1, default_config: {} } });
    await tidy();
    expect((await project.list()).map(({ id }) => id)).toEqual([automated.at(-1)]);
  });

  /** Runs the work with a store whose copies of backups are in these states; answers how often the store was surveyed. */
  async function withStates<T>(states: Record<string, Copy['state'][]>, work: () => Promise<T>): Promise<number> {
    const { platform } = all.home;
    const { blobs } = platform;
    let surveys = 0;
    const copies = (id: string) => (states[id] ?? ['whole' as const]).map((state, n) => ({ place: `place ${n}`, state }));
    platform.blobs = {
      ...blobs,
      repair: async () => [{ place: 'place 0', damaged: ['data/00/0'], piecesKept: 3 }],
      bringBack: async () => [],
      survey: async (_, backups) => {
        surveys += 1;
        return new Map(backups.map(({ backup }) => [backup, copies(backup)]));
      },
      inspect: async (_, { backup }) => copies(backup),
    };
    await work().finally(() => (platform.blobs = blobs));
    return surveys;
  }

  test('one that is damaged wherever it is stored is not offered, and nothing relies on it; whoever wants may delete it', async () => {
    const project = await openProject();
    const [older, newer, newest] = [await project.made(3), await project.made(2), await project.made(1)];
    const told = async (id: string) => (await project.send('GET', `/backups/${id}`)).json;
    const lines: string[] = [];
    const repair = () => repairStore(all.home.platform, project.projectId, (line) => lines.push(line));
    await withStates({ [newest]: ['damaged', 'damaged'], [newer]: ['damaged', 'whole'], [older]: ['damaged', 'unknown'] }, repair);
    expect(lines).toEqual([
      '  Damaged or missing at place 0, and out of use now: data/00/0, and 3 pieces of data that were sound in them are kept',
      `  W: Backup ${newest} of main is damaged; it cannot be restored any more`,
    ]);
    expect(await Promise.all([older, newer, newest].map(told))).toMatchObject([
      { restorable: true, expires_at: null },
      { restorable: true, expires_at: null },
      { restorable: false, status: 'CREATED' },
    ]);
    expect((Date.parse((await told(newest)).expires_at) - Date.now()) / day).toBeCloseTo(14, 1);
    expect(Object.keys((await told(newest))._links)).toContain('#delete');
    expect(Object.keys((await told(newest))._links)).not.toContain('#restore');
    expect(await project.send('POST', `/backups/${newest}/restore`, {})).toMatchObject({
      status: 409,
      json: { message: expect.stringContaining(`The backup ${newest} was found damaged`) },
    });
    expect((await allBackups(db(), project.projectId)).map(({ damaged_at }) => damaged_at !== null)).toEqual([false, false, true]);
    expect((await project.send('GET', '')).json.last_backup_at).toBe((await told(newer)).created_at);
    expect((await newestBackup(db(), project.projectId, 'main'))?.id).toBe(newer);
    expect((await storedBefore(db(), project.projectId, 'main'))?.backup).toBe(newer);

    // A damaged backup does not count against the limit, so no sound one goes because of it.
    await project.retain({ production: { max_backups: 1, default_config: {} } });
    await tidy();
    expect((await project.list()).map(({ id, status }) => [id, status])).toEqual([
      [newest, 'CREATED'],
      [newer, 'CREATED'],
    ]);
    expect(project.asked()).toEqual([`forget ${older}`]);
    expect((await project.send('DELETE', `/backups/${newest}`)).json._embedded.activities).toHaveLength(1);
    expect(await told(newest)).toMatchObject({ status: 'DELETING' });
  });

  test('one that was damaged and is whole again is offered again; one that stays so goes after two weeks', async () => {
    const project = await openProject();
    const [automated, manual] = [await project.made(2, true), await project.made(1)];
    const damaged: Record<string, Copy['state'][]> = { [automated]: ['damaged'], [manual]: ['damaged'] };
    await withStates(damaged, () => repairStore(all.home.platform, project.projectId, () => {}));
    const states = async () => (await project.list()).map(({ id, status, restorable }) => [id, status, restorable]);
    // Nothing was stored since then that the damaged backups could lack.
    expect(await withStates({}, tidy)).toBe(0);
    expect(await states()).toEqual([
      [manual, 'CREATED', false],
      [automated, 'CREATED', false],
    ]);
    expect((await project.send('GET', '')).json.last_backup_at).toBeNull();
    const newest = await project.made(0.5);
    const found = { ...damaged, [manual]: ['unknown' as const, 'whole' as const] };
    expect([await withStates(found, tidy), await withStates(found, tidy)]).toEqual([1, 0]);
    expect(await states()).toEqual([
      [newest, 'CREATED', true],
      [manual, 'CREATED', true],
      [automated, 'CREATED', false],
    ]);
    expect((await project.list()).map(({ expires_at }) => expires_at)).toEqual([null, null, expect.any(String)]);
    await sql`update backups set expires_at = now() - interval '1 second' where id = ${automated}`.execute(db());
    await tidy();
    expect([project.asked(), (await project.list()).map(({ id }) => id)]).toEqual([[`forget ${automated}`], [newest, manual]]);
  });

  test('a store that is too damaged to forget anything is repaired first', async () => {
    const project = await openProject();
    const [older, newest] = [await project.made(2), await project.made(1)];
    const { platform } = all.home;
    const { blobs } = platform;
    let isDamaged = true;
    platform.blobs = {
      ...blobs,
      forget: async (...given) => {
        if (isDamaged) throw new Damage('unavailable', 'What backups no longer need could not be removed.');
        return blobs.forget(...given);
      },
      repair: async () => {
        isDamaged = false;
        return [];
      },
      bringBack: async () => [],
      survey: async () => new Map([[newest, [{ place: 'place', state: 'damaged' as const }]]]),
    };
    await project.retain({ production: { max_backups: 1, default_config: {} } });
    await tidy().finally(() => (platform.blobs = blobs));
    expect(project.asked()).toEqual([`forget ${older}`]);
    expect(await project.list()).toMatchObject([{ id: newest, restorable: false }]);
  });

  test('what a place gets back from another is what is wanted: of one that is deleted meanwhile nothing is left', async () => {
    const project = await openProject();
    const ids = [await project.made(2), await project.made(1)];
    const { platform } = all.home;
    const { blobs } = platform;
    const lines: string[] = [];
    const deleting: Blobs = {
      ...blobs,
      repair: async () => [],
      bringBack: async (_, backups) => {
        await project.send('DELETE', `/backups/${ids[0]}`);
        return [{ place: 'place 1', backups: backups.map(({ backup }) => backup) }];
      },
      survey: async () => new Map(),
    };
    await repairStore({ ...platform, blobs: deleting }, project.projectId, (line) => lines.push(line));
    expect(lines).toEqual([`  Copied to place 1 from another place, and read back: backups ${ids.join(', ')}`]);
    expect(project.asked()).toEqual([`forget ${ids[0]}`]);
  });

  test('backups outlive their environment and their project for two weeks; a branch of the same name has them back', async () => {
    const project = await openProject('preview');
    const backup = await project.made(1);
    const rows = async () =>
      (
        await sql<{ status: string; days: number | null }>`
        select status, extract(epoch from expires_at - now()) / 86400 as days from backups where id = ${backup}`.execute(db())
      ).rows;
    await sql`delete from environments where project_id = ${project.projectId} and id = 'preview'`.execute(db());
    await tidy();
    const [kept] = await rows();
    expect(Number(kept?.days)).toBeCloseTo(14, 1);
    await addPreview(project.projectId);
    await tidy();
    expect(await rows()).toEqual([{ status: 'CREATED', days: null }]);
    expect((await project.list()).map(({ id }) => id)).toEqual([backup]);

    await sql`delete from environments where project_id = ${project.projectId}`.execute(db());
    await sql`update projects set status = 'deleted' where id = ${project.projectId}`.execute(db());
    await tidy();
    expect([(await rows()).length, project.asked()]).toEqual([1, []]);
    await sql`delete from projects where id = ${project.projectId}`.execute(db());
    await sql`update backups set expires_at = now() - interval '1 second' where id = ${backup}`.execute(db());
    await tidy();
    expect([await rows(), project.asked()]).toEqual([[], ['remove']]);
  });

  test('who comes back with the name of a guarded environment does not see what was in it', async () => {
    const project = await openProject('preview');
    await project.made(1);
    await sql`update backups set environment_type = 'production' where project_id = ${project.projectId}`.execute(db());
    const somebody = await all.home.person();
    const access = [{ user_id: somebody.user.id, permissions: ['development:admin'], auto_add_member: true }];
    await project.owner.send('POST', `/projects/${project.projectId}/user-access`, access);
    const at = `/projects/${project.projectId}/environments/preview/backups`;
    const [backup] = await project.list();
    expect((await somebody.send('GET', at)).json).toEqual([]);
    for (const method of ['GET', 'DELETE']) expect((await somebody.send(method, `${at}/${backup?.id}`)).status).toBe(404);
  });

  test('what nobody makes any more is gone, on the pool and in the store; a deletion that was cancelled in time is none', async () => {
    const project = await openProject();
    const { volumes } = all.machine;
    const [abandoned, underWay, unknown] = [ulid(), ulid(), ulid()];
    const open = await project.send('POST', '/backup', {});
    const [activity] = open.json._embedded.activities;
    const insert = (id: string, activity_id: string) =>
      db()
        .transaction()
        .execute((tx) => insertBackup(tx, all.home.platform.secrets, { id, stack: project.stack, safe: true, slot: null, activity_id }));
    await insert(abandoned, 'gone');
    await insert(underWay, activity.id);
    for (const id of [abandoned, underWay, unknown]) await volumes.create(backupSnapshot(id, 'data-db-postgresql'), 2 ** 20);
    expect((await project.list()).map(({ id }) => id)).toContain(underWay);
    expect((await project.send('DELETE', `/backups/${underWay}`)).status).toBe(409);
    await tidy();
    expect(project.asked()).toEqual([`forget ${abandoned}`]);
    expect((await volumes.list()).map(({ name }) => name)).toEqual([backupSnapshot(underWay, 'data-db-postgresql')]);
    expect((await project.list()).map(({ id }) => id)).toEqual([underWay]);

    const backup = await project.made(1);
    const [deletion] = (await project.send('DELETE', `/backups/${backup}`)).json._embedded.activities;
    await project.cancel(deletion.id);
    await tidy();
    expect((await project.list()).find(({ id }) => id === backup)).toMatchObject({ status: 'CREATED' });
    expect(project.asked()).toEqual([]);
  });
});
