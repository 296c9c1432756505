/**
 * The places that backups are kept in, as far as restic does not see to it itself: what a place is called, what is there, and how a file of it is read, written
 * and removed.
 */
import { constants, existsSync } from 'node:fs';
import { access, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../kernel/problem.ts';
import { openS3 } from './s3.ts';
import { createWhole, hasCode, writeWhole } from './whole-file.ts';

export type BackupPlace =
  | { kind: 'folder'; folder: string }
  | { kind: 's3'; endpoint: string; bucket: string; prefix: string; region: string; accessKey: string; secretKey: string };

export interface Place {
  /** The address without credentials: it is kept with every backup. */
  name: string;
  /** Whether each look costs a journey, so that a copy of what describes the pieces is worth keeping here. */
  isFar: boolean;
  /** How restic is told of a repository here, and with what in its environment. */
  address(repository: string): string;
  environment: Record<string, string>;
  options: readonly string[];
  /** What there is of a repository below a prefix, as paths in it. Throws a Problem where the place cannot be reached. */
  names(repository: string, prefix?: string): Promise<string[]>;
  /** All of a file, with zeros for what its disk does not give any more; undefined where there is none. */
  read(repository: string, name: string): Promise<Buffer | undefined>;
  /** Writes the file whole or not at all. */
  write(repository: string, name: string, content: Buffer): Promise<void>;
  /** Takes a damaged file out of use; where the disk may be what erred, it is kept beside the others for some days. */
  setAside(repository: string, name: string): Promise<void>;
  /** The files that were set aside long enough ago to be removed. */
  asideNoLonger(repository: string): Promise<string[]>;
  remove(repository: string, names: readonly string[]): Promise<void>;
  removeAll(repository: string): Promise<void>;
  /** Throws a Problem that says what is wrong; leaves nothing behind. */
  tryOut(): Promise<void>;
  /** The mount point of the disk that the place is on now. */
  disk(): Promise<string | undefined>;
  /** The file that says whose the place is (ownership.ts). */
  mark: Mark;
}

export interface Mark {
  /** Where it is, for sentences. */
  address: string;
  read(): Promise<Buffer | undefined>;
  /** Does not replace a mark that is there, where the medium can tell. */
  create(content: Buffer): Promise<void>;
  replace(content: Buffer): Promise<void>;
}

/** No repository has this name. */
export const markName = 'installation.json';

export const openPlace = (place: BackupPlace): Place => (place.kind === 'folder' ? folderPlace(place.folder) : s3Place(place));

/** restic knows the credentials of one account at a time. */
export const haveSameWayIn = (one: Place, other: Place) =>
  !one.isFar || !other.isFar || isDeepStrictEqual(one.environment, other.environment);

function folderPlace(folder: string): Place {
  const refuse = (cause: unknown) => Promise.reject(cannotUse(folder, cause));
  const mark = join(folder, markName);
  return {
    name: folder,
    isFar: false,
    address: (repository) => `local:${join(folder, repository)}`,
    environment: {},
    options: [],
    names: async (repository, prefix = '') => {
      const root = join(folder, repository);
      // A repository has many files, so only the folder of the prefix is read.
      const within = prefix === '' || prefix.endsWith('/') ? join(root, prefix) : dirname(join(root, prefix));
      const entries = await readdir(within, { recursive: prefix === '', withFileTypes: true }).catch((error: unknown) =>
        unlessMissing(folder, error),
      );
      const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
      return files.filter((name) => name.startsWith(prefix));
    },
    read: (repository, name) => readWhatIsReadable(join(folder, repository, name)).catch((error: unknown) => unlessGone(folder, error)),
    write: (repository, name, content) => writeWhole(join(folder, repository, name), content).catch(refuse),
    setAside: async (repository, name) => {
      const to = join(folder, repository, asideFolder, today());
      await mkdir(to, { recursive: true, mode: 0o700 });
      await rename(join(folder, repository, name), join(to, name.replaceAll('/', '-')));
    },
    asideNoLonger: async (repository) => {
      const days = await readdir(join(folder, repository, asideFolder)).catch(() => []);
      return days.filter((day) => Date.now() - Date.parse(day) > asideDays * 86_400_000).map((day) => join(asideFolder, day));
    },
    remove: async (repository, names) => {
      for (const name of names) await rm(join(folder, repository, name), { force: true, recursive: true });
    },
    removeAll: (repository) => rm(join(folder, repository), { recursive: true, force: true }),
    tryOut: () => access(nearestExisting(folder), constants.W_OK | constants.X_OK).catch(refuse),
    disk: () => mountPointOf(nearestExisting(folder)),
    mark: {
      address: mark,
      read: () => readFile(mark).catch((error: unknown) => unlessGone(folder, error)),
      create: (content) => createWhole(mark, content).catch(refuse),
      replace: (content) => writeWhole(mark, content).catch(refuse),
    },
  };
}

const asideFolder = 'damaged';
const asideDays = 14;
const today = () => new Date().toISOString().slice(0, 10);

/** The smallest piece that disks lose: a sector. */
const blockBytes = 4096;

async function readWhatIsReadable(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (!hasCode(error, 'EIO')) throw error;
  }
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const content = Buffer.alloc(size);
    for (let at = 0; at < size; at += blockBytes)
      await file.read(content, at, Math.min(blockBytes, size - at), at).catch((error: unknown) => {
        if (!hasCode(error, 'EIO')) throw error;
      });
    return content;
  } finally {
    await file.close();
  }
}

