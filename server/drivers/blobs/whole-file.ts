/** A file that is there with all of its content, or not at all. */
import { chmod, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export async function writeWhole(path: string, content: Buffer): Promise<void> {
  await rename(await writeBeside(path, content), path);
}

/** Does not replace a file that is there: of several who come at once, one wins. */
export async function createWhole(path: string, content: Buffer): Promise<void> {
  const unfinished = await writeBeside(path, content);
  try {
    await link(unfinished, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) {
      // Not every file system has hard links; on one that has not, the last one wins.
      if (!noLinks.some((code) => hasCode(error, code))) throw error;
      await rename(unfinished, path);
    }
  } finally {
    await rm(unfinished, { force: true });
  }
}

export const hasCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code;

const noLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
let written = 0;

async function writeBeside(path: string, content: Buffer): Promise<string> {
  written += 1;
  // Named as restic names files that it is writing, so that what a kill leaves is removed together with those.
  const unfinished = `${path}-tmp-${process.pid}${written}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(unfinished, 0o400);
  return unfinished;
}
