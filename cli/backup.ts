/** Backups, for the operator at the machine: what there is, whether it is whole, as one file for elsewhere, and of the platform itself. */
import { join } from 'node:path';
import { backupPlaces, ConfigError, readConfig, type Config } from '../server/config.ts';
import { shareDataFolder } from '../server/data-folder.ts';
import type { Blobs } from '../server/drivers/blobs/blobs.ts';
import { blobsFolder, openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import type { BackupPlace } from '../server/drivers/blobs/places.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import type { Db } from '../server/kernel/sql.ts';
import { allBackups, type ListedBackup } from '../server/rooms/backups/room.ts';
import { backUpPlatform, platformBackups, platformRepository } from '../server/rooms/recovery/room.ts';
import { withDatabase } from './database.ts';

export interface Kept {
  config: Config;
  db: Db;
  secrets: Secrets;
  blobs: Blobs;
}

/** Beside a running platform, or without one. */
export const withBackups = (work: (kept: Kept) => Promise<void>, places?: readonly BackupPlace[]) => {
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    const secrets = openSecrets(secretKeysOf(config));
    const blobs = openBlobs({ folder: blobsFolder(config.data), places: places ?? config.backups, secrets });
    await work({ config, db, secrets, blobs });
  });
};

const secretKeysOf = (config: Config) => config.secretKeys ?? shareDataFolder(config.data).secretKeys();

export const listBackups = ([project]: string[]) =>
  withBackups(async ({ db, blobs }) => {
    const rows = (await allBackups(db, project)).map((backup) => [
      backup.id,
      backup.project_id,
      backup.environment_id,
      backup.created_at.slice(0, 19),
      stateOf(backup),
      backup.automated ? 'automated' : 'by hand',
      backup.size_used === null ? '' : `${backup.size_used} MB`,
      backup.places.join(', '),
    ]);
    if (rows.length > 0) console.log(table([['backup', 'project', 'environment', 'made', 'state', 'how', 'size', 'where'], ...rows]));
    else console.log('There are no backups of environments.');
    if (project !== undefined) return;
    const [newest] = await platformBackups(blobs);
    console.log(`\nThe platform itself: ${newest === undefined ? 'no backup yet; make one with ./offshoot backup platform' : newest}`);
  });

const stateOf = ({ status, restorable }: ListedBackup) =>
  status === 'DELETING' ? 'being deleted' : restorable ? 'restorable' : 'being made';

function table(rows: readonly string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** All, those of a project, or one; and of the platform, where all are asked for. */
export const verifyBackups = ([which]: string[]) =>
  withBackups(async ({ db, blobs }) => {
    const wanted = (await allBackups(db)).filter(({ id, project_id }) => which === undefined || id === which || project_id === which);
    if (which !== undefined && wanted.length === 0)
      throw new Problem('not-found', `There is no backup, and no project with backups, of the name ${which}.`);
    let failures = 0;
    const verify = async (title: string, work: () => Promise<void>) => {
      try {
        await work();
        console.log(`${title}  ok`);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        failures += 1;
        console.log(`${title}  ${error.message}`);
      }
    };
    for (const { id, project_id, environment_id, stored } of wanted)
      if (stored) await verify(`${id}  ${project_id}  ${environment_id}`, () => blobs.verify(project_id, stored));
    if (which === undefined)
      for (const backup of await platformBackups(blobs))
        await verify(backup, () => blobs.verify(platformRepository, { backup, parts: [], places: {}, bytes: 0, bytesAdded: 0 }));
    if (failures > 0) throw new Problem('unavailable', `${failures} of the copies that were read are not whole.`);
  });

export const backUpThePlatform = (to: string | undefined) =>
  withBackups(
    async ({ config, db, blobs }) => {
      const { backup, bytes, places } = await backUpPlatform({ db, blobs, data: config.data });
      console.log(`${backup}: ${(bytes / 2 ** 20).toFixed(1)} MB are in ${Object.keys(places).join(', ')}, and were read back.`);
      console.log('Nobody can open it without the key of this installation: ./offshoot backup key shows it. Keep that somewhere else.');
    },
    to === undefined ? undefined : placesOf(to),
  );

export function placesOf(text: string): readonly BackupPlace[] {
  try {
    return backupPlaces(text);
  } catch (error) {
    if (error instanceof ConfigError) throw new Problem('invalid-request', `A place should be ${error.message}.`);
    throw error;
  }
}

/** To be kept apart from the backups. */
export function showKey(): Promise<void> {
  const config = readConfig(process.env);
  console.error(
    `Whoever has this, and the places of the backups, can read everything of this installation (${join(config.data, 'secret-key')}):`,
  );
  console.log(
    secretKeysOf(config)
      .map((key) => key.toString('base64'))
      .join(','),
  );
  return Promise.resolve();
}
