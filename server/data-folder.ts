/**
 * The folder that holds everything an installation must not lose, opened by one instance at a time.
 *
 * The lock is a kernel lock on a file, taken through SQLite (Node has no call for it): it ends with the process, however that ends. Such
 * a lock is also lost when its process closes any other descriptor of the file, so nothing here may open `instance.lock` a second time.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface DataFolder {
  readonly path: string;
  /** The first key encrypts, and all decrypt: that is how keys are rotated. A key is made if there is none. */
  secretKeys(): Buffer[];
  /** Whether there are any keys yet. */
  hasSecretKeys(): boolean;
  keepSecretKeys(keys: readonly Buffer[]): void;
  /** Releases the lock, so that another instance can open the folder. */
  close(): void;
}

const keyBytes = 32;

/** Keeps references to the locks: a lock without one would be released by the garbage collector, at any time. */
const held = new Set<DatabaseSync>();

/** Throws a sentence for the operator if the folder cannot be used, or is in use. */
export function openDataFolder(path: string): DataFolder {
  const folder = resolve(path);
  createFolder(folder);
  const lock = lockFolder(folder);
  held.add(lock);
  return {
    path: folder,
    ...keysIn(folder),
    close: () => {
      held.delete(lock);
      lock.close();
    },
  };
}

/** For a process that works beside the one that opened the folder: nothing is locked, and nothing is made. */
export function shareDataFolder(path: string): DataFolder {
  const folder = resolve(path);
  if (!existsSync(join(folder, 'secret-key')))
    throw new Error(`There is no installation in ${folder}; start the whole platform there once, or set OFFSHOOT_DATA.`);
  return { path: folder, ...keysIn(folder), close: () => {} };
}

/** The folder in which `./offshoot restore platform` works: while it exists, the data folder is no installation yet. */
export const restoringFolder = (path: string): string => join(resolve(path), 'restoring');

/** Throws a sentence for the operator. */
export function refuseHalfRestored(path: string): void {
  if (existsSync(restoringFolder(path)))
    throw new Error(
      `The platform is being restored into ${resolve(path)}, or that was interrupted; run ./offshoot restore platform again until it succeeds.`,
    );
}

function keysIn(folder: string): Pick<DataFolder, 'secretKeys' | 'hasSecretKeys' | 'keepSecretKeys'> {
  const file = join(folder, 'secret-key');
  return {
    secretKeys: () => readSecretKeys(file),
    hasSecretKeys: () => existsSync(file),
    keepSecretKeys: (keys) => writeWhole(file, keys.map((key) => `${key.toString('base64')}\n`).join('')),
  };
}

/** Other users may pass through, to what is theirs inside, but not list the folder. */
function createFolder(folder: string) {
  try {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o711);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The data folder ${folder} cannot be used (${reason}); set OFFSHOOT_DATA to a folder that this user can write to.`, {
      cause,
    });
  }
}

const sqliteBusy = 5;

function lockFolder(folder: string): DatabaseSync {
  const file = join(folder, 'instance.lock');
  const lock = new DatabaseSync(file);
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    chmodSync(file, 0o600);
    return lock;
  } catch (cause) {
    lock.close();
    if (!(cause instanceof Error && 'errcode' in cause && cause.errcode === sqliteBusy)) throw cause;
    throw new Error(`Another Offshoot is already running on ${folder}; stop it first, or set OFFSHOOT_DATA to another folder.`, { cause });
  }
}

function readSecretKeys(file: string): Buffer[] {
  if (!existsSync(file)) writeWhole(file, `${randomBytes(keyBytes).toString('base64')}\n`);
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const keys = lines.map((line) => Buffer.from(line, 'base64'));
  if (keys.length === 0 || keys.some((key, index) => key.length !== keyBytes || key.toString('base64') !== lines[index]))
    throw new Error(
      `${file} should hold ${keyBytes} random bytes in base64 on each line, the current key first; restore it from a backup.`,
    );
  return keys;
}

/** Writes all of the file or nothing, even if the power fails: a key that encrypted something must still be there afterwards. */
export function writeWhole(file: string, text: string) {
  const scratch = `${file}.new`;
  const descriptor = openSync(scratch, 'w', 0o600);
  writeSync(descriptor, text);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(scratch, file);
  const folder = openSync(join(file, '..'), 'r');
  fsyncSync(folder);
  closeSync(folder);
}
