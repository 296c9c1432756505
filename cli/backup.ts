/** Backups, for the operator at the machine: what there is, whether it is whole, what becomes of a store that is not, as one file for elsewhere, and of the platform itself. */
import { join } from 'node:path';
import { readConfig, type Config } from '../server/config.ts';
import { backupPlaces, ConfigError } from '../server/setting-values.ts';
import { shareDataFolder } from '../server/data-folder.ts';
import type { Blobs } from '../server/drivers/blobs/blobs.ts';
import { blobsFolder, openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import type { BackupPlace } from '../server/drivers/blobs/places.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import type { Db } from '../server/kernel/sql.ts';
import { backupLife } from '../server/rooms/backups/life-cycle.ts';
import { allBackups, type ListedBackup } from '../server/rooms/backups/public.ts';
import { broughtBackLine, noteVerdict, repairedLine, repairStore, verdictOn } from '../server/rooms/backups/work.ts';
import { projectById } from '../server/rooms/projects/public.ts';
import {
  backUpPlatform,
  forgetOldPlatformBackups,
  platformBackups,
  platformRepository,
  removeLeftScratch,
  repairPlatformBackups,
  storedPlatform,
} from '../server/rooms/recovery/public.ts';
import { withDatabase } from './database.ts';

export interface Kept {
  config: Config;
  db: Db;
  secrets: Secrets;
  blobs: Blobs;
}

/** Works beside a running platform, or without one. */
export const withBackups = (work: (kept: Kept) => Promise<void>, places?: readonly BackupPlace[]) => {
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    const secrets = openSecrets(secretKeysOf(config));
    const blobs = openBlobs({ folder: blobsFolder(config.data), places: places ?? config.backups, secrets });
    await work({ config, db, secrets, blobs });
  });
};

export const secretKeysOf = (config: Config) => config.secretKeys ?? shareDataFolder(config.data).secretKeys();

export const listBackups = ([project]: string[]) =>
  withBackups(async ({ db, blobs }) => {
    const rows = (await allBackups(db, project)).map((backup) => [
      backup.id,
      backup.project_id,
      backup.environment_id,
      backup.created_at.slice(0, 19),
      words[backup.state],
      backup.automated ? 'automated' : 'by hand',
      backup.size_used === null ? '' : `${backup.size_used} MB`,
      backup.places.join(', '),
    ]);
    if (rows.length === 0 && project !== undefined && !(await projectById(db, project)))
      throw new Problem('not-found', `There is no project ${project}, and there are no backups of one.`);
    if (rows.length > 0) console.log(table([['backup', 'project', 'environment', 'made', 'state', 'how', 'size', 'where'], ...rows]));
    else console.log('There are no backups of environments.');
    for (const { problem } of await blobs.places()) if (problem !== undefined) console.log(`\nW: ${problem}`);
    if (project !== undefined) return;
    const [newest] = await platformBackups(blobs);
    console.log(`\nThe platform itself: ${newest === undefined ? 'no backup yet; make one with ./offshoot backup platform' : newest}`);
  });

const words: Record<ListedBackup['state'], string> = {
  making: 'being made',
  restorable: 'restorable',
  damaged: 'damaged',
  deleting: 'being deleted',
  deletingDamaged: 'being deleted',
  abandoned: 'gone',
};

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

/** Verifies all backups, those of a project, or one; those of the platform too, where all are asked for. */
export const verifyBackups = ([which]: string[]) =>
  withBackups(async (kept) => {
    const wanted = (await allBackups(kept.db)).filter(({ id, project_id }) => which === undefined || id === which || project_id === which);
    if (which !== undefined && which !== platformRepository && wanted.length === 0)
      throw new Problem(
        'not-found',
        `There is neither a backup nor a project with backups called ${which}; ./offshoot backup list shows what there is.`,
      );
    let failures = 0;
    for (const backup of wanted) if (!(await verifyBackup(kept, backup))) failures += 1;
    const ofPlatform = which === undefined || which === platformRepository ? await platformBackups(kept.blobs) : [];
    if (wanted.length + ofPlatform.length === 0) console.log('There are no backups.');
    for (const backup of ofPlatform) if (!(await verifyPlatformBackup(kept, backup))) failures += 1;
    if (failures > 0)
      throw new Problem(
        'unavailable',
        `${failures} of the backups that were read are not whole in every place; ./offshoot backup repair brings back what another place has, and makes sure that the next ones are whole.`,
      );
  });

