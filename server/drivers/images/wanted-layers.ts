/**
 * Which layers somebody waits for, as locks on files: they are seen by all processes that share the cache, and end with whoever held them. What is brought
 * ahead gives way to them (ahead.ts).
 */
import { join } from 'node:path';
import { ifUnlocked, withSharedFileLock } from '../file-lock.ts';

const anyMark = (folder: string) => join(folder, 'locks', 'wanted');
const markOf = (folder: string, hash: string) => join(folder, 'locks', `${hash}.wanted`);

export function whileWanted<T>(folder: string, hashes: readonly string[], signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const [hash, ...others] = hashes;
  // The common mark comes last: whoever sees it finds the others.
  if (hash === undefined) return withSharedFileLock(anyMark(folder), signal, work);
  return withSharedFileLock(markOf(folder, hash), signal, () => whileWanted(folder, others, signal, work));
}

export const isWanted = (folder: string, hash: string) => isMarked(markOf(folder, hash));
export const isAnyWanted = (folder: string) => isMarked(anyMark(folder));

const isMarked = async (mark: string) => (await ifUnlocked(mark, async () => false)) ?? true;
