import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { Problem } from '../../kernel/problem.ts';
import { eachStepTwice, failAtEachStep, workThrough } from '../../testing/activities.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { fetchingOnce, openDrill, smallFiles, type DrilledProject } from './test-drill.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
/** `then` is what was deployed when the backup was made; `now` is what has been deployed since. */
const then = { services: '{ store: { type: "redis-persistent:8.0" } }' };
const now = { services: '{ later: { type: "redis-persistent:8.0" } }' };

describe.runIf(canRunContainers)(`what goes wrong with a restore${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: DrilledProject;
  let backup: string;
  let blobs: Blobs;
  const [store, later] = ['data-store-redis-persistent', 'data-later-redis-persistent'];
  const markerOf = async (volume: string) => readFileSync(join(await project.folder(volume), 'marker'), 'utf8');

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'redis-persistent:8.0']) await all.machine.images.ensure(type);
    project = await openDrill(all);
    await project.release(smallFiles('one', then));
    await project.inside('echo then >files/word');
    writeFileSync(join(await project.folder(store), 'marker'), 'then');
    backup = await project.backUp(false);
    await project.release(smallFiles('two', now));
    await project.inside('echo now >files/word');
    writeFileSync(join(await project.folder(later), 'marker'), 'now');
    blobs = all.home.platform.blobs;
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const state = async () => [await project.ask(), await project.inside('cat files/word'), await project.found()];
  const withBlobs = async <T>(changes: Partial<Blobs>, work: () => Promise<T>): Promise<T> => {
    all.home.platform.blobs = { ...blobs, ...changes };
    return work().finally(() => (all.home.platform.blobs = blobs));
  };
  const withFree = async <T>(freeBytes: () => number, work: () => Promise<T>): Promise<T> => {
    const { volumes } = all.machine;
    all.machine.volumes = { ...volumes, capacity: async () => ({ bytes: 2 ** 40, freeBytes: freeBytes() }) };
    return work().finally(() => (all.machine.volumes = volumes));
  };

  test('without room for the data it is refused with numbers, and if the pool fills meanwhile all is as it was', { timeout }, async () => {
    const before = await state();
    const refused = await withFree(
      () => 2 ** 20,
      () => project.tryToRestore(backup),
    );
    expect([refused.result, refused.log]).toEqual([
      'failure',
      expect.stringMatching(/There is no room for the backup .*: it needs \d+ MB .*, where 1 MB are free/),
    ]);
    expect(refused.log).not.toContain('Fetching');
    let free = 2 ** 40;
    const restore: Blobs['restore'] = async (_, __, [part]) => {
      writeFileSync(join(part?.folder ?? '', 'half'), 'x');
      free = 0;
      throw new Error('no space left on device');
    };
    const full = await withBlobs({ restore }, () =>
      withFree(
        () => free,
        () => project.tryToRestore(backup),
      ),
    );
    expect([full.result, full.log]).toEqual(['failure', expect.stringContaining('became full while the backup')]);
    expect(await state()).toEqual(before);
  });

  test('a fetch that is interrupted half way begins anew; only the data, for the code of a new branch', { timeout }, async () => {
    let calls = 0;
    const restore: Blobs['restore'] = async (repository, stored, parts, signal) => {
      calls += 1;
      for (const { folder } of parts) expect(readdirSync(folder)).toEqual([]);
      writeFileSync(join(parts[0]?.folder ?? '', 'half'), 'x');
      if (calls === 1) throw new Error('as if it had been killed');
      await blobs.restore(repository, stored, parts, signal);
    };
    const body = { environment_name: 'half', restore_code: false };
    const { result } = await withBlobs({ restore }, () => project.tryToRestore(backup, body));
    expect([result, calls, await project.inside('cat files/word', 'half'), await project.ask('half')]).toMatchObject([
      'success',
      2,
      'then',
      { version: 'two' },
    ]);
  });

  test('only the data, where other code runs: what the backup has and the code knows', { timeout }, async () => {
    const { log } = await project.restore(backup, { restore_code: false });
    expect(log).toContain(`W: Nothing in this environment uses ${store}; it is left out`);
    expect(await state()).toMatchObject([{ version: 'two' }, 'then', { containers: [expect.anything(), expect.anything()] }]);
    expect(await markerOf(later)).toBe('now');
    await project.inside('echo now >files/word');
  });

  test('it bears a kill after each step, and until it is current fails without a trace', { timeout }, async () => {
    const { platform } = all.home;
    const before = (await project.found()).volumes;
    const after = [...before, `stack-…-${store}`].toSorted();
    let serving = { version: 'two', word: 'now', volumes: before };
    const unchanged = async (step: string) => {
      if (step === 'clean up') serving = { version: 'one', word: 'then', volumes: after };
      const [version, word] = [await project.ask(), await project.inside('cat files/word')];
      expect([step, version, word]).toMatchObject([step, { version: serving.version }, serving.word]);
      expect([step, (await project.found()).volumes]).toEqual([step, serving.volumes]);
    };
    const failed = await withBlobs({ restore: fetchingOnce(platform) }, () =>
      failAtEachStep(platform, () => project.beginRestore(backup), unchanged),
    );
    const steps = [
      'find backup',
      'check backup',
      'find builds',
      'prepare deployment',
      'fetch data',
      'keep data',
      'replace data',
      'make current',
    ];
    expect(failed).toEqual(expect.arrayContaining(steps));
    expect([await markerOf(store), await markerOf(later)]).toEqual(['then', 'now']);
    await project.release(smallFiles('two', now));
    await eachStepTwice(platform, () => project.beginRestore(backup));
    expect(await state()).toMatchObject([
      { version: 'one' },
      'then',
      { containers: [expect.anything(), expect.anything()], volumes: after },
    ]);
    // Data of a service that the restored code does not have is kept for the code that has it.
    expect([await markerOf(store), await markerOf(later)]).toEqual(['then', 'now']);
  });

  test('of a new environment that fails nothing is left: no branch, no data, no name', { timeout }, async () => {
    const { git, db } = all.home.platform;
    const names = async () => [
      (await db.selectFrom('environments').select('id').where('project_id', '=', project.projectId).orderBy('id').execute()).map(
        ({ id }) => id,
      ),
      (await all.machine.volumes.list()).map(({ name }) => name),
      (await all.machine.runtime.list()).map(({ name }) => name).toSorted(),
      await git.branch(project.projectId, 'brief'),
    ];
    const before = await names();
    for (const broken of ['create branch', 'fetch data', 'open applications']) {
      const { id } = await project.beginRestore(backup, { environment_name: 'brief' });
      await workThrough(all.home.platform, {
        afterWork: (activity, step) => {
          if (activity.id === id && step === broken) throw new Problem('unavailable', 'A test broke this.');
        },
      });
      expect([broken, await names()]).toEqual([broken, before]);
    }
  });

  test('a damaged store is found out while the environment serves on', { timeout }, async () => {
    const before = await state();
    const folder = all.home.platform.config.data;
    const packs = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && /\/data\/[0-9a-f]{2}$/.test(entry.parentPath) && entry.parentPath.includes(project.projectId),
    );
    expect(packs.length).toBeGreaterThan(0);
    for (const { parentPath, name } of packs) {
      const bytes = readFileSync(join(parentPath, name));
      writeFileSync(
        join(parentPath, name),
        bytes.map((byte, index) => (index % 100 === 0 ? byte ^ 0xff : byte)),
      );
    }
    const { result, log } = await project.tryToRestore(backup);
    expect([result, log]).toEqual(['failure', expect.stringContaining('damaged')]);
    expect(await state()).toEqual(before);
    // A backup that could not be restored is not offered a second time.
    const at = `${project.at('main')}/backups/${backup}`;
    expect((await project.owner.send('GET', at)).json).toMatchObject({ restorable: false, status: 'CREATED' });
    expect(await project.owner.send('POST', `${at}/restore`, {})).toMatchObject({
      status: 409,
      json: { message: expect.stringContaining('was found damaged') },
    });
  });
});
