/**
 * A folder that stands in for the outside world where nothing is connected yet: what would have been sent is a file that the operator reads.
 * A file appears whole, for its owner's eyes only; the log names it and never quotes it; the oldest make room for new ones.
 */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ulid } from '../../kernel/id.ts';

export interface Outbox {
  /** Answers the path of the new file. */
  put(content: string | Buffer): Promise<string>;
}

export const outboxFilesMax = 1000;

/** `extension` without its dot. Names sort by age. */
export function openOutbox(folder: string, extension: string, filesMax = outboxFilesMax): Outbox {
  return {
    async put(content) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${ulid()}.${extension}`);
      await writeFile(`${file}.new`, content, { mode: 0o600, flag: 'wx' });
      await rename(`${file}.new`, file);
      await removeOldest(folder, extension, filesMax);
      return file;
    },
  };
}

async function removeOldest(folder: string, extension: string, filesMax: number) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(`.${extension}`)).sort();
  for (const name of names.slice(0, Math.max(names.length - filesMax, 0))) await rm(join(folder, name), { force: true });
}
