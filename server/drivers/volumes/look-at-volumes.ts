/** What volumes take, for whoever only looks: nothing is mounted, made, locked or written. */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { chargedByName } from './btrfs/quota.ts';
import { longCommandSecondsMax, run } from '../command.ts';
import { chooseVolumes, type VolumesConfig } from './open-volumes.ts';

export interface TakenVolume {
  name: string;
  bytes: number;
  /** What removing the volume would free. */
  exclusiveBytes: number;
}

export interface VolumesLook {
  /** What all volumes together take of the disk below. */
  diskBytes: number;
  /** Undefined: the volumes are on a pool of ours that is not mounted just now. */
  volumes: TakenVolume[] | undefined;
}

const blockBytes = 512;
const subvolumeInode = 256;

/** Undefined: there are no volumes yet. */
export async function lookAtVolumes(config: VolumesConfig): Promise<VolumesLook | undefined> {
  const { way, folder } = await chooseVolumes(config);
  if (way === 'pool') return lookAtPool(folder);
  if (!existsSync(join(folder, 'volumes'))) return undefined;
  const volumes = way === 'btrfs' ? await subvolumesIn(folder) : await foldersIn(folder);
  return { volumes, diskBytes: volumes.reduce((sum, { exclusiveBytes }) => sum + exclusiveBytes, 0) };
}

async function lookAtPool(folder: string): Promise<VolumesLook | undefined> {
  const [file, mountPoint] = [join(folder, 'pool.btrfs'), join(folder, 'pool')];
  if (!existsSync(file)) return undefined;
  const diskBytes = (await stat(file)).blocks * blockBytes;
  const isMounted = existsSync(mountPoint) && (await stat(mountPoint)).ino === subvolumeInode && existsSync(join(mountPoint, 'volumes'));
  return { diskBytes, volumes: isMounted ? await subvolumesIn(mountPoint) : undefined };
}

const subvolumesIn = async (root: string): Promise<TakenVolume[]> =>
  [...(await chargedByName(root))].map(([name, { bytes, exclusiveBytes }]) => ({ name, bytes, exclusiveBytes }));

async function foldersIn(root: string): Promise<TakenVolume[]> {
  const volumes: TakenVolume[] = [];
  for (const name of await readdir(join(root, 'volumes'))) {
    const folder = join(root, 'volumes', name);
    const bytes = Number.parseInt(await run('du', ['--summarize', '--block-size=1', '--', folder], longCommandSecondsMax), 10);
    volumes.push({ name, bytes, exclusiveBytes: bytes });
  }
  return volumes;
}
