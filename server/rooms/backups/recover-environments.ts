/**
 * After the platform itself was restored: what the store has is compared with what is written down, and environments get back what they kept.
 */
import { sql } from 'kysely';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Blobs, Stored } from '../../drivers/blobs/blobs.ts';
import type { Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { actorById } from '../activities/public.ts';
import { environmentById } from '../environments/public.ts';
import { backupsThat } from './life-cycle.ts';
import { noteVerdict, verdictOn } from './damage.ts';
import { manifestPart, parseManifest, type Manifest } from './manifest.ts';
import { sizesOf } from './parts.ts';
import { openedStack } from './queries.ts';
import { startRestoring } from './restore-backup.ts';
import { UnreadableBackup } from './unreadable-backup.ts';
import type { Rest } from '../deployments/work.ts';

export interface Adopted {
  found: string[];
  damaged: string[];
  /** What is wrong with backups that are whole, and yet of no use here. */
  unfit: string[];
  missing: string[];
  /** Projects of whose backups none was found: they may be kept elsewhere. */
  away: string[];
}

interface Kept {
  db: Db;
  blobs: Blobs;
  secrets: Secrets;
}

/** Adopts backups that the database does not know, because they were made after it was backed up. Backups that the store does not have are damaged, for now. */
export async function adoptBackups({ db, blobs, secrets }: Kept, projectId: string): Promise<Adopted> {
  const adopted: Adopted = { found: [], damaged: [], unfit: [], missing: [], away: [] };
  const there = new Set(await blobs.list(projectId));
  const { rows } = await sql<{ id: string; is_wanted: boolean }>`
    select id, ${backupsThat('want')} as is_wanted from backups where project_id = ${projectId}`.execute(db);
  const known = new Set(rows.map(({ id }) => id));
  if (there.size === 0) return { ...adopted, away: rows.filter(({ is_wanted }) => is_wanted).map(({ id }) => id) };
  for (const id of there) {
    if (known.has(id)) continue;
    const { fate, word } = await adopt({ db, blobs, secrets }, projectId, id);
    adopted[fate].push(word);
  }
  // The missing ones may be in a place that cannot be reached for now: nothing of them is removed there when it is back.
  adopted.missing = rows.filter(({ id, is_wanted }) => is_wanted && !there.has(id)).map(({ id }) => id);
  for (const id of adopted.missing) await noteVerdict(db, id, 'damaged');
  return adopted;
}

interface Fate {
  fate: 'found' | 'damaged' | 'unfit';
  /** The name of the backup, or what is wrong with it. */
  word: string;
}

/** Inserts the row that the manifest describes. Nobody knows whether the backup was ever read back, so it is read back now. */
async function adopt({ db, blobs, secrets }: Kept, projectId: string, id: string): Promise<Fate> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-manifest-'));
  try {
    const unread: Stored = { backup: id, parts: [manifestPart.name], places: {}, bytes: 0, bytesAdded: 0 };
    const copies = await blobs.inspect(projectId, unread);
    if (verdictOn(copies) !== 'whole') return { fate: 'damaged', word: id };
    await blobs.restore(projectId, unread, [{ name: manifestPart.name, folder }]);
    const manifest = parseManifest(await readFile(join(folder, manifestPart.file), 'utf8'), { project: projectId, backup: id });
    openedStack(secrets, id, manifest.stack_sealed);
    const places = Object.fromEntries(copies.flatMap((copy) => (copy.id === undefined ? [] : [[copy.place, copy.id]])));
    await insertFound(db, manifest, { ...unread, places, parts: partNames(manifest), bytes: bytesOf(manifest) });
    return { fate: 'found', word: id };
  } catch (error) {
    if (error instanceof UnreadableBackup) return { fate: 'unfit', word: error.message };
    if (error instanceof Problem || (error instanceof Error && 'code' in error && error.code === 'ENOENT'))
      return { fate: 'damaged', word: id };
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const partNames = ({ parts }: Manifest) => [...parts.map(({ name }) => name), manifestPart.name];
const bytesOf = ({ parts }: Manifest) => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** Inserts a backup that was made elsewhere, or that the database does not know; all of it is in the store, and was read back. */
export async function insertFound(db: Db, manifest: Manifest, stored: Stored): Promise<void> {
  const {
    backup,
    project,
    parts,
    environment,
    environment_type,
    safe,
    automated,
    commit_id,
    deployment,
    stack_sealed,
    created_at,
    origin,
  } = manifest;
  const { size_of_volumes, size_used } = sizesOf(parts);
  await sql`insert into backups (id, project_id, environment_id, environment_type, restorable, safe, automated, commit_id, deployment, stack_sealed, parts,
      stored, size_of_volumes, size_used, size_object_storage, created_at, origin)
    values (${backup}, ${project}, ${environment}, ${environment_type}, true, ${safe}, ${automated}, ${commit_id}, ${deployment}, ${stack_sealed},
      ${JSON.stringify(parts)}::jsonb, ${JSON.stringify(stored)}::jsonb, ${size_of_volumes}, ${size_used}, 0,
      ${created_at}::timestamptz, ${origin ? JSON.stringify(origin) : null}::jsonb)
    on conflict (id) do nothing`.execute(db);
}

export interface NewestBackup {
  id: string;
  created_at: string;
  commit_id: string;
}

/** The newest backup of the environment itself; one that was brought from elsewhere only where it has none of its own. */
export async function newestBackup(db: Db | Tx, projectId: string, environmentId: string): Promise<NewestBackup | undefined> {
  const { rows } = await sql<NewestBackup>`
    select id, created_at, commit_id from backups where project_id = ${projectId} and environment_id = ${environmentId} and ${backupsThat('restore')}
    order by origin is null desc, created_at desc, id desc limit 1`.execute(db);
  return rows[0];
}

export interface Recovery {
  project_id: string;
  environment_id: string;
  backup: NewestBackup;
  /** How the environment rested, and is to rest afterwards; null where it is to run. */
  rest: Rest | null;
}

/** Starts the restore as if somebody had asked for it. */
export async function startRecovery(tx: Tx, domain: string, { project_id, environment_id, backup, rest }: Recovery): Promise<Activity> {
  const target = await environmentById(tx, domain, project_id, environment_id);
  if (!target) throw new Problem('not-found', `There is no environment ${environment_id} to restore.`);
  const actor = await actorById(tx, null);
  const wanted = { restoresCode: true, restoresSizes: true, init: 'backup', ...(rest !== null && { rest }) } as const;
  return startRestoring(tx, { ...backup, environment: environment_id }, target, wanted, actor);
}
