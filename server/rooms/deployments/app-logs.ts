/**
 * Log files of apps, on the environment's volume for logs: one folder for each app and worker, which is `/var/log` inside. Whatever runs there may put
 * links, pipes or folders in the place of files, so nothing is followed, waited for or believed.
 */
import { constants } from 'node:fs';
import { chown, mkdir, open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { appUser } from '../../drivers/images/service.ts';
import { labelOf } from './names.ts';

const fileBytesMax = 8 * 2 ** 20;
/** What stays of one that has grown beyond that. */
const keptBytes = 2 * 2 ** 20;
const tailBytesMax = 16 * 1024;
const filesMax = 100;

const safely = constants.O_NOFOLLOW | constants.O_NONBLOCK;

export const logFolder = (logs: string, name: string) => join(logs, labelOf(name));

/** Undefined where there is no such file, or something else in its place. */
async function withFile<T>(path: string, flags: number, use: (file: FileHandle, bytes: number) => Promise<T>): Promise<T | undefined> {
  const file = await open(path, flags | safely, 0o644).catch(() => undefined);
  if (!file) return undefined;
  try {
    const found = await file.stat();
    return found.isFile() ? await use(file, found.size) : undefined;
  } finally {
    await file.close();
  }
}

export const logBytes = async (folder: string, file: string): Promise<number> =>
  (await withFile(join(folder, file), constants.O_RDONLY, async (_, bytes) => bytes)) ?? 0;

/** The last lines of what was written since it had so many bytes. */
export async function linesSince(folder: string, file: string, since: number, linesMax: number): Promise<string[]> {
  const text = await withFile(join(folder, file), constants.O_RDONLY, async (handle, bytes) => {
    const from = Math.max(bytes < since ? 0 : since, bytes - tailBytesMax);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.max(0, bytes - from)), 0, bytes - from, from);
    return buffer.toString('utf8', 0, bytesRead);
  });
  return (text ?? '')
    .trimEnd()
    .split('\n')
    .slice(-linesMax)
    .filter((line) => line !== '');
}

export async function appendLog(folder: string, file: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chown(folder, appUser.uid, appUser.gid);
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
  await withFile(join(folder, file), flags, async (handle) => {
    await handle.chown(appUser.uid, appUser.gid);
    await handle.appendFile(text);
  });
}

/** Cuts off the beginnings of what has grown too long; those who write go on at the end. */
export async function shortenLogs(logs: string): Promise<void> {
  for (const folder of await entriesOf(logs))
    for (const file of await entriesOf(join(logs, folder)))
      await withFile(join(logs, folder, file), constants.O_RDWR | constants.O_APPEND, async (handle, bytes) => {
        if (bytes <= fileBytesMax) return;
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(keptBytes), 0, keptBytes, bytes - keptBytes);
        await handle.truncate(0);
        await handle.appendFile(buffer.subarray(buffer.indexOf('\n') + 1, bytesRead));
      });
}

const entriesOf = async (folder: string) => (await readdir(folder).catch(() => [])).slice(0, filesMax);
