/**
 * The edge is in a control group of its own. In that of the platform's service systemd would end it together with the service, though it has a session of
 * its own.
 */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { foldersForServices, removeCgroup } from '../runtime/runc/cgroups.ts';

const cgroupOf = (folder: string) => `offshoot-edge-${createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 12)}`;

/** The edge moves itself, before it has children that would be left behind. Where the machine does not allow that, the edge ends together with the platform, and all else works. */
const moveAndBecome = 'while [ "$1" != -- ]; do echo $$ 2>/dev/null >"$1" || true; shift; done; shift; exec "$@"';

/** The words that go before a program to run it in the edge's control group. */
export function wordsToJoin(folder: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const folders = foldersForServices(cgroupOf(folder)).filter(canBeMade);
  return ['sh', '-c', moveAndBecome, 'sh', ...folders.map((each) => join(each, 'cgroup.procs')), '--'];
}

function canBeMade(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

/** Removes the control group of an edge that has ended. */
export const removeEdgeCgroup = (folder: string) => removeCgroup(cgroupOf(folder));
