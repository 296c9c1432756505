import { expect, test } from 'vitest';
import { activityRow } from '../../testing/activities.ts';
import { deploySample } from '../../testing/deployment.ts';
import { sampleBackup } from '../../testing/samples.ts';
import { database, shop } from '../../testing/stack.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { setQuota } from '../deployments/public.ts';
import { machineName } from '../environments/public.ts';
import { environments } from '../environments/room.ts';

const home = await openTestPlatform();
const { db } = home.platform;

/** A backup of an environment for staging, beside the default one; nothing of it is in the store. */
async function sample() {
  const owner = await home.person();
  const backup = await sampleBackup(owner);
  const { projectId, environmentId, backupId } = backup;
  const at = `/projects/${projectId}/environments/${encodeURIComponent(environmentId)}/backups/${backupId}`;
  return {
    ...backup,
    owner,
    at,
    restore: (body: unknown = {}) => owner.send('POST', `${at}/restore`, body),
    change: (fields: object) => db.updateTable('backups').set(fields).where('id', '=', backupId).execute(),
    addEnvironment: (id: string, type: string, fields: object = {}) =>
      db
        .insertInto('environments')
        .values({ project_id: projectId, id, machine_name: machineName(id, projectId), title: id, type, ...fields })
        .execute(),
    changeEnvironment: (fields: object, id = environmentId) =>
      db.updateTable('environments').set(fields).where('project_id', '=', projectId).where('id', '=', id).execute(),
  };
}

test('a restore is an activity of the environment that it goes into, told as clients know it', async () => {
  const { owner, at, restore, environmentId, backupId } = await sample();
  expect((await owner.send('GET', at)).json._links).toHaveProperty(['#restore', 'href'], `/api${at}/restore`);
  const { status, json } = await restore({ environment_name: environmentId, restore_code: true, resources: { init: 'backup' } });
  expect([status, json]).toMatchObject([
    200,
    {
      _embedded: {
        activities: [
          {
            type: 'environment.restore',
            environments: [environmentId],
            payload: { user: { id: owner.user.id }, environment: environmentId, backup_name: backupId, commit: 'a'.repeat(40) },
            text: expect.stringContaining(`restored`),
          },
        ],
      },
    },
  ]);
  const again = await restore();
  expect([again.status, again.json.message]).toEqual([
    409,
    `Something is happening to ${environmentId}; restore the backup when that is over.`,
  ]);
});

test('what cannot be restored has no link, and says so', async () => {
  const { owner, at, restore, change, projectId } = await sample();
  const refused = async () => {
    const [{ status, json }, found] = [await restore(), await owner.send('GET', at)];
    return [status, json.message, '#restore' in found.json._links];
  };
  const words = 'Only a backup that is complete, and that nobody deletes, can be restored.';
  await change({ status: 'DELETING' });
  expect(await refused()).toEqual([409, words, false]);
  await change({ status: 'CREATED', restorable: false });
  expect(await refused()).toEqual([409, words, false]);
  const other = await sample();
  expect((await owner.send('POST', at.replace(projectId, other.projectId) + '/restore', {})).status).toBe(404);
  expect((await other.owner.send('POST', `${at}/restore`, {})).status).toBe(404);
});

test('every field that is wrong is named', async () => {
  const { restore } = await sample();
  const wrong = {
    environment_name: '',
    branch_from: 7,
    restore_code: 'yes',
    restore_resources: 1,
    resources: { init: 'child', x: 1 },
    safe: true,
  };
  const { status, json } = await restore(wrong);
  expect(status).toBe(400);
  const named = Object.keys(json.detail).toSorted();
  expect(named.map((name) => name.split(/[./]/)[0])).toEqual(
    expect.arrayContaining(['branch_from', 'environment_name', 'resources', 'restore_code', 'restore_resources', 'safe']),
  );
  expect((await restore({ environment_name: 'a..b' })).json.detail).toMatchObject({
    environment_name: expect.stringContaining('Git accepts'),
  });
  expect((await restore({ environment_name: 'new', branch_from: 'absent' })).json.detail).toMatchObject({
    branch_from: expect.stringContaining('absent'),
  });
});

