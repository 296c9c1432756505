/**
 * One process at a time, by a kernel lock on a file, taken through SQLite (Node has no call for it): it ends with the process, however
 * that ends. Waiting does not block the event loop, and can be given up. The file stays: removing it would let two in at once.
 */
import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const sqliteBusy = 5;
const pollMilliseconds = 50;

/** Keeps locks referenced: the garbage collector would let go of one that nobody refers to. */
const held = new Set<DatabaseSync>();

export async function withFileLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let lock = tryLock(file);
  while (!lock) {
    await sleep(pollMilliseconds, undefined, { signal });
    lock = tryLock(file);
  }
  return whileLocked(lock, work);
}

/** Works beside others who share the lock, and not while somebody has it alone. */
export async function withSharedFileLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let lock = tryLock(file, shared);
  while (!lock) {
    await sleep(pollMilliseconds, undefined, { signal });
    lock = tryLock(file, shared);
  }
  return whileLocked(lock, work);
}

/** Undefined where somebody else holds the lock. */
export async function ifUnlocked<T>(file: string, work: () => Promise<T>): Promise<T | undefined> {
  const lock = tryLock(file);
  return lock && whileLocked(lock, work);
}

async function whileLocked<T>(lock: DatabaseSync, work: () => Promise<T>): Promise<T> {
  held.add(lock);
  try {
    return await work();
  } finally {
    held.delete(lock);
    lock.close();
  }
}

const alone = 'pragma locking_mode = exclusive; begin exclusive';
/** A read in a transaction keeps writers out until the transaction ends. */
const shared = 'begin; select count(*) from sqlite_schema';

function tryLock(file: string, how = alone): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec(how);
    chmodSync(file, 0o600);
    return lock;
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return undefined;
    throw error;
  }
}
