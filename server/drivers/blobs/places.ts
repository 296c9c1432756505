/**
 * The places that backups are kept in, as far as restic does not see to it itself: what a place is called, what is there, and how all of it is removed.
 */
import { constants, existsSync } from 'node:fs';
import { access, readdir, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { openS3 } from './s3.ts';

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
  remove(repository: string, names: readonly string[]): Promise<void>;
  removeAll(repository: string): Promise<void>;
  /** Throws a Problem that says what is wrong; leaves nothing behind. */
  tryOut(): Promise<void>;
}

export const openPlace = (place: BackupPlace): Place => (place.kind === 'folder' ? folderPlace(place.folder) : s3Place(place));

function folderPlace(folder: string): Place {
  return {
    name: folder,
    isFar: false,
    address: (repository) => `local:${join(folder, repository)}`,
    environment: {},
    options: [],
    names: async (repository, prefix = '') => {
      const root = join(folder, repository);
      // Of the many files only those next to what was asked for.
      const within = prefix === '' ? root : dirname(join(root, prefix));
      const entries = await readdir(within, { recursive: prefix === '', withFileTypes: true }).catch((error: unknown) =>
        unlessMissing(folder, error),
      );
      const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
      return files.filter((name) => name.startsWith(prefix));
    },
    remove: async (repository, names) => {
      for (const name of names) await rm(join(folder, repository, name), { force: true });
    },
    removeAll: (repository) => rm(join(folder, repository), { recursive: true, force: true }),
    tryOut: () =>
      access(nearestExisting(folder), constants.W_OK | constants.X_OK).catch((error: unknown) => Promise.reject(cannotUse(folder, error))),
  };
}

const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

function unlessMissing(folder: string, error: unknown): [] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
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
    // restic tries again by itself; that the client below it does, too, would make minutes of seconds.
    options: ['-o', 's3.retries=1', '-o', 's3.bucket-lookup=path'],
    names,
    remove,
    removeAll: async (repository) => remove(repository, await names(repository)),
    tryOut: () => s3.tryOut(below('probe')),
  };
}
