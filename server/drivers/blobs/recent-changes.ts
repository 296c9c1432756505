/**
 * restic takes a file for unchanged if its size, inode and times are those of the earlier backup. Clocks of file systems tick a hundred times a second or so: a file
 * that was written once more in the moment of a copy, just after it, looks the same and is not. So whatever changed in the last moment before a copy
 * is doubtful, as long as it stays that way; a backup after it then reads everything.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Part } from './blobs.ts';

/** Longer than a tick of any kernel. */
const momentSeconds = 0.05;
/** So long may it take to make the copy; and if nobody says when that was, so long before it is stored it was. */
const copySecondsMax = 10;
const ageSecondsMax = 900;

export interface Changes {
  /** In seconds since 1970: what changed in the moment from then on is doubtful. Undefined: nothing did. */
  doubtfulFrom: number | undefined;
  /** Whether something doubtful of the earlier backup is still as it was. */
  staysDoubtful: boolean;
}

interface Asked {
  /** When the copy was there. */
  takenAt?: string | undefined;
  /** `doubtfulFrom` of the earlier backup. */
  earlier?: number | undefined;
  signal?: AbortSignal | undefined;
}

export async function recentChanges(parts: readonly Part[], { takenAt, earlier, signal }: Asked): Promise<Changes> {
  let [newest, staysDoubtful] = [0, false];
  const folders = parts.map(({ folder }) => folder);
  const find = spawn('find', [...folders, '-type', 'f', '-printf', '%C@\\n'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(signal && { signal }),
  });
  const ended = new Promise<void>((settle, fail) => find.once('error', fail).once('close', () => settle()));
  createInterface({ input: find.stdout }).on('line', (line) => {
    const at = Number(line);
    newest = Math.max(newest, at);
    if (earlier !== undefined && at >= earlier && at <= earlier + momentSeconds) staysDoubtful = true;
  });
  await ended;
  const since = takenAt === undefined ? Date.now() / 1000 - ageSecondsMax : Date.parse(takenAt) / 1000 - copySecondsMax;
  const isRecent = newest > since;
  return { doubtfulFrom: isRecent ? newest - momentSeconds : undefined, staysDoubtful };
}