test('an environment that is being deleted, or has no code where only data is wanted, is none to restore into', async () => {
  const { restore, addEnvironment, changeEnvironment } = await sample();
  await addEnvironment('leaving', 'development', { status: 'deleting' });
  await addEnvironment('empty', 'development');
  const messages = [
    await restore({ environment_name: 'leaving' }),
    await restore({ environment_name: 'empty', restore_code: false }),
    await restore({ environment_name: 'new' }),
  ].map(({ status, json }) => [status, json.message]);
  expect(messages).toEqual([
    [409, 'leaving is being deleted; restore the backup into another environment.'],
    [409, 'There is no code in empty; push some, or restore the code of the backup, too.'],
    [409, expect.stringMatching(/^new cannot be branched off .*, which has no code or is being deleted; name another branch_from\.$/)],
  ]);
  await changeEnvironment({ head_commit: 'a'.repeat(40) });
  const { status, json } = await restore({ environment_name: 'new' });
  expect([status, (await activityRow(home.platform, json._embedded.activities[0].id)).environments]).toEqual([200, ['new']]);
});

test('data goes only where whoever restores it administers both sides, or may branch', async () => {
  const { organization_id, projectId, at, addEnvironment, changeEnvironment } = await sample();
  await changeEnvironment({ head_commit: 'a'.repeat(40) });
  await addEnvironment('shown', 'production');
  await addEnvironment('preview', 'development');
  const allowed = async (...permissions: string[]) => {
    const person = await home.person();
    await db.insertInto('organization_members').values({ organization_id, user_id: person.user.id, permissions: [] }).execute();
    await db.insertInto('user_access').values({ organization_id, project_id: projectId, user_id: person.user.id, permissions }).execute();
    return async (environment_name: string) => (await person.send('POST', `${at}/restore`, { environment_name })).status;
  };
  const contributor = await allowed('staging:contributor');
  const previewer = await allowed('development:admin');
  const stager = await allowed('staging:admin');
  const both = await allowed('staging:admin', 'development:admin', 'production:viewer');
  const viewing = await allowed('staging:admin', 'development:viewer');
  expect([await contributor('preview'), await previewer('preview')]).toEqual([403, 404]);
  expect([await stager('shown'), await stager('preview'), await stager('new')]).toEqual([403, 403, 403]);
  expect([await both('shown'), await both('preview')]).toEqual([403, 200]);
  // The same rule as for a branch: whoever sees both types may make one.
  expect([await viewing('preview'), await viewing('brand-new')]).toEqual([403, 200]);
});

