/** What every keeper of blobs does. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, cp, link, lutimes, mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Blobs, Damage, type Part, type Stored } from './blobs.ts';

export interface OpenedBlobs {
  blobs: Blobs;
  /** What is kept in a place, so that a test can spoil it. */
  kept: {
    names(): Promise<string[]>;
    read(name: string): Promise<Buffer>;
    write(name: string, content: Buffer): Promise<void>;
    remove(name: string): Promise<void>;
  };
  clean(): Promise<void>;
}

const run = promisify(execFile);
const largeBytes = 12 * 1024 ** 2;
/** Each command of restic is a process that reads the repository anew. */
export const testMilliseconds = 120_000;

/** Names, kinds, owners, modes, times to the nanosecond, links, attributes and contents. */
export async function picture(folder: string): Promise<string> {
  const listing = await run('find', ['.', '-printf', '%p %y %U:%G %m %s %n %T@ %l\n'], { cwd: folder });
  const sums = await run('find', ['.', '-type', 'f', '-exec', 'sha256sum', '{}', '+'], { cwd: folder });
  const attributes = await run('getfattr', ['-R', '-d', '.'], { cwd: folder }).catch(() => ({ stdout: '' }));
  // A folder's size depends on what was in it before.
  const lines = listing.stdout.split('\n').map((line) => line.replace(/^(\S+ d \S+ \S+) \d+ \d+/, '$1'));
  return [...lines.toSorted(), ...sums.stdout.split('\n').toSorted(), attributes.stdout].join('\n');
}

