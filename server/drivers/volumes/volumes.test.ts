import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openBtrfsVolumes, openPoolVolumes } from './btrfs/btrfs.ts';
import { volumesConformance } from './conformance.ts';
import { openCopyVolumes } from './copy/copy.ts';
import { chooseVolumes } from './open-volumes.ts';
import { openReflinkVolumes } from './reflink/reflink.ts';
import { makeDisk, scratchFolder } from './test-disk.ts';

/** In CI everything must run. */
const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';

const mebibyte = 1024 ** 2;
const poolSizes = { initialBytes: 1024 * mebibyte, aheadBytes: 512 * mebibyte, reserveBytes: 512 * mebibyte };
const copies = {
  limits: 'nothing counts the blocks of a plain folder',
  seal: 'root may write to every plain folder',
  whileWritten: 'files are copied one after the other',
};

volumesConformance(
  'copy',
  async () => {
    const folder = await scratchFolder();
    const open = () => openCopyVolumes(folder);
    return { volumes: await open(), again: open, clean: () => rm(folder, { recursive: true }) };
  },
  copies,
);

describe.skipIf(!runsAsRoot)('on file systems of our own (mounting takes root)', () => {
  volumesConformance('btrfs, a pool of our own', async () => {
    const folder = await scratchFolder();
    const open = () => openPoolVolumes(folder, () => {}, poolSizes);
    const volumes = await open();
    const clean = async () => {
      await volumes.unmount();
      await rm(folder, { recursive: true });
    };
    return { volumes, again: open, clean };
  });

  volumesConformance('btrfs, a folder that was given', async () => {
    const disk = await makeDisk('btrfs', 1024 * mebibyte);
    const open = () => openBtrfsVolumes(join(disk.folder, 'given'));
    return { volumes: await open(), again: open, clean: disk.remove };
  });

  volumesConformance(
    'reflink, on XFS',
    async () => {
      const disk = await makeDisk('xfs', 512 * mebibyte);
      const open = () => openReflinkVolumes(join(disk.folder, 'given'));
      return { volumes: await open(), again: open, clean: disk.remove };
    },
    copies,
  );

  test('the best way for the folder that was given is chosen', async () => {
    const disks = await Promise.all((['btrfs', 'xfs', 'ext4'] as const).map((format) => makeDisk(format, 512 * mebibyte)));
    try {
      const ways = await Promise.all(disks.map(async ({ folder }) => (await chooseVolumes({ data: '/', volumes: folder })).way));
      expect(ways).toEqual(['btrfs', 'reflink', 'copy']);
      expect((await chooseVolumes({ data: '/nowhere/yet', volumes: undefined })).way).toBe('pool');
    } finally {
      for (const disk of disks) await disk.remove();
    }
  });
});