function unlessGone(folder: string, error: unknown): undefined {
  if (hasCode(error, 'ENOENT')) return undefined;
  throw cannotUse(folder, error);
}

/** The topmost folder on the same disk as the path. */
async function mountPointOf(path: string): Promise<string> {
  const above = dirname(path);
  const [{ dev }, { dev: devAbove }] = [await stat(path), await stat(above)];
  return dev !== devAbove || above === path ? path : mountPointOf(above);
}

const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

function unlessMissing(folder: string, error: unknown): [] {
  if (hasCode(error, 'ENOENT')) return [];
  throw cannotUse(folder, error);
}

const cannotUse = (folder: string, cause: unknown) =>
  new Problem('unavailable', `Backups cannot be kept in ${folder}; see that the disk is there and can be written to.`, {
    cause,
    internal: cause instanceof Error ? cause.message : String(cause),
  });

function s3Place({ endpoint, bucket, prefix, region, accessKey, secretKey }: Extract<BackupPlace, { kind: 's3' }>): Place {
  const base = [bucket, prefix].filter(Boolean).join('/');
  const name = `s3:${endpoint}/${base}`;
  const s3 = openS3({ endpoint, bucket, region, accessKey, secretKey, name });
  const below = (repository: string) => (prefix === '' ? `${repository}/` : `${prefix}/${repository}/`);
  const mark = prefix === '' ? markName : `${prefix}/${markName}`;
  const names: Place['names'] = async (repository, inside = '') =>
    (await s3.list(below(repository) + inside)).map((key) => key.slice(below(repository).length));
  const remove: Place['remove'] = async (repository, paths) => {
    for (const path of paths) await s3.remove(below(repository) + path);
  };
  return {
    name,
    isFar: true,
    address: (repository) => `${name}/${repository}`,
    environment: { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey, AWS_DEFAULT_REGION: region },
    // restic tries again by itself; if the S3 client inside it did so too, seconds would become minutes.
    options: ['-o', 's3.retries=1', '-o', 's3.bucket-lookup=path'],
    names,
    read: (repository, path) => s3.read(below(repository) + path),
    write: (repository, path, content) => s3.write(below(repository) + path, content),
    // What a bucket gives out is what it holds, as it has no sectors that could be read wrong: a damaged file is of no use.
    setAside: (repository, path) => s3.remove(below(repository) + path),
    asideNoLonger: () => Promise.resolve([]),
    remove,
    removeAll: async (repository) => remove(repository, await names(repository)),
    tryOut: () => s3.tryOut(below('probe')),
    disk: () => Promise.resolve(undefined),
    mark: {
      address: `${name}/${markName}`,
      read: () => s3.read(mark),
      create: (content) => s3.create(mark, content),
      replace: (content) => s3.write(mark, content),
    },
  };
}
