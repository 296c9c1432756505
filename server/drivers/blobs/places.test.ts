import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecrets } from '../../kernel/secrets.ts';
import type { Blobs, Stored } from './blobs.ts';
import { testMilliseconds } from './conformance.ts';
import { openBlobs } from './open-blobs.ts';
import { noteRestored } from './ownership.ts';
import type { BackupPlace } from './places.ts';
import { openTestS3, type TestS3, testS3Keys } from './test-s3.ts';

const run = promisify(execFile);
const keys = [randomBytes(32)];
let folder: string;
let s3: TestS3;
const data = () => [{ name: 'data', folder: join(folder, 'data') }];
/** With a data folder of its own. */
const installation = (name: string, places: readonly BackupPlace[], ours: readonly Buffer[] = keys) =>
  openBlobs({ folder: join(folder, name, 'blobs'), places, secrets: openSecrets(ours), attemptsMax: 2 });
const folderPlace = (name: string): BackupPlace => ({ kind: 'folder', folder: join(folder, name) });
const bucket = (prefix: string, { endpoint } = s3, account = testS3Keys): BackupPlace => ({
  kind: 's3',
  endpoint,
  bucket: 'backups',
  prefix,
  region: 'us-east-1',
  ...account,
});
const filesIn = (name: string) => readdir(join(folder, name), { recursive: true }).catch((): string[] => []);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-places-'));
  s3 = await openTestS3('backups');
  await mkdir(join(folder, 'data'));
  // More than one piece, so that where files are cut makes a difference.
  await writeFile(join(folder, 'data', 'random'), randomBytes(2_000_000));
});
afterAll(async () => {
  await s3.disappear();
  await rm(folder, { recursive: true });
});

