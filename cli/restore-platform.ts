/**
 * An installation from a backup of itself, on a machine that has none: database, repositories, and what environments kept. It can be begun again when it was
 * interrupted, and refuses to touch an installation that is there, or a database that is not empty. Volumes that are there are used as they are.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { readConfig, type Config } from '../server/config.ts';
import { openDataFolder, restoringFolder, type DataFolder } from '../server/data-folder.ts';
import type { Blobs, Part } from '../server/drivers/blobs/blobs.ts';
import { blobsFolder, openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import { noteRestored } from '../server/drivers/blobs/ownership.ts';
import { openPlace, type BackupPlace } from '../server/drivers/blobs/places.ts';
import { ResticFailure } from '../server/drivers/blobs/restic.ts';
import { openEmbeddedPostgres } from '../server/drivers/postgres/embedded.ts';
import { openVolumes } from '../server/drivers/volumes/open-volumes.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import { openDatabase, openPool, type Db } from '../server/kernel/sql.ts';
import {
  beginRestoring,
  databasePart,
  endRestoring,
  folderParts,
  loadDatabase,
  platformBackups,
  platformRepository,
  scratchFolder,
  settleRepositories,
  settleRestored,
  stateOfDatabase,
  type Outcome,
  type Settled,
} from '../server/rooms/recovery/public.ts';
import { placesOf } from './backup.ts';

export interface Wanted {
  from?: string | undefined;
  backup?: string | undefined;
  keyFromInput: boolean;
}

export async function restorePlatform({ from, backup, keyFromInput }: Wanted): Promise<void> {
  const config = readConfig(process.env);
  const data = openDataFolder(config.data);
  try {
    const scratch = restoringFolder(config.data);
    await refuseInstallation(config, scratch);
    // An attempt that had put everything in its place only has to be tidied up.
    const isDone = existsSync(join(scratch, doneFile));
    const keys = keyFromInput ? givenKeys() : (config.secretKeys ?? fileKeys(data));
    const secrets = openSecrets(keys);
    if (!isDone) {
      const places = from === undefined ? config.backups : placesOf(from);
      const there = await backupsAt(config, places, secrets);
      // The backups of environments are looked for in the configured places.
      if (from !== undefined) await backupsAt(config, config.backups, secrets);
      await fetchOrLeave(blobsAt(config, places, secrets), chosen(there, backup), scratch);
      if (keyFromInput) data.keepSecretKeys(keys);
    }
    await withRestoredDatabase(config, async (pool, db) => {
      if (!isDone) await bringBack(config, { pool, db, secrets, scratch });
      await endRestoring(db);
    });
    await discard(config, scratch);
    console.log(
      'The platform is restored. ./offshoot start brings it up. What was pushed after that backup was made has to be pushed again.\n' +
        'If this is a rehearsal, and the installation that made the backup still runs, first set OFFSHOOT_BACKUPS to other places: ' +
        'once this one starts, it has those that are set, and the other cannot back up there any more.',
    );
  } finally {
    data.close();
  }
}

/** This file in the folder of what is being restored says that all of it is in its place. */
const doneFile = 'done';

const blobsAt = ({ data }: Config, places: readonly BackupPlace[], secrets: Secrets) =>
  openBlobs({ folder: blobsFolder(data), places, secrets });

/** After an interrupted attempt, what is in the data folder is that attempt's own, and so is what is in a database that says so. */
async function refuseInstallation({ data, databaseUrl }: Config, scratch: string) {
  const isThere = existsSync(join(data, 'postgres', 'cluster')) || existsSync(join(data, 'repositories'));
  if (isThere && !existsSync(scratch))
    throw new Problem(
      'conflict',
      `There is an installation in ${data} already; set OFFSHOOT_DATA to an empty folder, or move that one away. To use its volumes with what is restored, move only its postgres and repositories away.`,
    );
  if (databaseUrl === undefined || existsSync(join(scratch, doneFile))) return;
  const db = openDatabase(openPool(databaseUrl));
  try {
    if ((await stateOfDatabase(db)) === 'in use')
      throw new Problem('conflict', 'The database of DATABASE_URL is not empty; give an empty one. Nothing was changed.');
  } finally {
    await db.destroy();
  }
}

