/**
 * The run folder is a file system of its own, in memory, and shared as mounts.ts says: what is mounted in it for containers ends everywhere when it ends here.
 * And as a container can read which folder of which file system each of its mounts is, those that lead here tell no path of the machine.
 */
import { dirname } from 'node:path';
import { mountPoints } from '../../mounts.ts';
import { type Places, entriesOf, makeFolder } from './places.ts';
import type { Programs } from './processes.ts';

const mountOptions = 'mode=0711,nosuid,nodev,size=20%';

const isUsed = ({ runContainers, networks }: Places) => entriesOf(runContainers).length > 0 || entriesOf(networks).length > 0;
const isMounted = ({ runFolder }: Places) => mountPoints().includes(runFolder);

/** A plain folder, as earlier versions had it, stays one while containers run from it. */
export async function mountRunFolder(places: Places, programs: Programs): Promise<void> {
  const { runFolder } = places;
  for (const path of [dirname(runFolder), runFolder]) makeFolder(path, 0o711);
  if (isMounted(places) || isUsed(places)) return;
  await programs.run('mount', ['-t', 'tmpfs', '-o', mountOptions, '--make-shared', '--', 'tmpfs', runFolder]);
}

/** Containers outlive us, and with them what they run from. */
export async function unmountRunFolder(places: Places, programs: Programs): Promise<void> {
  if (isMounted(places) && !isUsed(places)) await programs.run('umount', ['--lazy', '--', places.runFolder]);
}
