/**
 * An installation from a backup of itself, on a machine that has none: database, repositories, and what environments kept. It can be begun again when it was
 * interrupted, and refuses to touch an installation that is there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig, type Config } from '../server/config.ts';
import { openDataFolder, type DataFolder } from '../server/data-folder.ts';
import type { Blobs, Part } from '../server/drivers/blobs/blobs.ts';
import { blobsFolder, openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import type { BackupPlace } from '../server/drivers/blobs/places.ts';
import { openEmbeddedPostgres } from '../server/drivers/postgres/embedded.ts';
import { openVolumes } from '../server/drivers/volumes/open-volumes.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import { openDatabase, openPool } from '../server/kernel/sql.ts';
import {
  databasePart,
  folderParts,
  loadDatabase,
  platformBackups,
  platformRepository,
  settleRestored,
  type Settled,
} from '../server/rooms/recovery/room.ts';
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
    // Whoever finds it knows that what is beside it is not an installation yet.
    const scratch = join(config.data, 'restoring');
    if (!existsSync(scratch)) await refuseInstallation(config);
    const keys = keyFromInput ? givenKeys() : (config.secretKeys ?? fileKeys(data));
    const secrets = openSecrets(keys);
    const places = from === undefined ? config.backups : placesOf(from);
    await fetchBackup(blobsAt(config, places, secrets), backup, scratch);
    if (keyFromInput) data.keepSecretKeys(keys);
    await bringBack(config, secrets, scratch);
    await rm(scratch, { recursive: true });
    console.log('The platform is restored. ./offshoot start brings it up.');
  } finally {
    data.close();
  }
}

const blobsAt = ({ data }: Config, places: readonly BackupPlace[], secrets: Secrets) =>
  openBlobs({ folder: blobsFolder(data), places, secrets });

async function refuseInstallation({ data, databaseUrl }: Config) {
  const there = new Problem(
    'conflict',
    `There is an installation in ${data} already; set OFFSHOOT_DATA to an empty folder, or move that one away.`,
  );
  if (existsSync(join(data, 'postgres', 'cluster')) || existsSync(join(data, 'repositories'))) throw there;
  if (databaseUrl === undefined) return;
  const pool = openPool(databaseUrl);
  try {
    const { rows } = await pool.query("select to_regclass('public.migrations') as found");
    if (rows[0]?.found) throw new Problem('conflict', 'The database of DATABASE_URL is not empty; give an empty one.');
  } finally {
    await pool.end();
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
  // Asked for otherwise, a new one would be made.
  if (!data.hasSecretKeys()) throw new Problem('invalid-request', keyWords);
  return data.secretKeys();
}

async function fetchBackup(blobs: Blobs, wanted: string | undefined, scratch: string) {
  const there = await platformBackups(blobs);
  const name = wanted ?? there[0];
  if (name === undefined || !there.includes(name))
    throw new Problem('not-found', `There is no ${wanted ?? 'backup of a platform'} in the places of OFFSHOOT_BACKUPS, or of --from.`);
  console.log(`Restoring ${name}`);
  await rm(scratch, { recursive: true, force: true });
  const parts: Part[] = [databasePart, ...folderParts].map((part) => ({ name: part, folder: join(scratch, part) }));
  for (const { folder } of parts) await mkdir(folder, { recursive: true, mode: 0o700 });
  const stored = { backup: name, parts: parts.map((part) => part.name), places: {}, bytes: 0, bytesAdded: 0 };
  await blobs.restore(platformRepository, stored, parts);
}

async function bringBack(config: Config, secrets: Secrets, scratch: string) {
  const postgres = config.databaseUrl === undefined ? await openEmbeddedPostgres(join(config.data, 'postgres')) : undefined;
  const pool = openPool(config.databaseUrl ?? postgres?.url ?? '');
  const db = openDatabase(pool);
  try {
    await loadDatabase(pool, db, join(scratch, databasePart), join(import.meta.dirname, '..', 'server', 'migrations'));
    for (const folder of folderParts) {
      await rm(join(config.data, folder), { recursive: true, force: true });
      await rename(join(scratch, folder), join(config.data, folder));
      await mkdir(join(scratch, folder));
    }
    const volumes = await volumesHere(config);
    const blobs = blobsAt(config, config.backups, secrets);
    const settled = await settleRestored({ db, secrets, blobs, config, volumes, say: (line) => console.log(line) });
    for (const environment of settled) console.log(lineOf(environment));
  } finally {
    await db.destroy();
    await postgres?.stop();
  }
}

/** Volumes may be on a disk of their own, which survived. */
async function volumesHere(config: Config): Promise<ReadonlySet<string>> {
  if (!existsSync(config.volumes ?? join(config.data, 'volumes'))) return new Set();
  const volumes = await openVolumes(config, (sentence) => console.error(sentence));
  const names = (await volumes.list()).map(({ name }) => name);
  await volumes.close();
  return new Set(names);
}

function lineOf({ project_id, environment_id, outcome, backup }: Settled): string {
  const outcomes = {
    kept: 'its volumes are on this machine',
    restoring: `its data is gone with the machine, and comes back from backup ${backup} when the platform starts`,
    empty:
      backup === undefined
        ? 'its data is gone with the machine, and there is no backup; it is inactive, and starts empty when somebody activates it'
        : `its data is gone with the machine; it is inactive, and backup ${backup} can be restored`,
  };
  return `${project_id} ${environment_id}: ${outcomes[outcome]}`;
}
