/**
 * The run folder is a file system of its own, in memory, and shared as mounts.ts says: what is mounted in it for containers ends everywhere when it ends here.
 * And as a container can read which folder of which file system each of its mounts is, those that lead here tell no path of the machine.
 */
import { dirname } from 'node:path';
import { mountPoints } from '../../mounts.ts';
import { type RuntimeFolders, entriesOf, makeFolder } from './runtime-folders.ts';
import type { Programs } from './processes.ts';

const mountOptions = 'mode=0711,nosuid,nodev,size=20%';

const isUsed = ({ runContainers, networks }: RuntimeFolders) => entriesOf(runContainers).length > 0 || entriesOf(networks).length > 0;
const isMounted = ({ runFolder }: RuntimeFolders) => mountPoints().includes(runFolder);

/** A plain folder, as earlier versions had it, stays one while containers run from it. */
export async function mountRunFolder(folders: RuntimeFolders, programs: Programs): Promise<void> {
  const { runFolder } = folders;
  for (const path of [dirname(runFolder), runFolder]) makeFolder(path, 0o711);
  if (isMounted(folders) || isUsed(folders)) return;
  await programs.run('mount', ['-t', 'tmpfs', '-o', mountOptions, '--make-shared', '--', 'tmpfs', runFolder]);
}

/** Containers outlive us, and with them what they run from. */
export async function unmountRunFolder(folders: RuntimeFolders, programs: Programs): Promise<void> {
  if (isMounted(folders) && !isUsed(folders)) await programs.run('umount', ['--lazy', '--', folders.runFolder]);
}