/** Says whether a backup is whole in every place, and has it offered for restoring from now on, or not. */
async function verifyBackup({ db, blobs }: Kept, { id, project_id, environment_id, state, stored }: ListedBackup): Promise<boolean> {
  // While a backup is being made or deleted, some of it is missing as a matter of course.
  if (!stored || !backupLife.possible(state, 'keep')) return true;
  const copies = await blobs.inspect(project_id, stored);
  const verdict = verdictOn(copies);
  await noteVerdict(db, id, verdict);
  const problems = copies.flatMap(({ problem }) => problem?.message ?? []);
  const ok = backupLife.possible(state, 'restore') ? 'ok' : 'ok: it is whole again, and can be restored';
  const ending = {
    whole: problems.length === 0 ? ok : 'It can be restored from elsewhere.',
    damaged: 'It cannot be restored any more.',
    unknown: '',
  };
  console.log(`${id}  ${project_id}  ${environment_id}  ${[...problems, ending[verdict]].join(' ').trimEnd()}`);
  return problems.length === 0;
}

async function verifyPlatformBackup({ blobs }: Kept, backup: string): Promise<boolean> {
  const problems = (await blobs.inspect(platformRepository, storedPlatform(backup))).flatMap(({ problem }) => problem?.message ?? []);
  console.log(`${backup}  ${problems.length === 0 ? 'ok' : problems.join(' ')}`);
  return problems.length === 0;
}

/** Repairs what is stored of all projects and the platform, or of one. What one place lost comes back from another; what every place lost stays lost; backups made from now on are whole. */
export const repairBackups = ([which]: string[]) =>
  withBackups(async (kept) => {
    const projects = new Set((await allBackups(kept.db)).map(({ project_id }) => project_id));
    if (which !== undefined && which !== platformRepository && !projects.has(which))
      throw new Problem('not-found', `There is no project ${which} with backups; say platform for those of the platform itself.`);
    const failed: string[] = [];
    for (const repository of [...projects, platformRepository]) {
      if (which !== undefined && which !== repository) continue;
      console.log(`${repository}:`);
      try {
        for (const place of await kept.blobs.beginAgain(repository)) console.log(`  Begun anew at ${place}, which has none of it`);
        await (repository === platformRepository ? repairPlatform(kept) : repairStore(kept, repository, (line) => console.log(line)));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        failed.push(repository);
        console.log(`  ${error.message}`);
      }
    }
    if (failed.length > 0) throw new Problem('unavailable', `Not repaired: ${failed.join(', ')}.`);
  });

async function repairPlatform({ blobs }: Kept): Promise<void> {
  const { repaired, broughtBack } = await repairPlatformBackups(blobs);
  for (const line of [...repaired.map(repairedLine), ...broughtBack.map(broughtBackLine)]) console.log(`  ${line}`);
  const backups = (await platformBackups(blobs)).map(storedPlatform);
  for (const [backup, copies] of await blobs.survey(platformRepository, backups))
    if (verdictOn(copies) === 'damaged') console.log(`  W: ${backup} is damaged; it cannot be restored any more`);
}

export const backUpThePlatform = (to: string | undefined) =>
  withBackups(
    async ({ config, db, blobs }) => {
      if (to === undefined) await removeLeftScratch({ db, blobs, data: config.data });
      const { backup, bytes, places } = await backUpPlatform({ db, blobs, data: config.data }, { isElsewhere: to !== undefined });
      // In the configured places the platform forgets old backups by itself, every day.
      if (to !== undefined) await forgetOldPlatformBackups(blobs);
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

/** The key that operators keep apart from the backups. */
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
