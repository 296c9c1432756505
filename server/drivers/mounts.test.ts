/** Two installations on one machine: what one has mounted is gone when it says so, whatever the other one started meanwhile. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runConfined } from './images/build-command.ts';
import { openEmbeddedPostgres } from './postgres/embedded.ts';
import { describeContainer, shell } from './runtime/conformance.ts';
import { openRuncRuntime } from './runtime/runc/runc.ts';
import { canRun, makeTestImage } from './runtime/runc/test-machine.ts';
import { openPoolVolumes } from './volumes/btrfs/btrfs.ts';

const mebibyte = 1024 ** 2;
/** The kernel lets go of a device a moment later; whoever begins a container has a copy for a moment, too. */
const waiting = { timeout: 60_000, interval: 50 };
const sizes = { initialBytes: 512 * mebibyte, aheadBytes: 128 * mebibyte, reserveBytes: 128 * mebibyte };

/** Its pool, and a container that has a volume of it. */
async function openInstallation() {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-mounts-'));
  const instance = basename(folder).slice(-6).toLowerCase();
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {}, sizes);
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), instance, volumes });
  const { path } = await volumes.create('data', 32 * mebibyte);
  const { probe: _, ...container } = describeContainer(makeTestImage(join(folder, 'image')), 'holder');
  await runtime.ensure({ ...container, argv: shell('exec sleep 1000'), mounts: [{ from: path, at: '/data', writable: true }] });
  const end = async () => {
    await runtime.removeLeftovers(new Set());
    await runtime.close();
    await volumes.unmount();
  };
  let ending: Promise<void> | undefined;
  const close = () => (ending ??= end());
  // The folders stay until then: where one is removed that something is mounted on, the kernel unmounts it in all namespaces.
  onTestFinished(async () => {
    await close();
    for (const path of [folder, join('/run/offshoot', instance)]) rmSync(path, { recursive: true, maxRetries: 5 });
  });
  const devices = () => execFileSync('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'], { encoding: 'utf8' });
  return { folder, close, isAttached: () => devices().includes(folder) };
}

/** How many processes have the pool in that folder mounted, in whichever namespace. */
const seenBy = (folder: string) =>
  readdirSync('/proc').filter((id) => {
    try {
      const mounts = readFileSync(`/proc/${id}/mountinfo`, 'utf8').split('\n');
      return mounts.some((mount) => mount.includes(` ${folder}/volumes/pool `) && mount.includes(' - btrfs '));
    } catch {
      return false;
    }
  }).length;

describe.skipIf(!canRun)('mounts of two installations (takes root)', () => {
  test('the pool of one is let go of when it ends, though the other one began databases, builds and containers meanwhile', async () => {
    const first = await openInstallation();
    const database = await openEmbeddedPostgres(`${first.folder}-database`);
    onTestFinished(async () => {
      await database.stop();
      rmSync(`${first.folder}-database`, { recursive: true });
    });
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const begun = Promise.withResolvers<void>();
    const build = runConfined(['sh', '-c', 'echo begun; exec sleep 1000'], '/', () => begun.resolve(), over.signal);
    await begun.promise;
    const second = await openInstallation();
    expect(first.isAttached()).toBe(true);
    expect(seenBy(first.folder)).toBeGreaterThan(0);

    await first.close();
    await expect.poll(first.isAttached, waiting).toBe(false);
    expect(seenBy(first.folder)).toBe(0);
    expect(second.isAttached()).toBe(true);
    over.abort(new Error('over'));
    await expect(build).rejects.toThrow('over');
    await second.close();
    await expect.poll(second.isAttached, waiting).toBe(false);
  });
});
