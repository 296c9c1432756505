/**
 * A backup of the installation itself: its database, with people, projects, variables and the list of all backups, and its Git repositories. What environments
 * keep is in backups of their own. It is kept in the same places, and read with nothing but the installation's key.
 *
 * The database comes first: what was pushed while repositories are read is found there afterwards, as after any push that was cut off.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Blobs, Part, Stored } from '../../drivers/blobs/blobs.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { dumpDatabase } from './dump-database.ts';

/** Beside those of projects, whose names are of another length. */
export const platformRepository = 'platform';
export const databasePart = 'database';
/** Folders of the data folder. */
export const folderParts = ['repositories', 'tombstones'] as const;
/** In the data folder: what a backup is put together in. */
export const scratchFolder = 'recovery';
const keptMax = 7;
const attemptsMax = 3;

export interface Installed {
  db: Db;
  blobs: Blobs;
  /** The data folder. */
  data: string;
  signal?: AbortSignal | undefined;
}

export async function backUpPlatform({ db, blobs, data, signal }: Installed): Promise<Stored> {
  const name = `platform-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const scratch = join(data, scratchFolder, name);
  try {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    await dumpDatabase(db, scratch);
    const stored = await storeCalmly(blobs, name, [{ name: databasePart, folder: scratch }, ...(await foldersOf(data))], signal);
    await blobs.verify(platformRepository, stored, signal);
    await sql`update installation set backed_up_at = clock_timestamp()`.execute(db);
    return stored;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

export const foldersOf = (data: string): Promise<Part[]> =>
  Promise.all(
    folderParts.map(async (name) => {
      const folder = join(data, name);
      await mkdir(folder, { recursive: true });
      return { name, folder };
    }),
  );

/** Somebody may push meanwhile, and Git may tidy up: a file that was there a moment ago is no reason to give up. */
async function storeCalmly(blobs: Blobs, name: string, parts: readonly Part[], signal: AbortSignal | undefined): Promise<Stored> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await blobs.store(platformRepository, name, parts, { signal });
    } catch (error) {
      if (!(error instanceof Problem) || attempt === attemptsMax) throw error;
    }
  }
}

/** The newest first. */
export const platformBackups = async (blobs: Pick<Blobs, 'list'>): Promise<string[]> =>
  (await blobs.list(platformRepository)).filter((name) => name.startsWith('platform-')).toReversed();

export async function forgetOldPlatformBackups(blobs: Pick<Blobs, 'list' | 'forget'>, signal: AbortSignal): Promise<void> {
  const old = (await platformBackups(blobs)).slice(keptMax);
  if (old.length > 0) await blobs.forget(platformRepository, old, signal);
}
