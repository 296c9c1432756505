/**
 * What is kept before a program is replaced by another, so that it can be taken back: the whole database, the settings and the unit files. The platform is stopped
 * meanwhile, so nothing that was answered is missing in it.
 *
 *     <data>/upgrades/<time>-<version>/database/         as in a backup of the platform
 *     <data>/upgrades/<time>-<version>/offshoot.env      and the unit files beside it
 */
import { existsSync, globSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../../server/config.ts';
import { run } from '../../server/drivers/command.ts';
import {
  beginRestoring,
  dumpDatabase,
  dumpedMigrations,
  endRestoring,
  loadDatabase,
  stateOfDatabase,
} from '../../server/rooms/recovery/public.ts';
import { withPlainDatabase } from '../database.ts';
import { type ServicePaths, programFolder } from './service-paths.ts';
import type { Service } from './service.ts';
import { environmentsUnit, platformUnit } from './unit-files.ts';

const keptMax = 3;
const databaseFolder = 'database';
const unitNames = [platformUnit, environmentsUnit];

export const upgradesFolder = ({ data }: Pick<Config, 'data'>) => join(data, 'upgrades');

/** Whole or absent: it appears by a rename. */
export async function keepState(paths: ServicePaths, config: Config, folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const scratch = `${folder}.new`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(join(scratch, databaseFolder), { recursive: true, mode: 0o700 });
  await withPlainDatabase(config, async (_, db) => {
    await dumpDatabase(db, join(scratch, databaseFolder));
  });
  const files = [paths.settings, ...unitNames.map((name) => join(paths.units, name))];
  for (const file of files) await copyFile(file, join(scratch, basename(file)));
  await run('sync', ['--', ...globSync(`${scratch}/**`)]);
  await rename(scratch, folder);
}

/** Puts the database back as it was, with the migrations that it had; can be begun again when it was interrupted. */
export const putBackDatabase = (paths: ServicePaths, config: Config, folder: string, version: string): Promise<void> =>
  withPlainDatabase(config, async (pool, db) => {
    await beginRestoring(db);
    await loadDatabase(pool, db, join(folder, databaseFolder), join(programFolder(paths, version), 'server', 'migrations'));
    await endRestoring(db);
  });

export async function putBackUnits({ paths, manager }: Service, folder: string): Promise<void> {
  for (const name of unitNames) await copyFile(join(folder, name), join(paths.units, name));
  await manager.reload();
}

/** Whether the database has other migrations than it had then, or putting it back was interrupted. */
export async function hasChangedSince(config: Config, folder: string): Promise<boolean> {
  const then = await dumpedMigrations(join(folder, databaseFolder));
  const now = (await appliedMigrations(config))?.map(({ name }) => name);
  return now === undefined || JSON.stringify(now) !== JSON.stringify(then);
}

export interface AppliedMigration {
  name: string;
  hash: string;
}

/** The migrations of the database, in their order; undefined where filling it was interrupted. */
export async function appliedMigrations(config: Config): Promise<AppliedMigration[] | undefined> {
  let applied: AppliedMigration[] | undefined;
  await withPlainDatabase(config, async (pool, db) => {
    if ((await stateOfDatabase(db)) !== 'in use') return;
    applied = (await pool.query<AppliedMigration>('select name, hash from migrations order by name')).rows;
  });
  return applied;
}

/** Removes the oldest states, and keeps those that somebody may still want back. */
export async function removeOldStates(config: Config, kept: string): Promise<void> {
  const folder = upgradesFolder(config);
  const names = (await readdir(folder)).toSorted();
  for (const name of names.slice(0, -keptMax))
    if (join(folder, name) !== kept) await rm(join(folder, name), { recursive: true, force: true });
}