export function blobsConformance(name: string, open: () => Promise<OpenedBlobs>) {
  describe(`blobs: ${name}`, { timeout: testMilliseconds }, () => {
    let opened: OpenedBlobs;
    let blobs: Blobs;
    let scratch: string;
    let parts: Part[];
    let first: Stored;
    beforeAll(async () => {
      opened = await open();
      ({ blobs } = opened);
      scratch = await mkdtemp(join(tmpdir(), 'offshoot-blobs-'));
      parts = [
        { name: 'data-db', folder: join(scratch, 'some where') },
        { name: 'manifest', folder: join(scratch, 'elsewhere') },
      ];
      await fill(parts);
      first = await blobs.store('shop', 'first', parts, {});
    });
    afterAll(async () => {
      await opened?.clean();
      await rm(scratch, { recursive: true, force: true });
    });
    const emptyParts = async (name: string, of = parts) => {
      const empty = of.map((part) => ({ name: part.name, folder: join(scratch, name, part.name) }));
      for (const { folder } of empty) await mkdir(folder, { recursive: true });
      return empty;
    };
    const expectSame = async (restored: readonly Part[]) => {
      for (const part of restored) {
        const original = parts.find((candidate) => candidate.name === part.name)?.folder ?? '';
        expect(await picture(part.folder)).toBe(await picture(original));
      }
    };

    test('what was stored comes back with owners, modes, times, links and attributes', async () => {
      expect(first).toMatchObject({ backup: 'first', parts: ['data-db', 'manifest'] });
      expect(first.bytes).toBeGreaterThan(largeBytes);
      // A quarter of it is random, a quarter is there twice, and the rest compresses well.
      expect(first.bytesAdded / first.bytes).toBeGreaterThan(0.2);
      expect(first.bytesAdded / first.bytes).toBeLessThan(0.3);
      await blobs.verify('shop', first);
      const restored = await emptyParts('whole');
      await blobs.restore('shop', first, restored);
      await expectSame(restored);
    });

    test('files that are longer than a part may be are refused before any of them is read, whatever they take on the disk', async () => {
      const folder = join(scratch, 'long');
      await mkdir(folder);
      await writeFile(join(folder, 'holes'), 'x');
      await truncate(join(folder, 'holes'), 2 ** 43);
      const long = { name: 'data-long', folder, bytesMax: 2 ** 30 };
      await expect(blobs.store('long', 'first', [...parts, long], {})).rejects.toThrow(/^The files of data-long are together longer than/);
      expect(await blobs.list('long')).toEqual([]);
      await truncate(join(folder, 'holes'), 1000);
      for (let links = 1; links <= 10; links++) await link(join(folder, 'holes'), join(folder, `link${links}`));
      await expect(blobs.store('long', 'first', [{ ...long, bytesMax: 10_000 }], {})).rejects.toThrow('data-long');
    });

    test('a byte that flipped is found wherever it is: also where the names of files are', async () => {
      for (const file of await bySize(opened.kept, 'shop/data/')) {
        const content = await opened.kept.read(file);
        await opened.kept.write(file, flipped(content));
        await expect(blobs.verify('shop', first)).rejects.toThrow(/could not be read back: it is damaged/);
        await opened.kept.write(file, content);
      }
    });

    test('one part of several comes back by itself; one that is not there is refused', async () => {
      const [, one] = await emptyParts('one');
      if (!one) throw new Error('There are two parts');
      await blobs.restore('shop', first, [one]);
      await expectSame([one]);
      const none = { name: 'data-none', folder: one.folder };
      await expect(blobs.restore('shop', first, [none])).rejects.toThrow('The backup first has no data-none.');
    });

    test('a later backup adds what changed, and stays whole while and after the earlier is forgotten', async () => {
      await writeFile(join(parts[1]?.folder ?? '', 'more'), randomBytes(10_000));
      const second = await blobs.store('shop', 'second', parts, { after: first });
      expect(second.bytesAdded).toBeGreaterThan(10_000);
      expect(second.bytesAdded).toBeLessThan(100_000);
      expect(await blobs.list('shop')).toEqual(['first', 'second']);
      const restored = await emptyParts('second');
      // Removing waits for those who read; those who come later wait for it.
      const reading = blobs.verify('shop', first);
      // By then it reads; it takes longer than that.
      await sleep(200);
      const removing = blobs.forget('shop', ['first', 'never-stored']);
      await Promise.all([reading, removing, blobs.verify('shop', second), blobs.restore('shop', second, restored)]);
      await expectSame(restored);
      expect(await blobs.list('shop')).toEqual(['second']);
      await expect(blobs.verify('shop', first)).rejects.toThrow(Damage);
      first = second;
    });

    test('a call that was killed half way is made good by the next; what it left is in nobody’s way', async () => {
      await writeFile(join(parts[0]?.folder ?? '', 'large'), randomBytes(2 * largeBytes));
      const gone = new AbortController();
      const cut = blobs.store('shop', 'third', parts, {
        after: first,
        signal: gone.signal,
        progress: () => gone.abort(new Error('killed')),
      });
      await expect(cut).rejects.toThrow('killed');
      const third = await blobs.store('shop', 'third', parts, { after: first });
      const same = await blobs.store('shop', 'third', parts, {});
      expect(same).toMatchObject({ bytes: third.bytes, parts: third.parts });
      expect(same.bytesAdded).toBeGreaterThan(2 * largeBytes);
      expect(await blobs.list('shop')).toEqual(['second', 'third']);
      await blobs.verify('shop', same);
      first = same;
    });

    test('a byte that flipped, a file that is cut off and one that is gone are all found', async () => {
      const spoil = async (kind: string, how: (content: Buffer) => Buffer | undefined) => {
        const [file = ''] = await bySize(opened.kept, `shop/${kind}/`);
        const content = await opened.kept.read(file);
        const spoilt = how(content);
        await (spoilt ? opened.kept.write(file, spoilt) : opened.kept.remove(file));
        await expect(blobs.verify('shop', first), `${kind} ${how.name}`).rejects.toThrow(/could not be read back: it is damaged/);
        await opened.kept.write(file, content);
      };
      for (const how of [flipped, cutOff, gone]) await spoil('data', how);
      await spoil('index', gone);
      await blobs.verify('shop', first);
    });

    describe('a store that is damaged', () => {
      let pair: Part[];
      let [both, onlyTwo]: Stored[] = [];
      const storeAndVerify = async (backup: string) => blobs.verify('mended', await blobs.store('mended', backup, pair, { after: both }));
      const isWhole = async (stored: Stored | undefined) =>
        stored !== undefined && (await blobs.inspect('mended', stored)).every(({ state }) => state === 'whole');
      const wholeBySurvey = async () => {
        const survey = await blobs.survey('mended', both && onlyTwo ? [both, onlyTwo] : []);
        return [...survey.values()].map((copies) => copies.map(({ state }) => state));
      };
      beforeAll(async () => {
        pair = ['one', 'two'].map((part) => ({ name: part, folder: join(scratch, 'mended', part) }));
        for (const { folder } of pair) await mkdir(folder, { recursive: true });
        for (const { folder } of pair) await writeFile(join(folder, 'file'), randomBytes(400_000));
        both = await blobs.store('mended', 'both', pair, {});
        onlyTwo = await blobs.store('mended', 'only-two', pair.slice(1), {});
      });

      test('is repaired: the same data is stored again, and makes earlier backups whole; what is sound in a damaged file is kept', async () => {
        const [pack = ''] = await bySize(opened.kept, 'mended/data/');
        const content = await opened.kept.read(pack);
        // Both parts are in it, whichever comes first.
        for (const share of [0.25, 0.75]) {
          await opened.kept.write(pack, flipped(content, share));
          if (await isWhole(onlyTwo)) break;
        }
        expect([await isWhole(both), await isWhole(onlyTwo)]).toEqual([false, true]);
        await expect(storeAndVerify('again')).rejects.toThrow(Damage);

        const [repaired] = await blobs.repair('mended');
        expect(repaired?.damaged.map((name) => pack.endsWith(name))).toEqual([true]);
        expect(repaired?.piecesKept).toBeGreaterThan(0);
        expect([await isWhole(both), await isWhole(onlyTwo)]).toEqual([false, true]);
        expect(await wholeBySurvey()).toEqual([['damaged'], ['whole']]);
        // Nothing can be freed as long as one lacks something; that is no reason to keep what somebody does not want.
        await blobs.store('mended', 'unwanted', pair.slice(1), {});
        await blobs.forget('mended', ['unwanted']);
        expect(await blobs.list('mended')).toEqual(['again', 'both', 'only-two']);
        await storeAndVerify('again');
        expect([await isWhole(both), await isWhole(onlyTwo)]).toEqual([true, true]);
        expect(await blobs.repair('mended')).toMatchObject([{ damaged: [], piecesKept: 0 }]);
        await blobs.forget('mended', ['again']);
        expect([await isWhole(both), await isWhole(onlyTwo)]).toEqual([true, true]);
      });

      test.each([
        ['a pack that is cut off', 'data', cutOff],
        ['a pack that is gone', 'data', gone],
        ['an index with a byte that flipped', 'index', flipped],
        ['an index that is gone', 'index', gone],
        ['a snapshot with a byte that flipped', 'snapshots', flipped],
      ] as const)('is repaired after interruptions, and what was whole stays so: %s', async (_, kind, how) => {
        const [largest = ''] = await bySize(opened.kept, `mended/${kind}/`);
        const victim = kind === 'snapshots' ? ((await opened.kept.names()).find((name) => name.includes(idsOf(both))) ?? '') : largest;
        const spoilt = how(await opened.kept.read(victim));
        await (spoilt ? opened.kept.write(victim, spoilt) : opened.kept.remove(victim));
        expect(await isWhole(both)).toBe(false);
        for (const milliseconds of [20, 200]) await blobs.repair('mended', AbortSignal.timeout(milliseconds)).catch(() => []);
        await blobs.repair('mended');
        await storeAndVerify('later');
        expect([await isWhole(both), await isWhole(onlyTwo)]).toEqual([kind !== 'snapshots', true]);
      });
    });

    test('a repository goes with everything in it, and what is not there is nothing', async () => {
      await blobs.removeRepository('shop');
      await blobs.removeRepository('shop');
      expect(await blobs.list('shop')).toEqual([]);
      expect((await opened.kept.names()).filter((file) => file.includes('shop/'))).toEqual([]);
      await blobs.forget('shop', ['first']);
      expect((await blobs.places()).map(({ problem }) => problem)).not.toContainEqual(expect.any(String));
    });
  });
}

