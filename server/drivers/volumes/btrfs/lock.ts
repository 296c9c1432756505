/**
 * One process at a time, by a kernel lock on a file, taken through SQLite (Node has no call for it): it ends with the process, however that
 * ends. Within one process it is one caller at a time too.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const waitSecondsMax = 120;
const pollMilliseconds = 10;
const sqliteBusy = 5;

export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = await taken(file);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

async function taken(file: string): Promise<DatabaseSync> {
  const deadline = Date.now() + waitSecondsMax * 1000;
  while (true) {
    const lock = new DatabaseSync(file, { timeout: 0 });
    try {
      lock.exec('pragma locking_mode = exclusive; begin exclusive');
      return lock;
    } catch (error) {
      lock.close();
      if (!(error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy)) throw error;
      if (Date.now() > deadline)
        throw new Error(`${file} has been locked by another process for ${waitSecondsMax} seconds.`, { cause: error });
    }
    await sleep(pollMilliseconds);
  }
}