const keyWords =
  'The key of the installation is needed, as ./offshoot backup key showed it: set OFFSHOOT_SECRET_KEY, or give it to --key-stdin.';

function givenKeys(): Buffer[] {
  const keys = readConfig({ OFFSHOOT_SECRET_KEY: readFileSync(0, 'utf8').trim() }).secretKeys;
  if (!keys) throw new Problem('invalid-request', keyWords);
  return keys;
}

function fileKeys(data: DataFolder): Buffer[] {
  // Asking for the key in any other way would make a new one.
  if (!data.hasSecretKeys()) throw new Problem('invalid-request', keyWords);
  return data.secretKeys();
}

/**
 * The names of those of the platform, the newest first. A disk that is not mounted looks like a place that never had anything, and what is only there would count
 * as lost: where one of several places has none, somebody has to say that this is right.
 */
async function backupsAt(config: Config, places: readonly BackupPlace[], secrets: Secrets): Promise<string[]> {
  const found = await Promise.all(places.map((place) => platformBackups(blobsAt(config, [place], secrets)))).catch(refuseKey);
  const without = places.filter((_, index) => found[index]?.length === 0).map((place) => openPlace(place).name);
  if (without.length > 0 && without.length < places.length)
    throw new Problem(
      'conflict',
      `There is no backup of a platform at ${without.join(', ')}, while there is elsewhere. Mount what should be there; or take it out of OFFSHOOT_BACKUPS, for this and for the start after it: ` +
        'it can be added later, and ./offshoot backup repair fills it. Nothing was changed.',
    );
  return [...new Set(found.flat())].toSorted().toReversed();
}

function refuseKey(error: unknown): never {
  if (error instanceof Problem && error.cause instanceof ResticFailure && error.cause.kind === 'wrong-password')
    throw new Problem('invalid-request', `The key does not fit the backups of the platform. ${keyWords}`, { cause: error });
  throw error;
}

const namedMax = 5;

function chosen(there: readonly string[], wanted: string | undefined): string {
  const [newest] = there;
  if (newest === undefined)
    throw new Problem('not-found', 'There is no backup of a platform in the places of OFFSHOOT_BACKUPS, or of --from.');
  if (wanted === undefined) return newest;
  if (there.includes(wanted)) return wanted;
  const older = there.length > namedMax ? ` and ${there.length - namedMax} older ones` : '';
  throw new Problem('not-found', `There is no backup ${wanted} of the platform; there is ${there.slice(0, namedMax).join(', ')}${older}.`);
}

/** A first attempt that cannot fetch the backup leaves nothing behind. */
async function fetchOrLeave(blobs: Blobs, name: string, scratch: string) {
  const isFirst = !existsSync(scratch);
  try {
    await fetchBackup(blobs, name, scratch);
  } catch (error) {
    if (isFirst) await rm(scratch, { recursive: true, force: true });
    throw error;
  }
}

async function fetchBackup(blobs: Blobs, name: string, scratch: string) {
  console.log(`Restoring ${name}`);
  const parts: Part[] = [databasePart, ...folderParts].map((part) => ({ name: part, folder: join(scratch, part) }));
  // The folder is emptied, not removed: without it, what is beside it would look like an installation.
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  for (const left of await readdir(scratch)) await rm(join(scratch, left), { recursive: true });
  for (const { folder } of parts) await mkdir(folder);
  const stored = { backup: name, parts: parts.map((part) => part.name), places: {}, bytes: 0, bytesAdded: 0 };
  await blobs.restore(platformRepository, stored, parts);
}

