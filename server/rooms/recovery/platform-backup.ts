/**
 * A backup of the installation itself: its database, with people, projects, variables and the list of all backups, its Git repositories, and the files of tickets. What environments
 * keep is in backups of their own. It is kept in the same places, and read with nothing but the installation's key.
 *
 * The database comes first, then what branches and tags name, then the repositories: what was pushed meanwhile is in none of them, or is found in a repository
 * afterwards, as after any push that was cut off.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Value } from 'typebox/value';
import { type Blobs, type BroughtBack, Damage, type Part, type Repaired, type Stored } from '../../drivers/blobs/blobs.ts';
import { repairingOnce } from '../../drivers/blobs/repairing-once.ts';
import { KeptRefs, putBackRefs, refsIn } from '../../drivers/git/kept-refs.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { dumpDatabase } from './dump-database.ts';
import { inScratch, noteStored, noteStoring } from './scratch.ts';

/** The name beside the repositories of projects in the store; it cannot be that of a project, whose names are of another length. */
export const platformRepository = 'platform';
export const databasePart = 'database';
/** These parts are folders of the data folder. */
const repositoriesPart = 'repositories';
export const folderParts = [repositoriesPart, 'tombstones', 'attachments'] as const;
/** This file lies in the same part as the database. */
const refsFile = 'refs.json';
const keptMax = 7;
const attemptsMax = 3;

export interface Installed {
  db: Db;
  blobs: Blobs;
  /** The data folder. */
  data: string;
  signal?: AbortSignal | undefined;
}

/** `isElsewhere`: the backup goes to another place than those of OFFSHOOT_BACKUPS, so it does not count as the backup of the day. */
export function backUpPlatform({ db, blobs, data, signal }: Installed, { isElsewhere = false } = {}): Promise<Stored> {
  const name = `platform-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  return inScratch({ db, blobs, data, signal }, async (scratch) => {
    const database = join(scratch, databasePart);
    await mkdir(database, { mode: 0o700 });
    await dumpDatabase(db, database);
    const folders = await foldersOf(data);
    await writeFile(join(database, refsFile), JSON.stringify(await refsIn(join(data, repositoriesPart))), { mode: 0o600 });
    const parts = [{ name: databasePart, folder: database }, ...folders];
    await noteStoring(scratch, { project: platformRepository, backup: name });
    const storeAndVerify = async () => {
      const made = await storeCalmly(blobs, name, parts, signal);
      await blobs.verify(platformRepository, made, signal);
      return made;
    };
    const stored = await repairingOnce(storeAndVerify, () => repairPlatformBackups(blobs, signal)).catch(async (error: unknown) => {
      if (!signal?.aborted) await forgetHalf(blobs, name, scratch);
      throw error;
    });
    await noteStored(scratch);
    if (!isElsewhere) await sql`update installation set backed_up_at = clock_timestamp()`.execute(db);
    return stored;
  });
}

/** A backup that only some places have is no backup. A place that does not answer is not asked again: the next backup would have to wait for it. */
async function forgetHalf(blobs: Blobs, name: string, scratch: string): Promise<void> {
  await blobs.forget(platformRepository, [name]).catch(() => undefined);
  await noteStored(scratch);
}

/** To be called once the parts of a backup are where they belong. Older backups have no such file. */
export async function settleRepositories(data: string, databaseFolder: string): Promise<void> {
  const text = await readFile(join(databaseFolder, refsFile), 'utf8').catch(() => undefined);
  if (text !== undefined) await putBackRefs(join(data, repositoriesPart), Value.Parse(KeptRefs, JSON.parse(text)));
}

export const foldersOf = (data: string): Promise<Part[]> =>
  Promise.all(
    folderParts.map(async (name) => {
      const folder = join(data, name);
      await mkdir(folder, { recursive: true });
      return { name, folder };
    }),
  );

/** Somebody may push meanwhile, and Git may tidy up, so a file that has vanished is no reason to give up. */
async function storeCalmly(blobs: Blobs, name: string, parts: readonly Part[], signal: AbortSignal | undefined): Promise<Stored> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await blobs.store(platformRepository, name, parts, { signal });
    } catch (error) {
      if (!(error instanceof Problem) || error instanceof Damage || attempt === attemptsMax) throw error;
    }
  }
}

/** The names of the backups of the platform, newest first. */
export const platformBackups = async (blobs: Pick<Blobs, 'list'>): Promise<string[]> =>
  (await blobs.list(platformRepository)).filter((name) => name.startsWith('platform-')).toReversed();

/** The name is all that it takes to find a backup of the platform. */
export const storedPlatform = (backup: string): Stored => ({ backup, parts: [], places: {}, bytes: 0, bytesAdded: 0 });

type Repairable = Pick<Blobs, 'list' | 'repair' | 'bringBack'>;

export async function repairPlatformBackups(
  blobs: Repairable,
  signal?: AbortSignal,
): Promise<{ repaired: Repaired[]; broughtBack: BroughtBack[] }> {
  const repaired = await blobs.repair(platformRepository, signal);
  const broughtBack = await blobs.bringBack(platformRepository, (await platformBackups(blobs)).map(storedPlatform), signal);
  return { repaired, broughtBack };
}

export async function forgetOldPlatformBackups(blobs: Repairable & Pick<Blobs, 'forget'>, signal?: AbortSignal): Promise<void> {
  const old = (await platformBackups(blobs)).slice(keptMax);
  const forget = () => blobs.forget(platformRepository, old, signal);
  if (old.length > 0) await repairingOnce(forget, () => repairPlatformBackups(blobs, signal));
}
