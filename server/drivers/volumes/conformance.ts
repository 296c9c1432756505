/** What every driver of volumes does. A driver that cannot do something says so in its own words, and the test carries them as its reason. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, chown, link, lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../command.ts';
import { digHoles } from './dig-holes.ts';
import { renameat2 } from './swap-folders.ts';
import type { Volumes } from './volumes.ts';

export interface OpenedVolumes {
  volumes: Volumes;
  /** A second one on the same ground, as another process would have. */
  again: () => Promise<Volumes>;
  /** Leaves nothing behind. */
  clean: () => Promise<void>;
}

/** Why a driver cannot do something; absent where it can. */
export interface CannotDo {
  limits?: string;
  seal?: string;
  whileWritten?: string;
}

const mebibyte = 1024 ** 2;
const size = 64 * mebibyte;
/** EDQUOT, which Node has no name for. */
const quotaExceeded = 122;
const freshSecondsMax = 15;
/** Many more than there is room for in a small volume. */
const emptyFilesMax = 100_000;
const slowDisk = { timeout: 60_000 };
const text = (path: string, name: string) => readFile(join(path, name), 'utf8');

export function volumesConformance(name: string, open: () => Promise<OpenedVolumes>, cannot: CannotDo = {}) {
  describe(`volumes: ${name}`, { timeout: 240_000 }, () => {
    let opened: OpenedVolumes;
    let volumes: Volumes;
    beforeAll(async () => {
      opened = await open();
      ({ volumes } = opened);
    });
    afterAll(() => opened?.clean());

    /** A driver that cannot do something has to say so to whoever relies on it. */
    const unless = (reason: string | undefined, says: (volumes: Volumes) => boolean, sentence: string, check: () => Promise<void>) =>
      // oxlint-disable-next-line vitest/expect-expect, vitest/valid-title -- both are handed in
      reason === undefined ? test(sentence, check) : test(`${sentence} (not here: ${reason})`, () => expect(says(volumes)).toBe(false));

    test('a volume is an empty folder, made once, that goes away with everything in it', async () => {
      const made = await volumes.create('plain', size);
      expect(made).toMatchObject({ name: 'plain', bytesMax: size, isSnapshot: false });
      expect(await readdir(made.path)).toEqual([]);
      expect((await stat(made.path)).mode & 0o777).toBe(0o755);
      await writeFile(join(made.path, 'kept'), 'yes');
      expect(await volumes.create('plain', 2 * size)).toEqual(made);
      expect(await text(made.path, 'kept')).toBe('yes');
      expect(await volumes.volume('plain')).toEqual(made);
      expect(await volumes.list()).toContainEqual(made);
      await volumes.remove('plain');
      await volumes.remove('plain');
      expect(await volumes.volume('plain')).toBeUndefined();
      await expect(stat(made.path)).rejects.toThrow('ENOENT');
    });

    test('a clone has the same files, owners, modes and links, and goes its own way', async () => {
      const { path } = await volumes.create('original', size);
      await mkdir(join(path, 'sub'), { mode: 0o750 });
      await writeFile(join(path, 'sub', '-rf'), 'one');
      await chmod(join(path, 'sub', '-rf'), 0o640);
      await symlink('/etc/passwd', join(path, 'link'));
      if (process.getuid?.() === 0) await chown(join(path, 'sub', '-rf'), 1234, 5678);
      const clone = await volumes.clone('original', 'offspring');
      expect(clone).toMatchObject({ bytesMax: size, isSnapshot: false });
      const [was, is] = await Promise.all([path, clone.path].map((folder) => stat(join(folder, 'sub', '-rf'))));
      expect([is?.mode, is?.uid, is?.gid, is?.mtimeMs]).toEqual([was?.mode, was?.uid, was?.gid, was?.mtimeMs]);
      expect((await readdir(clone.path)).toSorted()).toEqual(['link', 'sub']);
      await writeFile(join(clone.path, 'sub', '-rf'), 'two');
      await writeFile(join(path, 'later'), '');
      expect(await text(path, 'sub/-rf')).toBe('one');
      expect(await volumes.clone('original', 'offspring')).toEqual(clone);
      expect(await readdir(clone.path)).not.toContain('later');
      expect(await volumes.clone('offspring', 'grandchild', 2 * size)).toMatchObject({ bytesMax: 2 * size });
    });

    test('whatever was put into a volume is kept and removed as what it is: nothing that it leads to is read, waited for or touched', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'offshoot-outside-'));
      await writeFile(join(outside, 'secret'), 'secret', { mode: 0o600 });
      const { path } = await volumes.create('hostile', size);
      await symlink(outside, join(path, 'folder'));
      await symlink(join(outside, 'secret'), join(path, '-rf\n'));
      await run('mkfifo', [join(path, 'fifo')]);
      await writeFile(join(path, 'program'), 'x');
      await link(join(path, 'program'), join(path, 'same'));
      await chmod(join(path, 'program'), 0o4755);
      if (process.getuid?.() === 0) await run('mknod', [join(path, 'device'), 'c', '1', '5']);
      await run('truncate', ['--size=16G', '--', join(path, 'holes')]);
      const kindsIn = async (folder: string) =>
        Promise.all((await readdir(folder)).toSorted().map(async (name) => [name, (await lstat(join(folder, name))).mode]));
      const kinds = await kindsIn(path);

      const copies = [await volumes.clone('hostile', 'hostile-clone'), await volumes.snapshot('hostile', 'hostile-moment')];
      for (const copy of copies) expect(await kindsIn(copy.path)).toEqual(kinds);
      expect(await kindsIn((await volumes.restore('hostile', 'hostile-moment')).path)).toEqual(kinds);
      expect((await volumes.usage('hostile')).bytes).toBeLessThan(size);
      await rm(join(path, 'holes'));
      await digHoles(path);
      await run('perl', ['-e', 'chdir $ARGV[0]; for (1 .. 5000) { mkdir "deep"; chdir "deep" }', '--', path]);
      for (const name of ['hostile', 'hostile-clone', 'hostile-moment']) await volumes.remove(name);
      expect((await volumes.list()).filter(({ name }) => name.startsWith('hostile'))).toEqual([]);
      expect(await readdir(outside)).toEqual(['secret']);
      expect(await stat(join(outside, 'secret'))).toMatchObject({ nlink: 1, size: 6, mode: 0o100600 });
      await rm(outside, { recursive: true });
    });

    const isRoot = process.getuid?.() === 0;
    test.skipIf(!isRoot)('while folders in a volume are swapped for links, no copy of it gets anything from where they lead', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'offshoot-outside-'));
      const { path } = await volumes.create('swapped', size);
      await mkdir(join(path, 'z'));
      const names = Array.from({ length: 60 }, (_, n) => `file${n}`);
      for (const name of names) await Promise.all([writeFile(join(path, 'z', name), 'own'), writeFile(join(outside, name), 'secret')]);
      await symlink(outside, join(path, 'link'));
      const call = String(process.arch === 'arm64' ? renameat2.arm64 : renameat2.x64);
      const swapping = `my ($path, $call, $one, $other) = @ARGV; chdir $path;
        for (;;) { syscall($call + 0, -100, $one, -100, $other, 2); select undef, undef, undef, 0.001 }`;
      const swapper = spawn('perl', ['-e', swapping, '--', path, call, 'z', 'link'], { stdio: 'inherit' });
      const over = once(swapper, 'exit');
      try {
        await expect.poll(async () => (await lstat(join(path, 'z'))).isSymbolicLink(), { interval: 1, timeout: 60_000 }).toBe(true);
        for (let n = 0; n < 10; n++) {
          // One that cannot be copied now can be later.
          const clone = await volumes.clone('swapped', `swapped-${n}`).catch(() => undefined);
          const found = clone && (await run('grep', ['--recursive', '--count', '--max-count=1', 'secret', clone.path]).catch(String));
          expect(found ?? '').not.toMatch(/:1$/m);
        }
      } finally {
        swapper.kill('SIGKILL');
        await over;
        await rm(outside, { recursive: true });
      }
    });

    test('a volume goes back to a snapshot in one move, keeps its limit, and whoever looks sees the one or the other', async () => {
      const { path } = await volumes.create('moving', size);
      await writeFile(join(path, 'state'), 'before');
      expect(await volumes.snapshot('moving', 'moment')).toMatchObject({ bytesMax: size, isSnapshot: true });
      await writeFile(join(path, 'state'), 'after');
      await volumes.grow('moving', 2 * size);
      const looking = new AbortController();
      const seen = new Set<string>();
      const looks = (async () => {
        while (!looking.signal.aborted) seen.add(await text(path, 'state'));
      })();
      await expect.poll(() => [...seen]).toEqual(['after']);
      const back = await volumes.restore('moving', 'moment');
      looking.abort();
      await looks;
      expect(back).toEqual({ name: 'moving', path, bytesMax: 2 * size, isSnapshot: false });
      expect(await text(path, 'state')).toBe('before');
      expect([...seen].toSorted().at(0)).toBe('after');
      await writeFile(join(path, 'state'), 'again');
      const source = await volumes.clone('moment', 'from-moment');
      expect(await text(source.path, 'state')).toBe('before');
      await writeFile(join(source.path, 'state'), 'writable');
      await expect(volumes.restore('moving', 'from-moment')).rejects.toThrow('restored from a snapshot');
    });

    unless(
      cannot.seal,
      ({ kind }) => kind === 'btrfs',
      'a snapshot cannot be written to, not even by root',
      async () => {
        await volumes.create('to-seal', size);
        const { path } = await volumes.snapshot('to-seal', 'sealed');
        await expect(writeFile(join(path, 'x'), 'x')).rejects.toThrow('EROFS');
      },
    );

    test('names and sizes are checked, and what is missing is named', async () => {
      for (const bad of ['', '..', 'a/b', '../x', 'Ä', 'A', 'a b', 'x'.repeat(101), 'a\n', '.']) {
        await expect(volumes.create(bad, size)).rejects.toThrow('lower-case letters');
        await expect(volumes.remove(bad)).rejects.toThrow('lower-case letters');
        await expect(volumes.clone('original', bad)).rejects.toThrow('lower-case letters');
      }
      for (const bytes of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
        await expect(volumes.create('sized', bytes)).rejects.toThrow('whole number');
      await expect(volumes.clone('nobody', 'x')).rejects.toThrow('no volume nobody');
      await expect(volumes.snapshot('nobody', 'x')).rejects.toThrow('no volume nobody');
      await expect(volumes.usage('nobody')).rejects.toThrow('no volume nobody');
      await volumes.create('--help', size);
      await volumes.remove('--help');
      expect((await volumes.list()).map((volume) => volume.name)).not.toContain('x');
    });

    test('usage tells what is in a volume, soon after it was written', async () => {
      const { path } = await volumes.create('used', size);
      await writeFile(join(path, 'data'), Buffer.alloc(8 * mebibyte, 1));
      await expect
        .poll(async () => (await volumes.usage('used')).bytes, { timeout: freshSecondsMax * 1000, interval: 500 })
        .toBeGreaterThanOrEqual(8 * mebibyte);
      expect(await volumes.usage('used')).toMatchObject({ bytesMax: size });
      expect((await volumes.usages()).get('used')).toEqual(volumes.enforcesLimits ? await volumes.usage('used') : undefined);
      await expect(volumes.grow('used', 2 * mebibyte)).rejects.toThrow('more than the limit');
      await volumes.grow('used', 32 * mebibyte);
      expect((await volumes.volume('used'))?.bytesMax).toBe(32 * mebibyte);
      const { bytes, freeBytes } = await volumes.capacity();
      expect(bytes).toBeGreaterThan(freeBytes);
      expect(freeBytes).toBeGreaterThan(0);
    });

    const limited = 'a full volume takes no more, its neighbours go on, and a higher limit helps at once';
    unless(
      cannot.limits,
      ({ enforcesLimits }) => enforcesLimits,
      limited,
      async () => {
        const [{ path }, neighbour] = [await volumes.create('small', 8 * mebibyte), await volumes.create('neighbour', size)];
        const clone = await volumes.clone('small', 'small-clone');
        for (const folder of [path, clone.path])
          await expect(writeFile(join(folder, 'big'), Buffer.alloc(16 * mebibyte, 1))).rejects.toMatchObject({ errno: -quotaExceeded });
        await writeFile(join(neighbour.path, 'big'), Buffer.alloc(16 * mebibyte, 1));
        await volumes.grow('small', size);
        await writeFile(join(path, 'big'), Buffer.alloc(16 * mebibyte, 1));
      },
    );

    const counted = 'files count also where nothing is in them: a volume ends with them, and takes more once some are removed';
    unless(
      cannot.limits,
      ({ enforcesLimits }) => enforcesLimits,
      counted,
      async () => {
        const [{ path }, neighbour] = [await volumes.create('many', 2 * mebibyte), await volumes.create('few', size)];
        let made = 0;
        const makeAll = async () => {
          for (; made < emptyFilesMax; made += 1) closeSync(openSync(join(path, `file-${made}`), 'wx'));
        };
        await expect(makeAll()).rejects.toMatchObject({ errno: -quotaExceeded });
        expect(made).toBeGreaterThan(1000);
        await writeFile(join(neighbour.path, 'file'), 'The neighbour goes on.');
        await expect
          .poll(async () => (await volumes.usage('many')).bytes, { timeout: freshSecondsMax * 1000, interval: 500 })
          .toBeGreaterThan(mebibyte);
        for (let gone = 0; gone < made; gone += 1) await rm(join(path, `file-${gone}`));
        const isWritable = () =>
          writeFile(join(path, 'again'), 'more').then(
            () => true,
            () => false,
          );
        await expect.poll(isWritable, { timeout: freshSecondsMax * 1000, interval: 500 }).toBe(true);
      },
    );

    /** What is true soon, once what was written is counted. */
    const soon = (name: string, work: () => Promise<unknown>) => {
      const outcome = async () => {
        await volumes.usage(name);
        await volumes.keepLimits();
        return work().then(
          () => 'done',
          (error: unknown) => (error instanceof Error && 'errno' in error && error.errno === -quotaExceeded ? 'full' : error),
        );
      };
      return expect.poll(outcome, { timeout: 60_000, interval: 500 });
    };

    const inherited = 'a clone counts what it began with, and takes more once that is removed';
    unless(
      cannot.limits,
      ({ enforcesLimits }) => enforcesLimits,
      inherited,
      async () => {
        const { path: original } = await volumes.create('began', 16 * mebibyte);
        await writeFile(join(original, 'first'), Buffer.alloc(10 * mebibyte, 1), { flush: true });
        const { path } = await volumes.clone('began', 'went-on');
        await writeFile(join(path, 'second'), Buffer.alloc(4 * mebibyte, 2), { flush: true });
        const more = () => writeFile(join(path, 'more'), Buffer.alloc(mebibyte, 3), { flag: 'a', flush: true });
        await soon('went-on', more).toBe('full');
        expect((await volumes.usage('went-on')).bytes).toBeLessThan(2 * 16 * mebibyte);
        for (const file of ['first', 'more']) await rm(join(path, file), { force: true });
        await soon('went-on', more).toBe('done');
      },
    );

    const rewritten = 'what only clones still hold does not count: the original can be written anew after each of them';
    unless(
      cannot.limits,
      ({ enforcesLimits }) => enforcesLimits,
      rewritten,
      async () => {
        const { path } = await volumes.create('anew', 16 * mebibyte);
        for (let n = 0; n < 5; n += 1) {
          await writeFile(join(path, 'file'), Buffer.alloc(12 * mebibyte, n), { flush: true });
          await volumes.clone('anew', `anew-${n}`);
          await volumes.keepLimits();
        }
        await rm(join(path, 'file'));
        await writeFile(join(path, 'other'), Buffer.alloc(12 * mebibyte, 9), { flush: true });
        await soon('anew', () => writeFile(join(path, 'too-much'), Buffer.alloc(6 * mebibyte, 9), { flush: true })).toBe('full');
        await rm(join(path, 'too-much'), { force: true });
        for (let n = 0; n < 5; n += 1) await volumes.remove(`anew-${n}`);
        await soon('anew', () => writeFile(join(path, 'fits'), Buffer.alloc(2 * mebibyte, 9), { flush: true })).toBe('done');
      },
    );

    const whole = 'a clone of what is being written to holds all that was synced, in order, as of one moment';
    unless(
      cannot.whileWritten,
      ({ clonesWhileWritten }) => clonesWhileWritten,
      whole,
      async () => {
        const { path } = await volumes.create('busy', size);
        const done = new AbortController();
        const writer = (async () => {
          for (let n = 0; !done.signal.aborted; n += 1)
            for (const file of ['first', 'second']) await writeFile(join(path, file), '123456789', { flag: 'a', flush: true });
        })();
        try {
          await expect.poll(async () => (await text(path, 'second').catch(() => '')).length, slowDisk).toBeGreaterThan(90);
          for (let n = 0; n < 20; n += 1) {
            const before = (await text(path, 'second')).length - 9;
            const clone = await volumes.clone('busy', `busy-${n}`);
            const [first, second] = await Promise.all(['first', 'second'].map((file) => text(clone.path, file)));
            const ahead = (first?.length ?? 0) - (second?.length ?? 0);
            expect([0, 9]).toContain(ahead);
            expect(second?.length).toBeGreaterThanOrEqual(before);
            await volumes.remove(clone.name);
          }
        } finally {
          done.abort();
          await writer;
        }
      },
    );

    test('many at once, from two openings, on the same names, end as one would have', async () => {
      const other = await opened.again();
      const both = [volumes, other];
      const each = <T>(work: (one: Volumes) => Promise<T>) => Promise.all([...both, ...both, ...both].map(work));
      await each((one) => one.create('shared', size));
      await writeFile(join((await volumes.create('shared', size)).path, 'state'), 'one');
      await each((one) => one.snapshot('shared', 'shared-moment'));
      await each((one) => one.clone('shared', 'shared-clone'));
      await each((one) => one.restore('shared', 'shared-moment'));
      const names = (await other.list()).map((volume) => volume.name).filter((found) => found.startsWith('shared'));
      expect(names).toEqual(['shared', 'shared-clone', 'shared-moment']);
      for (const found of names) expect(await text((await other.volume(found))?.path ?? '', 'state')).toBe('one');
      await each((one) => one.remove('shared-clone'));
      expect(await volumes.volume('shared-clone')).toBeUndefined();
      await other.close();
    });

    test('what is not to be kept is removed', async () => {
      await volumes.create('keep-me', size);
      const removed = await volumes.removeLeftovers(new Set(['keep-me']));
      expect(removed).toContain('original');
      expect((await volumes.list()).map((volume) => volume.name)).toEqual(['keep-me']);
      expect(await volumes.removeLeftovers(new Set(['keep-me']))).toEqual([]);
    });
  });
}
