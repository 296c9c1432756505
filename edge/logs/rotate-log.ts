/**
 * Puts a full log aside without anybody who reads or writes it having to open it again: the file stays the same one, and what was in it goes to a
 * copy. So `tail -f` goes on, and so does whoever appends. `<log>.1` is the latest that was put aside; the oldest goes.
 *
 * What is appended between the copy and the cut would be lost, so nobody may append meanwhile: a process that is the only one to write does not, and
 * several announce it to each other (`announceCut`).
 */
import { constants } from 'node:fs';
import { copyFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export const logBytesMax = 8_000_000;
/** How many are kept beside the log that grows. */
export const rotatedLogsMax = 2;

/** The file that tells when lines of a log were written, where they do not say so themselves. It is rotated with its log. */
export const timesOf = (log: string) => join(dirname(log), `.${basename(log)}.times`);
export const rotatedLogOf = (log: string, age: number) => (age === 0 ? log : `${log}.${age}`);

/** Whoever dies in between leaves a log that is there twice, or not yet cut; never one that is gone. */
export async function rotateLog(log: string): Promise<void> {
  for (let age = rotatedLogsMax - 1; age > 0; age--) {
    await move(rotatedLogOf(log, age), rotatedLogOf(log, age + 1));
    await move(timesOf(rotatedLogOf(log, age)), timesOf(rotatedLogOf(log, age + 1)));
  }
  const copy = `${timesOf(log)}.new`;
  await copyFile(log, copy, constants.COPYFILE_FICLONE);
  await move(timesOf(log), timesOf(rotatedLogOf(log, 1)));
  await rename(copy, rotatedLogOf(log, 1));
  await truncate(log);
}

/** What is to be moved may not be there; then the old file at `to` is removed. */
async function move(from: string, to: string) {
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    await rm(to, { force: true });
  });
}

/** How long one append may take, from the look at the announcement to its last byte. */
const appendMillisecondsMax = 2000;
/** An announcement that is older was made by a process that has died. */
const announcementMillisecondsMax = 4 * appendMillisecondsMax;
const announcementOf = (log: string) => join(dirname(log), `.${basename(log)}.cut`);

/** For one process at a time. While `cut` runs nobody appends who asked `isBeingCut` first and appends within two seconds. */
export async function announceCut(log: string, cut: () => Promise<void>): Promise<void> {
  await writeFile(announcementOf(log), '');
  try {
    await new Promise((resolve) => setTimeout(resolve, appendMillisecondsMax));
    await cut();
  } finally {
    await rm(announcementOf(log), { force: true });
  }
}

export const isBeingCut = async (log: string): Promise<boolean> =>
  stat(announcementOf(log)).then(
    ({ mtimeMs }) => Date.now() - mtimeMs < announcementMillisecondsMax,
    () => false,
  );
