/** Copies that share their blocks until written to: XFS, or btrfs for those who may not make subvolumes. */
import { constants, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copiedFolders } from '../copied-folders.ts';
import { openVolumeFolders } from '../volume-folders.ts';

export const openReflinkVolumes = (root: string) => openVolumeFolders(root, copiedFolders(root, 'reflink'));

/** Trying is the only honest test: it depends on how the file system was made. */
export async function canReflink(folder: string): Promise<boolean> {
  const probe = await mkdtemp(join(folder, '.reflink-')).catch(() => undefined);
  if (probe === undefined) return false;
  try {
    await writeFile(join(probe, 'one'), 'x');
    await copyFile(join(probe, 'one'), join(probe, 'other'), constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  } finally {
    await rm(probe, { recursive: true });
  }
}
