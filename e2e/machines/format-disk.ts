import { execFile } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const formatMillisecondsMax = 600_000;

/** A disk with a filesystem that has all that is in a folder. It takes no more room here than what is in it. */
export async function formatDisk(folder: string, disk: string, { label, bytes }: { label: string; bytes: number }) {
  writeFileSync(disk, '');
  truncateSync(disk, bytes);
  await promisify(execFile)('mkfs.ext4', ['-q', '-F', '-L', label, '-d', folder, disk], { timeout: formatMillisecondsMax });
}
