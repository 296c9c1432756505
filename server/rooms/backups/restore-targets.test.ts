import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { Interrupted } from '../../kernel/activity-run.ts';
import { activityRow, eachStepTwice, workThrough } from '../../testing/activities.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import { wakeEnvironment } from '../deployments/work.ts';
import { deployments } from '../deployments/room.ts';
import { recordPush } from '../environments/work.ts';
import { fetchingOnce, openDrill, smallFiles, workOff, type DrilledProject } from './test-drill.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const preview = 'preview';
const withStore = { services: '{ store: { type: "redis-persistent:8.0" } }' };
const onlyData = { restore_code: false };
const running = { status: 'active', edge: 'open', containers: 2 };
const sleepily = deployments.reconcilers?.find(({ name }) => name === 'send idle previews to sleep');
const wakefully = deployments.listeners?.find(({ name }) => name === 'wake previews that are visited');

describe.runIf(canRunContainers)(`restoring into what does not simply run${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: DrilledProject;
  /** A backup of the code `one`, with the word `then` in its data. */
  let backup: string;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'redis-persistent:8.0']) await all.machine.images.ensure(type);
    project = await openDrill(all);
    await project.addEnvironment(preview);
    await project.release(smallFiles('one', withStore), preview);
    await say('then');
    backup = await project.backUp(false, preview);
    const { platform } = all.home;
    platform.blobs = { ...platform.blobs, restore: fetchingOnce(platform) };
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const say = (word: string) => project.inside(`echo ${word} >files/word`, preview);
  const later = async () => {
    await project.release(smallFiles('two', withStore), preview);
    await say('now');
  };

  /** The environment as it is found: what it answers, if it runs, and the word that is on its disk. */
  const seen = async (environment = preview) => {
    const [{ status }, edge, { containers, volumes }] = [
      await project.row(environment),
      (await project.table(environment))?.state ?? 'nothing',
      await project.found(environment),
    ];
    const word = readFileSync(join(await project.folder('storage-app', environment), 'files/word'), 'utf8').trim();
    const found = { status, edge, containers: containers.length, volumes, word };
    return edge === 'open' ? Object.assign(found, await project.ask(environment)) : found;
  };

  /** All containers and volumes of stacks. */
  const onMachine = async () => [
    ...(await all.machine.runtime.list()).map(({ name }) => name),
    ...(await all.machine.volumes.list()).map(({ name }) => name).filter((name) => name.startsWith('stack-')),
  ];

  const send = (method: string, path: string, body?: unknown, environment = preview) =>
    project.owner.send(method, `${project.at(environment)}${path}`, body);
  const does = async (method: string, path: string, body?: unknown, environment = preview) => {
    const { status, json, text } = await send(method, path, body, environment);
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    const ended = await project.ended(activity);
    if (ended.result !== 'success') throw new Error(ended.log);
    return ended;
  };
  const restore = (body: object = {}) => project.restore(backup, body, preview);
  const restoreInterrupted = () => eachStepTwice(all.home.platform, () => project.beginRestore(backup, {}, preview));

  /** Restores, and cancels the activity as soon as the step is done. */
  const cancelAfter = async (step: string, body: object = {}) => {
    const { id } = await project.beginRestore(backup, body, preview);
    const afterWork = (activity: { id: string }, done: string) => {
      if (activity.id === id && done === step) throw new Interrupted('cancelled');
    };
    await workThrough(all.home.platform, { afterWork });
    expect([step, await activityRow(all.home.platform, id)]).toMatchObject([step, { state: 'cancelled', result: 'failure' }]);
  };

  /** Restores while something else happens as the data comes in. */
  const restoreWhile = async (happens: (id: string, signal?: AbortSignal) => Promise<unknown>) => {
    const { platform } = all.home;
    const { blobs } = platform;
    const { id } = await project.beginRestore(backup, {}, preview);
    const fetching: Blobs['restore'] = async (repository, stored, parts, signal) => {
      await happens(id, signal);
      await blobs.restore(repository, stored, parts, signal);
    };
    platform.blobs = { ...blobs, restore: fetching };
    const { log } = await project.ended({ id }).finally(() => (platform.blobs = blobs));
    const { state, result } = await activityRow(platform, id);
    return { state, result, log };
  };
  const cancel = async (id: string, signal?: AbortSignal) => {
    const cancelled = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    expect((await project.owner.send('POST', `/projects/${project.projectId}/activities/${id}/cancel`)).status).toBe(200);
    await cancelled;
    signal?.throwIfAborted();
  };

  /** A push as Git leaves it: the activity still waits for its turn. */
  const beginPush = (content: Content) => moved(commitFiles(all.home.platform.git.path(project.projectId), undefined, content));
  /** Moves the branch to the commit, or deletes it where the commit is null. */
  const moved = async (to: string | null): Promise<{ id: string }> => {
    const { platform } = all.home;
    const { projectId: project_id, owner } = project;
    const from = (await project.row(preview)).head_commit;
    const updates = JSON.stringify([{ branch: preview, from, to }]);
    const { id } = await platform.db
      .insertInto('pushes')
      .values({ project_id, user_id: owner.user.id, updates, options: '{}' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const branch = `refs/heads/${preview}`;
    git(platform.git.path(project_id), ['update-ref', ...(to === null ? ['-d', branch] : [branch, to])]);
    const [activity] = await recordPush(platform, id);
    if (!activity) throw new Error('Nothing was recorded');
    return activity;
  };

  test(
    'one that is paused runs again with it, whatever interrupts that; cancelled on the way it is paused as it was',
    { timeout },
    async () => {
      await later();
      await does('POST', '/pause');
      const before = await seen();
      expect(before).toMatchObject({ status: 'paused', edge: 'paused', containers: 0, word: 'now' });
      expect(await restoreWhile(cancel)).toMatchObject({ state: 'cancelled', result: 'failure' });
      expect(await seen()).toEqual(before);
      for (const step of ['replace data', 'open environment']) {
        await cancelAfter(step);
        expect([step, await seen()]).toEqual([step, before]);
      }
      await restoreInterrupted();
      expect(await seen()).toEqual({ ...before, ...running, word: 'then', version: 'one', color: null, n: null });
      await later();
      await does('POST', '/pause');
      await restore(onlyData);
      expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'two' });
    },
  );

  test('one that sleeps is awake with it, and has it whenever it wakes; cancelled, it is awake as it was', { timeout }, async () => {
    const { platform } = all.home;
    const fallAsleep = async () => {
      await sql`update environments set sleep_after_seconds = 1, last_active_at = now() - interval '1 hour', woken_at = now() - interval '1 hour'
        where project_id = ${project.projectId} and id = ${preview}`.execute(platform.db);
      await sleepily?.run(platform, new AbortController().signal);
      expect(await seen()).toMatchObject({ status: 'active', edge: 'sleeping', containers: 0 });
    };
    await later();
    await fallAsleep();
    await cancelAfter('replace data');
    expect(await seen()).toMatchObject({ ...running, word: 'now', version: 'two' });
    await fallAsleep();
    expect((await restore()).log).toContain(`Waking environment ${preview}`);
    expect([await seen(), await project.row(preview)]).toMatchObject([
      { ...running, word: 'then', version: 'one' },
      { sleeping_since: null, is_waking: false },
    ]);
    await fallAsleep();
    const hearing = new AbortController();
    const listening = wakefully?.listen(platform, hearing.signal);
    await wakeEnvironment(platform, project.projectId, preview).finally(() => hearing.abort());
    await listening;
    expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'one' });
    await say('now');
    await fallAsleep();
    await restore(onlyData);
    expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'one' });
    await sql`update environments set sleep_after_seconds = null where project_id = ${project.projectId}`.execute(platform.db);
  });

  test(
    'one that is not active becomes so, with what ran then or what its branch has; cancelled, nothing is left',
    { timeout },
    async () => {
      await later();
      await does('POST', '/deactivate');
      await cancelAfter('replace data');
      await cancelAfter('open environment', onlyData);
      expect([(await project.row(preview)).status, await project.table(preview), await onMachine()]).toEqual(['inactive', undefined, []]);
      await restoreInterrupted();
      expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'one' });
      await does('POST', '/deactivate');
      await restore(onlyData);
      expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'two' });
    },
  );

  test('data alone is for code that can run: without any it fails, and says so', { timeout }, async () => {
    await does('POST', '/deactivate');
    await project.ended(await beginPush({ README: 'Nothing runs here.' }));
    const { result, log } = await project.ended(await project.beginRestore(backup, onlyData, preview));
    expect([result, log]).toEqual(['failure', expect.stringContaining('No configuration was found')]);
    expect((await project.row(preview)).status).toBe('inactive');
    await restore();
    expect(await seen()).toMatchObject({ ...running, word: 'then', version: 'one' });
  });

  test(
    'where deployments are manual it does not wait, and what is staged stays so, until it is deployed on the data',
    { timeout },
    async () => {
      const staged = async (environment = preview): Promise<string[]> =>
        (await send('GET', '/activities?state=staged', undefined, environment)).json.map(({ type }: { type: string }) => type);
      const isClosed = async () => (await project.table(preview))?.http_access.basic_auth.ada !== undefined;
      await later();
      await send('PATCH', '/settings', { enable_manual_deployments: true });
      await project.ended(await beginPush(smallFiles('three', withStore)));
      await does('POST', '/variables', { name: 'env:COLOR', value: 'red' });
      await does('PATCH', '', { http_access: { basic_auth: { ada: 'secret word' } } });
      await does('PATCH', '/deployments/next', { webapps: { app: { instance_count: 2 } } });
      const waiting = await staged();
      expect(waiting).toHaveLength(4);

      await restore();
      expect([await seen(), await isClosed(), await staged()]).toMatchObject([
        { ...running, word: 'then', version: 'one', color: null },
        false,
        waiting,
      ]);
      await does('POST', '/redeploy', {});
      expect([await seen(), await staged()]).toMatchObject([{ ...running, word: 'then', version: 'one', color: null }, waiting]);
      await say('now');
      await restore(onlyData);
      expect([await seen(), await isClosed(), await staged()]).toMatchObject([
        { ...running, word: 'then', version: 'one', color: null },
        false,
        waiting,
      ]);

      await does('POST', '/deploy', {});
      expect([await seen(), await isClosed(), await staged()]).toMatchObject([
        { ...running, containers: 3, word: 'then', version: 'three', color: 'red' },
        true,
        [],
      ]);
      await send('PATCH', '/settings', { enable_manual_deployments: false });
    },
  );

  test('also what is staged in another environment stays staged there when it gets the backup', { timeout }, async () => {
    const tint = () => project.inside('echo ${TINT:-none}', 'other');
    await restore({ environment_name: 'other' });
    await send('PATCH', '/settings', { enable_manual_deployments: true }, 'other');
    await does('POST', '/variables', { name: 'env:TINT', value: 'pale' }, 'other');
    await project.inside('echo now >files/word', 'other');
    await restore({ environment_name: 'other' });
    expect([await seen('other'), await tint()]).toMatchObject([{ ...running, word: 'then', version: 'one' }, 'none']);
    expect((await send('GET', '', undefined, 'other')).json.has_staged_activities).toBe(true);
    await does('POST', '/deploy', {}, 'other');
    expect([(await seen('other')).word, await tint()]).toEqual(['then', 'pale']);
  });

  test('a push that waits goes first; one that comes meanwhile is deployed on what was restored', { timeout }, async () => {
    await later();
    await beginPush(smallFiles('three', withStore));
    const { status, json } = await send('POST', `/backups/${backup}/restore`, {});
    expect([status, json.message]).toEqual([409, `Something is happening to ${preview}; restore the backup when that is over.`]);
    await workOff(all.home.platform);
    expect(await seen()).toMatchObject({ status: 'active', edge: 'open', word: 'now', version: 'three' });
    const restored = await project.beginRestore(backup, {}, preview);
    const pushed = await project.ended(await beginPush(smallFiles('four', withStore)));
    expect([(await activityRow(all.home.platform, restored.id)).result, pushed.result]).toEqual(['success', 'success']);
    expect(await seen()).toMatchObject({ status: 'active', edge: 'open', word: 'then', version: 'four' });
  });

  test('of one that is deleted with its branch meanwhile nothing is left', { timeout }, async () => {
    await does('POST', '/deactivate');
    const before = await onMachine();
    const { result, log } = await restoreWhile(() => moved(null));
    expect([result, log]).toEqual(['failure', expect.stringContaining(`The environment ${preview} is being deleted`)]);
    expect([(await send('GET', '')).status, await onMachine()]).toEqual([404, before]);
  });
});
