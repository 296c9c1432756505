/**
 * Applications change their folders at any time, also between our looking at a path and our opening it, and may put a link on any part of it. So what
 * was opened is asked where it is: the kernel tells that without links, and unless it is the very path that was meant, it is somebody else's.
 */
import { closeSync, constants, openSync, readlinkSync } from 'node:fs';

/** O_PATH: takes hold of a file without opening it. Node has no name for it. */
export const onlyPath = 0o10000000;

export const isAt = (fd: number, path: string) => readlinkSync(`/proc/self/fd/${fd}`) === path;

/** Whether there is something at the path, and no link on the way to it. */
export function isPlainlyAt(path: string, kind: 'file' | 'folder'): boolean {
  let held: number | undefined;
  try {
    held = openSync(path, onlyPath | constants.O_NOFOLLOW | (kind === 'folder' ? constants.O_DIRECTORY : 0));
    return isAt(held, path);
  } catch {
    return false;
  } finally {
    if (held !== undefined) closeSync(held);
  }
}