describe('a place belongs to one installation', { timeout: testMilliseconds }, () => {
  test('of many that come to a new one at once, one has it; the others store and remove nothing, and are told what to do', async () => {
    for (const place of [folderPlace('kept'), bucket('kept')]) {
      const several = ['first', 'second', 'third'].map((name) => installation(name, [place], [randomBytes(32)]));
      const tries = await Promise.allSettled(several.map((blobs) => blobs.store('shop', 'one', data(), {})));
      expect(tries.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
      const loser = several[tries.findIndex(({ status }) => status === 'rejected')];
      const kept = async () => [await filesIn('kept'), [...s3.objects.keys()]];
      const before = await kept();
      const refusal = /has the backups of another installation, on .*: nothing is stored or removed there\. Set OFFSHOOT_BACKUPS to places/;
      if (!loser) throw new Error('All of them have it');
      const tried = [
        () => loser.store('other', 'one', data(), {}),
        () => loser.forget('shop', ['one']),
        () => loser.removeRepository('shop'),
      ];
      for (const refused of tried) await expect(refused()).rejects.toThrow(refusal);
      expect((await loser.places())[0]?.problem).toMatch(refusal);
      expect(await kept()).toEqual(before);
    }
  });

  /** Changes something there, or would. */
  const change = (blobs: Blobs) => blobs.removeRepository('none');

  test('one that was restored has it as soon as it changes something; the one before has it no more; a new one with the same key never', async () => {
    const place = [folderPlace('of the restored')];
    const [original, fresh] = [installation('original', place), installation('fresh', place)];
    await original.store('shop', 'one', data(), {});
    await expect(change(fresh)).rejects.toThrow('has the backups of another installation');
    let before = original;
    for (const name of ['restored', 'restored again']) {
      await noteRestored(join(folder, name, 'blobs'));
      // The second time with a new key, before the old one.
      const restored = installation(name, place, name === 'restored' ? keys : [randomBytes(32), ...keys]);
      expect(await restored.list('shop')).toEqual(['one']);
      await change(before);
      await change(restored);
      for (const earlier of [before, original])
        await expect(change(earlier)).rejects.toThrow(/has gone over to the installation on .*, which was restored at .* from a backup/);
      before = restored;
    }
  });

  test('one that is used already is ours; without its mark it is whoever comes first; a damaged mark is told of', async () => {
    const place = join(folder, 'earlier');
    const [blobs, another] = ['earlier one', 'another'].map((name) => installation(name, [folderPlace('earlier')]));
    if (!blobs || !another) throw new Error('There are two');
    await mkdir(join(place, 'shop'), { recursive: true });
    const mark = join(place, 'installation.json');
    await change(blobs);
    await expect(change(another)).rejects.toThrow(`if that one is no more, remove ${mark}.`);
    await rm(mark);
    await change(another);
    await expect(change(blobs)).rejects.toThrow('another installation');
    await rm(mark);
    await writeFile(mark, '');
    await expect(change(blobs)).rejects.toThrow(`${mark} is damaged`);
  });
});

describe('what one place lost comes back from another', { timeout: 2 * testMilliseconds }, () => {
  let blobs: Blobs;
  let backups: Stored[];
  /** As far as one can tell without reading all of it. */
  const states = async () => {
    const survey = await blobs.survey('shop', backups);
    return [...survey.values()].map((copies) => copies.map(({ state }) => state).join(', '));
  };
  const heal = async () => {
    await blobs.repair('shop');
    return blobs.bringBack('shop', backups);
  };
  const second = () => backups[1] ?? expect.fail('There are two');
  const mount = (...args: string[]) => run('mount', ['-t', 'tmpfs', '-o', 'size=50m', 'tmpfs', ...args]);
  beforeAll(async () => {
    await mkdir(join(folder, 'near'));
    await mount(join(folder, 'near'));
    blobs = installation('healing', [folderPlace('near'), bucket('far')]);
    const first = await blobs.store('shop', 'one', data(), {});
    await writeFile(join(folder, 'data', 'more'), randomBytes(1000));
    backups = [first, await blobs.store('shop', 'two', data(), { after: first })];
  });
  afterAll(() => run('umount', [join(folder, 'near')]));

  const damageNear = async () => {
    for (const name of await filesIn('near/shop/data')) if (name.length > 60) await truncate(join(folder, 'near/shop/data', name), 100);
  };
  test('what is damaged there, also when it happens to what came back', async () => {
    for (let round = 1; round <= 2; round += 1) {
      await damageNear();
      expect(await heal()).toEqual([{ place: join(folder, 'near'), backups: ['one', 'two'] }]);
      expect(await states()).toEqual(['whole, whole', 'whole, whole']);
    }
    expect(await blobs.bringBack('shop', backups)).toEqual([]);
    expect(await blobs.list('shop')).toEqual(['one', 'two']);
    // It has all of the other, and more.
    await blobs.verify('shop', second());
  });

  test('a place whose disk was replaced is filled again, once the new one is mounted', async () => {
    await run('umount', [join(folder, 'near')]);
    await expect(blobs.repair('shop')).rejects.toThrow(
      /see that the disk is mounted .* \.\/offshoot backup repair brings back what other places have/,
    );
    await expect(blobs.beginAgain('shop')).rejects.toThrow(`was on a disk that is mounted at ${join(folder, 'near')}, and is not now`);
    // Nor is anything begun in the other.
    const otherFirst = installation('healing', [bucket('far'), folderPlace('near')]);
    await expect(otherFirst.store('shop', 'half', data(), {})).rejects.toThrow('see that the disk is mounted');
    expect(await installation('healing', [bucket('far')]).list('shop')).toEqual(['one', 'two']);
    expect(await filesIn('near')).toEqual([]);
    await mount(join(folder, 'near'));
    expect(await blobs.beginAgain('shop')).toEqual([join(folder, 'near')]);
    expect(await heal()).toEqual([{ place: join(folder, 'near'), backups: ['one', 'two'] }]);
    expect(await states()).toEqual(['whole, whole', 'whole, whole']);
    expect(await blobs.beginAgain('shop')).toEqual([]);
    // What is stored there from now on is cut where it was before, so that nothing of it is stored twice.
    const third = await blobs.store('shop', 'three', data(), {});
    expect(third.bytesAdded).toBeLessThan(100_000);
    await blobs.verify('shop', third);
  });

  test('also to a place that was added, in a bucket of another account', async () => {
    const account = { accessKey: 'ANOTHER', secretKey: 'secret' };
    const other = await openTestS3('backups', account);
    try {
      const stored = await installation('wide', [bucket('ours')]).store('shop', 'one', data(), {});
      const wide = installation('wide', [bucket('ours'), bucket('theirs', other, account)]);
      expect(await wide.beginAgain('shop')).toEqual([expect.stringContaining('/theirs')]);
      expect(await wide.bringBack('shop', [stored])).toEqual([{ place: expect.stringContaining('/theirs'), backups: ['one'] }]);
      await wide.verify('shop', stored);
      expect(await filesIn('wide/blobs/passing')).toEqual(['lock']);
    } finally {
      await other.disappear();
    }
  });
});