const flipped = (content: Buffer, share = 0.5) => {
  const spoilt = Buffer.from(content);
  const at = Math.floor(content.length * share);
  spoilt[at] = (spoilt[at] ?? 0) ^ 1;
  return spoilt;
};
const cutOff = (content: Buffer) => content.subarray(0, content.length / 2);
const gone = () => undefined;

/** At the only place. */
const idsOf = (stored: Stored | undefined) => Object.values(stored?.places ?? {}).join();

/** The largest first. */
async function bySize({ names, read }: OpenedBlobs['kept'], below: string): Promise<string[]> {
  const files = (await names()).filter((file) => file.includes(below));
  const sizes = await Promise.all(files.map(async (file) => ({ file, bytes: (await read(file)).length })));
  return sizes.toSorted((a, b) => b.bytes - a.bytes).map(({ file }) => file);
}

/** A quarter random, a quarter twice; and everything that a file can be. */
async function fill([data, other]: readonly Part[]) {
  const [folder, small] = [data?.folder ?? '', other?.folder ?? ''];
  await mkdir(join(folder, 'deep', 'er'), { recursive: true, mode: 0o750 });
  await mkdir(small);
  await writeFile(join(folder, 'random'), randomBytes(largeBytes / 2));
  await writeFile(join(folder, 'same'), Buffer.alloc(largeBytes / 2, 'the same again '));
  await writeFile(join(folder, 'deep', 'er', '-n\nasty "name"'), 'x');
  await symlink('/etc/passwd', join(folder, 'link'));
  await link(join(folder, 'random'), join(folder, 'deep', 'hard'));
  await writeFile(join(small, 'manifest.json'), '{}');
  await chmod(join(small, 'manifest.json'), 0o4640);
  await chown(join(folder, 'deep'), 1234, 5678);
  await chown(small, 70_000, 70_001);
  await run('mkfifo', [join(folder, 'fifo')]);
  if (process.getuid?.() === 0) await run('mknod', [join(folder, 'device'), 'c', '1', '3']);
  await run('setfattr', ['-n', 'user.kept', '-v', 'yes', join(small, 'manifest.json')]);
  await lutimes(join(folder, 'link'), 1_000_000_000.123, 1_000_000_000.123);
  await writeFile(join(folder, 'sparse'), 'x');
  await truncate(join(folder, 'sparse'), 1_000_000);
  await cp(join(folder, 'same'), join(folder, 'deep', 'copy'), { preserveTimestamps: true });
  expect((await readFile(join(folder, 'deep', 'copy'))).length).toBe(largeBytes / 2);
}
