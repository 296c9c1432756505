import { randomBytes } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { ulid } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import type { TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import type { Person } from '../../testing/platform.ts';
import { sampleBackup } from '../../testing/samples.ts';
import { backupContent } from './queries.ts';
import { openBackedUp, type BackedUp } from './test-backed-up.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const colour = 'vermilion as can be';
const idPattern = /^[0-9A-HJKMNP-TV-Z]{26}$/;

describe.runIf(canRunContainers)(`backups${whyNoContainers}`, () => {
  let project: BackedUp;
  let all: TestDeployments;

  beforeAll(async () => {
    project = await openBackedUp();
    all = project.all;
  }, imagesMillisecondsMax);
  afterAll(() => project.close());

  const backUp = (body: object = {}) => project.act('POST', '/backup', body);

  test('a safe backup holds visitors for a moment and fails none; each of its fields is true', { timeout }, async () => {
    await project.inside('head -c 3000000 /dev/urandom >/app/files/file');
    const before = new Date().toISOString();
    expect((await project.environment())._links).toHaveProperty('#backup');
    const crowd = project.visitors(4);
    project.toldEdge();
    const made = await backUp();
    const { wrong, answered } = await crowd.end();
    expect([wrong, answered > 20]).toEqual([[], true]);
    expect(made.result).toBe('success');
    expect(project.toldEdge()).toEqual(['holding', 'open']);
    expect(made.log).toMatch(
      /^Backing up main \(commit [0-9a-f]{7}\) as [0-9A-Z]{26}\n {2}Copied data-db-postgresql, storage-app, as of .*\n {2}Requests waited for \d+\.\d\d s meanwhile\n {2}Stored \d+\.\d MB, of which \d+\.\d MB were added to the store, in \d+\.\d\d s\n {2}Read all of it back from .* in \d+\.\d\d s\nBackup [0-9A-Z]{26} can be restored\n$/,
    );

    const [backup, ...others] = await project.list();
    expect(others).toEqual([]);
    const { stack_id } = await project.row();
    const deployment = (await project.send('GET', '/earlier-deployments')).json[0].id;
    expect(backup).toMatchObject({
      id: expect.stringMatching(idPattern),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      attributes: {},
      status: 'CREATED',
      expires_at: null,
      index: null,
      commit_id: (await project.row()).head_commit,
      environment: 'main',
      safe: true,
      size_object_storage: 0,
      deployment,
      restorable: true,
      automated: false,
    });
    const limits = await Promise.all(
      [`stack-${stack_id}-data-db-postgresql`, `stack-${stack_id}-storage-app`].map((name) => all.machine.volumes.volume(name)),
    );
    expect(backup?.size_of_volumes).toBe(limits.reduce((sum, volume) => sum + (volume?.bytesMax ?? 0), 0) / 2 ** 20);
    expect(backup?.size_used).toBeGreaterThan(20);
    expect(backup?.size_used).toBeLessThan(200);
    const times = [before, backup?.created_at ?? '', new Date().toISOString()];
    expect(times.toSorted()).toEqual(times);
    expect(Object.keys(backup?._links ?? {})).toEqual(expect.arrayContaining(['self', '#delete', '#restore']));
    expect((await project.send('GET', `/backups/${backup?.id}`)).json).toMatchObject({ id: backup?.id, restorable: true });
    expect((await project.environment()).last_backup_at).toBe(backup?.created_at);
    expect(await project.activity(made.id)).toMatchObject({
      type: 'environment.backup',
      state: 'complete',
      payload: { user: { id: project.owner.user.id }, environment: { id: 'main' }, backup_name: backup?.id },
      text: expect.stringMatching(/ created a backup of /),
      environments: ['main'],
      completion_percent: 100,
    });
    expect([await project.copies(), await project.inStore()]).toEqual([[], [backup?.id]]);
  });

  test('what is kept is all that it takes: data, builds, variables and what ran; a second one adds little', { timeout }, async () => {
    await project.act('POST', '/variables', { name: 'env:COLOR', value: colour, is_sensitive: true });
    project.toldEdge();
    const live = await backUp({ safe: false });
    expect([live.result, project.toldEdge()]).toEqual(['success', []]);
    expect(live.log).toContain('No request had to wait');
    const [newest, first] = await project.list();
    expect([newest, first]).toMatchObject([{ safe: false, restorable: true }, { safe: true }]);
    const { db, secrets } = all.home.platform;
    const content = await backupContent(db, secrets, newest?.id ?? '');
    expect(content?.parts.map(({ name, kind, of, type }) => ({ name, kind, of, type }))).toEqual([
      { name: 'data-db-postgresql', kind: 'data', of: 'db', type: 'postgresql:17' },
      { name: 'storage-app', kind: 'storage', of: 'app', type: null },
      { name: 'slug-app', kind: 'slug', of: 'app', type: null },
    ]);
    expect(content?.stored?.parts).toEqual(['data-db-postgresql', 'manifest', 'slug-app', 'storage-app']);
    expect(content?.stack.secrets.variables).toContainEqual(expect.objectContaining({ name: 'env:COLOR', value: colour }));
    expect(content?.stored?.bytesAdded).toBeLessThan((content?.stored?.bytes ?? 0) / 10);
    const { rows } = await sql<{ row: string }>`select to_jsonb(backups)::text as row from backups`.execute(db);
    expect(rows.map(({ row }) => row).join()).not.toContain(colour);
  });

  test('broken at any step nothing is left of it but its log; killed at any step it goes on', { timeout: 2 * timeout }, async () => {
    const before = await project.ids();
    const failed = await failAtEachStep(
      all.home.platform,
      () => project.begin('POST', '/backup', {}),
      async (step) =>
        expect([step, await project.ids(), await project.copies(), await project.state()]).toEqual([step, before, [], 'open']),
    );
    expect(failed).toEqual(['begin backup', 'take copies', 'let others pass', 'store', 'verify', 'remove copies', 'make restorable']);
    await eachStepTwice(all.home.platform, () => project.begin('POST', '/backup', {}));
    await project.tidy();
    const [last, made, ...rest] = await project.ids();
    expect([last !== undefined && made !== undefined, rest]).toEqual([true, before]);
    expect(await project.inStore()).toEqual((await project.ids()).toSorted());
    expect([await project.copies(), await project.state()]).toEqual([[], 'open']);
  });

  test('a store that fails, or that lost a byte of what it took, makes no backup; the next one is whole again', { timeout }, async () => {
    const before = await project.ids();
    const away = async () => {
      throw new Problem('unavailable', 'The backup could not be stored at test: the place does not answer.');
    };
    const refused = await project.withBlobs({ store: away }, () => backUp());
    expect(refused).toMatchObject({ result: 'failure', log: expect.stringContaining('E: The backup could not be stored at test') });

    await project.inside('head -c 1000000 /dev/urandom >/app/files/other');
    const folder = join(all.home.platform.config.data, 'backups', project.projectId, 'data');
    const packs = () => globSync('*/*', { cwd: folder });
    const known = packs();
    expect(known).not.toEqual([]);
    const damaging: Blobs['store'] = async (...given) => {
      const stored = await project.blobs.store(...given);
      for (const name of packs().filter((pack) => !known.includes(pack))) {
        const bytes = readFileSync(join(folder, name));
        bytes.set(randomBytes(64), Math.floor(bytes.length / 2));
        writeFileSync(join(folder, name), bytes);
      }
      return stored;
    };
    const damaged = await project.withBlobs({ store: damaging }, () => backUp());
    expect(damaged).toMatchObject({ result: 'failure', log: expect.stringMatching(/E: The copy of the backup .* could not be read back/) });
    expect([await project.ids(), await project.copies(), await project.state()]).toEqual([before, [], 'open']);
    await project.tidy();
    expect(await project.inStore()).toEqual(before.toSorted());

    expect(await backUp()).toMatchObject({ result: 'success' });
    await project.tidy();
    expect(await project.ids()).toHaveLength(4);
  });

  test('where what the store had is damaged, it is repaired, and the backup is whole', { timeout }, async () => {
    const folder = join(all.home.platform.config.data, 'backups', project.projectId, 'data');
    for (const name of globSync('*/*', { cwd: folder })) {
      const bytes = readFileSync(join(folder, name));
      bytes.set(randomBytes(64), Math.floor(bytes.length / 3));
      writeFileSync(join(folder, name), bytes);
    }
    const made = await backUp({ safe: false });
    expect(made).toMatchObject({ result: 'success' });
    expect(made.log).toMatch(/W: .* damaged .* The store is repaired, and the backup stored once more\./);
    const [newest] = await project.list();
    expect(newest).toMatchObject({ id: (await project.activity(made.id)).payload.backup_name, restorable: true });
    expect((await project.act('DELETE', `/backups/${newest?.id}`)).result).toBe('success');
  });

  test('where no copy can be made, those who wait are let through, and nothing is left', { timeout }, async () => {
    const before = await project.ids();
    const { volumes } = all.machine;
    const snapshot = async (from: string, name: string) => {
      if ((await project.state()) === 'holding') throw new Problem('unavailable', 'The pool is full.');
      return volumes.snapshot(from, name);
    };
    all.machine.volumes = { ...volumes, snapshot };
    const crowd = project.visitors(2);
    project.toldEdge();
    const failed = await backUp().finally(() => (all.machine.volumes = volumes));
    expect(failed).toMatchObject({ result: 'failure', log: expect.stringContaining('E: The pool is full.') });
    expect(project.toldEdge()).toEqual(['holding', 'open', 'open']);
    expect([(await crowd.end()).wrong, await project.ids(), await project.copies()]).toEqual([[], before, []]);
    const states = await Promise.all((await project.instances()).map(({ id }) => all.machine.runtime.state(id)));
    expect(states.map(({ status }) => status)).toEqual(['running']);
  });

  test('one that sleeps is woken for its backup', { timeout }, async () => {
    const { stack_id } = await project.row();
    const fallAsleep = sql`update environments set type = 'development', sleeping_since = now() where project_id = ${project.projectId}`;
    await fallAsleep.execute(all.home.platform.db);
    for (const { name, network } of await all.machine.runtime.list()) if (network === stack_id) await all.machine.runtime.remove(name);
    expect((await project.environment())._links).toHaveProperty('#backup');
    expect(await backUp({ safe: false })).toMatchObject({
      result: 'success',
      log: expect.stringContaining('Waking environment main\nBacking'),
    });
    expect([await project.state(), (await project.row()).sleeping_since]).toEqual(['open', null]);
    await sql`update environments set type = 'production' where project_id = ${project.projectId}`.execute(all.home.platform.db);
  });

  test('what would change the environment waits for the copies, not for the store', { timeout }, async () => {
    const { platform } = all.home;
    const slow: Blobs['store'] = async (...given) => {
      // These belong to the backup, whatever becomes of the environment and of what was built for it.
      const [, backup, parts] = given;
      expect(parts.map(({ folder }) => folder.includes(`backup-${backup.toLowerCase()}-`))).toEqual([true, true, true, true]);
      expect((await project.environment()).is_dirty).toBe(false);
      const redeployment = await project.begin('POST', '/redeploy', {});
      expect((await project.environment())._links).not.toHaveProperty('#backup');
      expect((await project.send('POST', '/backup', {})).status).toBe(409);
      const stateNow = async () => (await project.activity(redeployment.id)).state;
      await expect.poll(stateNow, { timeout: 240_000 }).toBe('complete');
      return project.blobs.store(...given);
    };
    const begun = await project.begin('POST', '/backup', {});
    expect((await project.environment()).is_dirty).toBe(true);
    await project.withBlobs({ store: slow }, () => workThrough(platform));
    expect(await project.activity(begun.id)).toMatchObject({ result: 'success' });
    const [made] = await project.list();
    expect(made).toMatchObject({ id: (await project.activity(begun.id)).payload.backup_name, restorable: true });
    await project.act('DELETE', `/backups/${made?.id}`);
  });

  test('cancelled while it is stored, it is undone', { timeout }, async () => {
    const before = await project.ids();
    const { platform } = all.home;
    const slow: Blobs['store'] = async (_repository, _backup, _parts, { signal }) => {
      await project.cancel(begun.id);
      await sleep(240_000, undefined, { signal });
      throw new Error('It was not stopped');
    };
    const begun = await project.begin('POST', '/backup', {});
    await project.withBlobs({ store: slow }, () => workThrough(platform));
    expect(await project.activity(begun.id)).toMatchObject({
      state: 'cancelled',
    });
    expect([await project.ids(), await project.copies(), await project.state()]).toEqual([before, [], 'open']);
  });

  test(
    'a deleted backup is gone from the store, also while another is made; a store that is away is asked again',
    { timeout },
    async () => {
      const [newest = '', second = '', third = '', ...rest] = await project.ids();
      const making = await project.begin('POST', '/backup', { safe: false });
      const reply = await project.send('DELETE', `/backups/${second}`);
      expect(reply.json).toMatchObject({
        _embedded: { activities: [{ type: 'environment.backup.delete', payload: { backup_name: second } }] },
      });
      expect((await project.send('GET', `/backups/${second}`)).json).toMatchObject({ status: 'DELETING' });
      const links = (await project.send('GET', `/backups/${second}`)).json._links;
      expect(Object.keys(links)).not.toContain('#delete');
      expect(Object.keys(links)).not.toContain('#restore');
      expect(await project.send('DELETE', `/backups/${second}`)).toMatchObject({
        status: 409,
        json: { message: expect.stringContaining('being') },
      });
      await workThrough(all.home.platform);
      const [made, ...others] = await project.ids();
      expect(others).toEqual([newest, third, ...rest]);
      expect((await project.activity(making.id)).payload.backup_name).toBe(made);
      expect(await project.inStore()).toEqual((await project.ids()).toSorted());
      expect((await project.send('GET', `/backups/${second}`)).status).toBe(404);

      const away = async () => {
        throw new Problem('unavailable', 'The place does not answer.');
      };
      const failed = await project.withBlobs({ forget: away }, () => project.act('DELETE', `/backups/${third}`));
      expect(failed).toMatchObject({ result: 'failure', log: expect.stringContaining('E: The place does not answer.') });
      expect((await project.send('GET', `/backups/${third}`)).json).toMatchObject({ status: 'DELETING' });
      expect(await project.act('DELETE', `/backups/${third}`)).toMatchObject({ result: 'success' });
      await project.withBlobs({ forget: away }, () => project.act('DELETE', `/backups/${newest}`));
      await project.tidy();
      expect((await project.ids()).filter((id) => [second, third, newest].includes(id))).toEqual([]);
      expect(await project.inStore()).toEqual((await project.ids()).toSorted());
    },
  );

  test(
    'only an active environment is backed up, once what happens there has ended, by its admins, with what the API knows',
    { timeout },
    async () => {
      for (const [body, field] of [
        [{ safe: 'yes' }, 'safe'],
        [{ safe: null }, 'safe'],
        [{ safe: true, live: true }, 'live'],
      ] as const)
        expect(await project.send('POST', '/backup', body)).toMatchObject({
          status: 400,
          json: { detail: { [field]: expect.any(String) } },
        });
      const [known = ''] = await project.ids();
      const elsewhere = await sampleBackup(project.owner);
      const other = `/projects/${elsewhere.projectId}/environments/main/backups`;
      for (const path of [
        `${other}/${known}`,
        `${project.at('main')}/backups/${ulid()}`,
        `${project.at('main')}/backups/odd`,
        `${project.at('main')}/backups/${elsewhere.backupId}`,
      ])
        for (const method of ['GET', 'DELETE']) expect([path, (await project.owner.send(method, path)).status]).toEqual([path, 404]);

      const viewer: Person = await all.home.person();
      await project.owner.send('POST', `/projects/${project.projectId}/user-access`, [
        { user_id: viewer.user.id, permissions: ['production:viewer'], auto_add_member: true },
      ]);
      expect(await viewer.send('POST', `${project.at('main')}/backup`, {})).toMatchObject({ status: 403 });
      expect(await viewer.send('DELETE', `${project.at('main')}/backups/${known}`)).toMatchObject({ status: 403 });
      expect((await viewer.send('GET', `${project.at('main')}/backups`)).json).toHaveLength((await project.ids()).length);

      await project.begin('POST', '/redeploy', {});
      const waiting = await project.begin('POST', '/backup', {});
      expect(await project.send('POST', '/backup', {})).toMatchObject({
        status: 409,
        json: { message: expect.stringContaining('A backup of the environment is being made') },
      });
      await workThrough(all.home.platform);
      expect(await project.activity(waiting.id)).toMatchObject({ result: 'success' });
      await project.act('POST', '/pause');
      expect((await project.environment())._links).not.toHaveProperty('#backup');
      expect((await project.send('POST', '/backup', {})).status).toBe(409);
      await project.act('POST', '/resume');
      expect((await project.environment())._links).toHaveProperty('#backup');
    },
  );

  test('a thousand backups are listed with one query, the newest first', async () => {
    const { platform } = all.home;
    const { db } = platform;
    let queries = 0;
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const counted = async () => {
      queries = 0;
      platform.db = db.withPlugin(counting);
      const backups = await project.list().finally(() => (platform.db = db));
      return { backups, queries };
    };
    const few = await counted();
    await sql`insert into backups (id, project_id, environment_id, environment_type, safe, automated, commit_id, stack_sealed, stored, restorable, created_at)
      select lpad(n::text, 26, '0'), ${project.projectId}, 'main', 'production', true, false, '', '', '{}', true, now() - make_interval(hours => n)
      from generate_series(1, 1000) as n`.execute(db);
    const many = await counted();
    expect(many.backups).toHaveLength(few.backups.length + 1000);
    // One query finds the environment, and one all of its backups.
    expect([few.queries, many.queries]).toEqual([2, 2]);
    const times = many.backups.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    await sql`delete from backups where stack_sealed = ''`.execute(db);
  });
});
