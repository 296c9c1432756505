/** Volumes on btrfs: in a folder that somebody gave us, or on a pool of our own. Both need root. */
import { mkdir, statfs } from 'node:fs/promises';
import { noRoom } from '../../command.ts';
import { openVolumeFolders } from '../volume-folders.ts';
import type { Volumes } from '../volumes.ts';
import { type PoolSizes, openPool } from './pool.ts';
import { type Ground, openSubvolumes } from './subvolumes.ts';

const roomBytesMin = 32 * 1024 ** 2;

export async function openBtrfsVolumes(folder: string): Promise<Volumes> {
  const ground = givenFolder(folder);
  return openVolumeFolders(ground.folder, await openSubvolumes(ground));
}

export type PoolVolumes = Volumes & Required<Pick<Volumes, 'unmount'>>;

export async function openPoolVolumes(folder: string, warn: (sentence: string) => void, sizes?: PoolSizes): Promise<PoolVolumes> {
  const pool = await openPool(folder, warn, sizes);
  const volumes = await openVolumeFolders(pool.folder, await openSubvolumes(pool));
  return { ...volumes, unmount: pool.unmount };
}

function givenFolder(folder: string): Ground {
  const capacity = async () => {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { bytes: blocks * bsize, freeBytes: bavail * bsize };
  };
  return {
    folder,
    capacity,
    ready: async () => void (await mkdir(folder, { recursive: true, mode: 0o700 })),
    room: async () => {
      const { freeBytes } = await capacity();
      if (freeBytes < roomBytesMin) throw noRoom(`${folder} has ${freeBytes} bytes free`);
    },
    close: async () => {},
  };
}
