/** Small disks for tests: files with a file system in them, mounted for as long as a test lasts. */
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../command.ts';

export const scratchFolder = () => mkdtemp(join(tmpdir(), 'offshoot-volume-disk-'));

export interface TestDisk {
  folder: string;
  remove: () => Promise<void>;
}

export async function makeDisk(format: 'xfs' | 'ext4' | 'btrfs', bytes: number): Promise<TestDisk> {
  const scratch = await scratchFolder();
  const [file, folder] = [join(scratch, 'disk'), join(scratch, 'mounted')];
  await mkdir(folder);
  await writeFile(file, '');
  await truncate(file, bytes);
  await run(`mkfs.${format}`, ['-q', file]);
  await run('mount', ['-o', 'loop', '--', file, folder]);
  return {
    folder,
    remove: async () => {
      // Lazily: a program with a private view of the file system that started meanwhile may hold it until it ends.
      await run('umount', ['--lazy', '--', folder]);
      await rm(scratch, { recursive: true });
    },
  };
}