test('what would get more than there is, or has data that means nothing there, is refused with the reply, and nothing is begun', async () => {
  const { restore, projectId, owner, change, addEnvironment, changeEnvironment } = await sample();
  await changeEnvironment({ head_commit: 'a'.repeat(40) });
  const config = 'applications: { app: { type: "nodejs:22", web: { commands: { start: "exec node server.js" } } } }\nroutes: {}';
  const head_commit = commitFiles(home.platform.git.path(projectId), undefined, { '.upsun/config.yaml': config });
  await addEnvironment('idle', 'development', { head_commit });
  const refusals = async (...bodies: object[]) => {
    const replies = [];
    for (const body of bodies) replies.push(await restore(body));
    return replies.map(({ status, json }) => [status, json.message]);
  };
  const [fresh, idle] = [{ environment_name: 'fresh' }, { environment_name: 'idle' }];
  await setQuota(db, { project_id: projectId, organization_id: null }, { memory: 100 });
  const quota = expect.stringMatching(/^The project .* would exceed its quota\. memory: \d+ MB are needed/);
  expect(await refusals(fresh, idle, { ...idle, restore_code: false })).toEqual([
    [402, quota],
    [402, quota],
    [402, quota],
  ]);
  await setQuota(db, { project_id: projectId, organization_id: null }, { memory: null });
  await db.insertInto('machine_amounts').values({ cpu: 0.01, memory: 100_000, disk: 100_000 }).execute();
  const full = expect.stringMatching(/^This machine is full\. processors: /);
  expect(await refusals(fresh, idle)).toEqual([
    [409, full],
    [409, full],
  ]);
  // No disk is assigned yet, but the disk of the machine is full all the same.
  const part = { name: 'data-db-postgresql', kind: 'data', of: 'db', type: 'postgresql:17', bytes_max: 2 ** 31, bytes: 2 ** 30 };
  await change({ parts: JSON.stringify([part]) });
  await db.updateTable('machine_amounts').set({ cpu: 1000, disk_free: 500 }).execute();
  const room = expect.stringMatching(
    /^There is no room for the backup .*: it needs 1088 MB on the disk for volumes, where 500 MB are free\./,
  );
  expect(await refusals(fresh, idle, { ...idle, restore_code: false })).toEqual([
    [409, room],
    [409, room],
    [409, room],
  ]);
  // The figures of the machine are too old to be relied on, so they refuse nothing.
  await db.updateTable('machine_amounts').set({ noted_at: '2026-01-01T00:00:00Z' }).execute();
  const model = shop();
  await addEnvironment('newer', 'development');
  await deploySample(
    home.platform,
    { projectId, environmentId: 'newer' },
    {
      model: { ...model, services: { ...model.services, db: database('db', { type: 'postgresql:18' }) } },
    },
  );
  expect(await refusals({ environment_name: 'newer' }, { environment_name: 'newer', restore_code: false })).toEqual([
    [409, expect.stringContaining("its service 'db' is postgresql:17, and the environment has postgresql:18")],
    [409, expect.stringContaining("its service 'db' is postgresql:17, and the environment has postgresql:18")],
  ]);
  const { json } = await owner.send('GET', `/projects/${projectId}/environments`);
  expect(json.map(({ id, is_dirty }: { id: string; is_dirty: boolean }) => [id, is_dirty])).not.toContainEqual([
    'fresh',
    expect.anything(),
  ]);
  expect(json.some(({ is_dirty }: { is_dirty: boolean }) => is_dirty)).toBe(false);
  // What a running environment uses already counts for its restore; one that is paused or asleep has given it back.
  await setQuota(db, { project_id: projectId, organization_id: null }, { memory: 100 });
  await changeEnvironment({ status: 'paused' });
  expect(await refusals({})).toEqual([[402, quota]]);
  await changeEnvironment({ status: 'active', sleeping_since: new Date().toISOString() });
  expect(await refusals({})).toEqual([[402, quota]]);
  await changeEnvironment({ sleeping_since: null });
  expect((await restore()).status).toBe(200);
});

test('of a new environment that is cancelled before anything began, the name is free again', async () => {
  const { owner, projectId, restore, changeEnvironment, environmentId } = await sample();
  await changeEnvironment({ head_commit: 'a'.repeat(40) });
  const forget = () =>
    environments.reconcilers
      ?.find(({ name }) => name === 'forget environments that were never made')
      ?.run(home.platform, new AbortController().signal);
  const ids = async (): Promise<string[]> =>
    (await owner.send('GET', `/projects/${projectId}/environments`)).json.map(({ id }: { id: string }) => id).toSorted();
  const before = await ids();
  const { json } = await restore({ environment_name: 'brief' });
  const { json: branched } = await owner.send('POST', `/projects/${projectId}/environments/${encodeURIComponent(environmentId)}/branch`, {
    name: 'short',
    title: 'Short',
  });
  const begun = [...json._embedded.activities, ...branched._embedded.activities];
  await forget();
  expect(await ids()).toEqual([...before, 'brief', 'short'].toSorted());
  for (const { id } of begun)
    expect((await owner.send('POST', `/projects/${projectId}/activities/${id}/cancel`)).json._embedded.entity.state).toBe('cancelled');
  await forget();
  expect(await ids()).toEqual(before);
  expect((await restore({ environment_name: 'brief' })).status).toBe(200);
});
