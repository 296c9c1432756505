/**
 * One look at all files before they are stored: how long they are, and which of them changed just now.
 *
 * A file with holes, or files that share their blocks, can be thousands of times as long as the disk that they are on, and restic reads every byte of them. So
 * what is longer than a part may be is refused before it is begun.
 *
 * restic takes a file for unchanged if its size, inode and times are those of the earlier backup. Clocks of file systems tick a hundred times a second or so: a file
 * that was written once more in the moment of a copy, just after it, looks the same and is not. So whatever changed in the last moment before a copy
 * is doubtful, as long as it stays that way; a backup after it then reads everything.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Problem } from '../../kernel/problem.ts';
import type { Part } from './blobs.ts';

/** Longer than a tick of any kernel. */
const momentSeconds = 0.05;
/** How long making the copy may take. Where nobody says when it was made, it is taken to have begun so long before it is stored. */
const copySecondsMax = 10;
const ageSecondsMax = 900;

export interface Changes {
  /** In seconds since 1970: what changed in the moment from then on is doubtful. Undefined: nothing did. */
  doubtfulFrom: number | undefined;
  /** Whether a file that was doubtful in the earlier backup has not changed since. */
  staysDoubtful: boolean;
}

const formatOfFile = '%C@ %s %H\\n';

interface Asked {
  /** When the copy was made. */
  takenAt?: string | undefined;
  /** The `doubtfulFrom` of the earlier backup. */
  earlier?: number | undefined;
  signal?: AbortSignal | undefined;
}

export async function recentChanges(parts: readonly Part[], { takenAt, earlier, signal }: Asked): Promise<Changes> {
  let [newest, staysDoubtful] = [0, false];
  const folders = parts.map(({ folder }) => folder);
  const measure = measureOf(parts);
  const find = spawn('find', [...folders, '-type', 'f', '-printf', formatOfFile], {
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(signal && { signal }),
  });
  const ended = new Promise<void>((settle, fail) => find.once('error', fail).once('close', () => settle()));
  let tooLong: Part | undefined;
  createInterface({ input: find.stdout }).on('line', (line) => {
    const [, changed, bytes, folder = ''] = /^(\S+) (\d+) (.*)$/.exec(line) ?? [];
    tooLong ??= measure(folder, Number(bytes));
    if (tooLong) return void find.kill();
    const at = Number(changed);
    newest = Math.max(newest, at);
    if (earlier !== undefined && at >= earlier && at <= earlier + momentSeconds) staysDoubtful = true;
  });
  await ended;
  if (tooLong)
    throw new Problem(
      'too-large',
      `The files of ${tooLong.name} are together longer than ${tooLong.bytesMax} bytes, which is the most that is backed up of it; remove files with holes, or copies that share their content.`,
    );
  const since = takenAt === undefined ? Date.now() / 1000 - ageSecondsMax : Date.parse(takenAt) / 1000 - copySecondsMax;
  const isRecent = newest > since;
  return { doubtfulFrom: isRecent ? newest - momentSeconds : undefined, staysDoubtful };
}

/** Adds the length of a file to those of its part; gives the part as soon as that is too much. */
function measureOf(parts: readonly Part[]) {
  const lengths = new Map(parts.map((part) => [part.folder, { part, bytes: 0 }]));
  return (folder: string, bytes: number): Part | undefined => {
    const measured = lengths.get(folder);
    if (!measured) return undefined;
    measured.bytes += bytes;
    return measured.bytes > (measured.part.bytesMax ?? Number.POSITIVE_INFINITY) ? measured.part : undefined;
  };
}
