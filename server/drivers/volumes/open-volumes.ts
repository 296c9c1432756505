/**
 * Chooses how volumes are kept on this machine, best first: subvolumes in the folder the operator gave, if it is on btrfs; a btrfs pool of our
 * own, as root; copies that share their blocks; plain copies.
 */
import { existsSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openBtrfsVolumes, openPoolVolumes } from './btrfs/btrfs.ts';
import { poolFolder } from './btrfs/pool.ts';
import { run } from '../command.ts';
import { openCopyVolumes } from './copy/copy.ts';
import { canReflink, openReflinkVolumes } from './reflink/reflink.ts';
import type { Volumes } from './volumes.ts';

export interface VolumesConfig {
  data: string;
  /** The folder for volumes. Undefined: it is in the data folder. */
  volumes: string | undefined;
}

export interface VolumesChoice {
  way: 'btrfs' | 'pool' | 'reflink' | 'copy';
  folder: string;
  freeBytes: number;
}

export async function openVolumes(config: VolumesConfig, warn: (sentence: string) => void): Promise<Volumes> {
  const { way, folder } = await chooseVolumes(config);
  if (way === 'pool') return openPoolVolumes(folder, warn);
  if (way === 'btrfs') return openBtrfsVolumes(folder);
  return way === 'reflink' ? openReflinkVolumes(folder) : openCopyVolumes(folder);
}

/** Where volumes are, or will be once they were opened: `Volumes.folder`. */
export async function volumesFolder(config: VolumesConfig): Promise<string> {
  const { way, folder } = await chooseVolumes(config);
  return join(way === 'pool' ? poolFolder(folder) : folder, 'volumes');
}

/** Looks, and leaves nothing behind. */
export async function chooseVolumes({ data, volumes }: VolumesConfig): Promise<VolumesChoice> {
  const folder = volumes ?? join(data, 'volumes');
  const ground = nearestExisting(folder);
  const { bsize, bavail, type } = await statfs(ground);
  const chosen = (way: VolumesChoice['way']) => ({ way, folder, freeBytes: bavail * bsize });
  const isRoot = process.getuid?.() === 0;
  if (isRoot && volumes !== undefined && type === btrfsType && (await hasProgram('btrfs'))) return chosen('btrfs');
  if (isRoot && volumes === undefined && (await canMakePool())) return chosen('pool');
  return chosen((await canReflink(ground)) ? 'reflink' : 'copy');
}

const btrfsType = 0x9123683e;
const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

async function canMakePool() {
  if (!existsSync('/dev/loop-control') || !(await hasProgram('mkfs.btrfs')) || !(await hasProgram('losetup'))) return false;
  if ((await readFile('/proc/filesystems', 'utf8')).split('\n').includes('\tbtrfs')) return true;
  return run('modinfo', ['--', 'btrfs']).then(
    () => true,
    () => false,
  );
}

const hasProgram = (program: string) =>
  run(program, ['--version']).then(
    () => true,
    () => false,
  );