async function withRestoredDatabase(config: Config, work: (pool: pg.Pool, db: Db) => Promise<void>) {
  const postgres = config.databaseUrl === undefined ? await openEmbeddedPostgres(join(config.data, 'postgres')) : undefined;
  const pool = openPool(config.databaseUrl ?? postgres?.url ?? '');
  const db = openDatabase(pool);
  try {
    await work(pool, db);
  } finally {
    await db.destroy();
    await postgres?.stop();
  }
}

interface Restoring {
  pool: pg.Pool;
  db: Db;
  secrets: Secrets;
  scratch: string;
}

async function bringBack(config: Config, { pool, db, secrets, scratch }: Restoring) {
  const volumes = await volumesHere(config);
  await beginRestoring(db);
  await loadDatabase(pool, db, join(scratch, databasePart), join(import.meta.dirname, '..', 'server', 'migrations'));
  for (const folder of folderParts) {
    await rm(join(config.data, folder), { recursive: true, force: true });
    await rename(join(scratch, folder), join(config.data, folder));
    await mkdir(join(scratch, folder));
  }
  await settleRepositories(config.data, join(scratch, databasePart));
  const blobs = blobsAt(config, config.backups, secrets);
  const settled = await settleRestored({ db, secrets, blobs, config, volumes, say: (line) => console.log(line) });
  for (const environment of settled) console.log(lineOf(environment));
  await noteRestored(blobsFolder(config.data));
  await writeFile(join(scratch, doneFile), '', { flush: true });
}

/** Discards the folder in one move: half of it would look like an attempt that was interrupted. */
async function discard({ data }: Config, scratch: string) {
  // What is left in that folder is removed by the platform.
  await mkdir(scratchFolder(data), { recursive: true, mode: 0o700 });
  const over = join(scratchFolder(data), 'restored');
  await rm(over, { recursive: true, force: true });
  await rename(scratch, over);
  await rm(over, { recursive: true });
}

/** Volumes may be on a disk of their own, which survived. */
async function volumesHere(config: Config): Promise<ReadonlySet<string>> {
  if (!existsSync(config.volumes ?? join(config.data, 'volumes'))) return new Set();
  const volumes = await openVolumes(config, (sentence) => console.error(sentence));
  const names = (await volumes.list()).map(({ name }) => name);
  await volumes.close();
  return new Set(names);
}

const gone = 'its data is gone with the machine';

const lines: Record<Outcome, (settled: Settled) => string> = {
  kept: ({ backup, rest }) => `its volumes are on this machine, and are used as they are${then[rest ?? 'awake']}${beside(backup)}`,
  rebuilding: () => 'what was built for it is gone, and is built anew when the platform starts; all that it kept is on this machine',
  unbuilt: () =>
    'all that it kept is on this machine, and it stays paused; what was built for it is gone, so redeploy it instead of resuming it',
  incomplete: ({ missing, backup }) =>
    `some of its volumes are on this machine, but not ${missing.join(', ')}; nothing of it is touched, and it is paused. ` +
    `Put back what is missing and resume it, push what it runs now${backup ? `, or restore backup ${backup.id}, which replaces all of it` : ''}`,
  restoring: ({ backup, rest }) =>
    `${gone}, and comes back from backup ${backup?.id} of ${timeOf(backup)} when the platform starts${then[rest ?? 'awake']}`,
  empty: () => `${gone}, and there is no backup; it is inactive, and starts empty when somebody activates it`,
};

const beside = (backup: Settled['backup']) => (backup ? `; its newest backup is ${backup.id} of ${timeOf(backup)}` : '');
const timeOf = (backup: Settled['backup']) => backup?.created_at.slice(0, 19) ?? '';

const then = { awake: '', asleep: '; it sleeps until it is visited', paused: '; it stays paused' };

const lineOf = (settled: Settled): string => `${settled.project_id} ${settled.environment_id}: ${lines[settled.outcome](settled)}`;
