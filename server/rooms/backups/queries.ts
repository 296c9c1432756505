/** What is written down about backups. Whatever is large, or secret, is read only by those who restore. */
import { sql, type RawBuilder } from 'kysely';
import type { Stored } from '../../drivers/blobs/blobs.ts';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { parseStack, type Stack } from '../deployments/public.ts';
import { backupState, backupsThat, becoming, type BackupState } from './life-cycle.ts';
import type { BackupPart } from './parts.ts';
import { UnreadableBackup } from './unreadable-backup.ts';

/** A backup, as the API tells of it. */
export interface Backup {
  id: string;
  created_at: string;
  updated_at: string;
  attributes: unknown;
  status: 'CREATED' | 'DELETING';
  expires_at: string | null;
  index: number | null;
  commit_id: string;
  /** The environment that it was made of. */
  environment: string;
  safe: boolean;
  /** In MB. */
  size_of_volumes: number | null;
  size_used: number | null;
  size_object_storage: number | null;
  deployment: string | null;
  restorable: boolean;
  automated: boolean;
  is_damaged: boolean;

  /** The project and organization that it belongs to; not part of replies. */
  project_id: string;
  organization_id: string;
  /** The type of the environment: when the backup was made, and now. */
  environment_type: EnvironmentType;
  environment_type_now: EnvironmentType;
  state: BackupState;
  /** An activity is about to delete it, or to restore it. */
  is_being_deleted: boolean;
  is_being_restored: boolean;
}

/** What it takes to restore a backup. */
export interface BackupContent {
  stack: Stack;
  parts: BackupPart[];
  /** Null where not all of the backup is in the store. */
  stored: Stored | null;
}

const stackPurpose = (id: string) => `stack of backup ${id}`;

/** One statement, however many backups there are. */
async function backupsWhere(db: Db | Tx, projectId: string, condition: RawBuilder<unknown>): Promise<Backup[]> {
  const { rows } = await sql<Backup>`
    with worked_on as (
      select type, payload ->> 'backup_name' as id from activities
      where project_id = ${projectId} and ${activitiesThat('beOpen')} and type in ('environment.backup.delete', 'environment.restore'))
    select backups.id, backups.created_at, backups.updated_at, backups.attributes, backups.status, backups.expires_at, backups.index,
      backups.commit_id, backups.environment_id as environment, backups.safe, backups.size_of_volumes, backups.size_used,
      backups.size_object_storage, backups.deployment, ${backupsThat('restore')} as restorable, backups.automated, backups.damaged_at is not null as is_damaged, backups.project_id,
      projects.organization_id, backups.environment_type, environments.type as environment_type_now, ${backupState} as state,
      backups.id in (select id from worked_on where type = 'environment.backup.delete' and id is not null) as is_being_deleted,
      backups.id in (select id from worked_on where type = 'environment.restore' and id is not null) as is_being_restored
    from backups join projects on projects.id = backups.project_id and projects.status <> 'deleted'
    join environments on environments.project_id = backups.project_id and environments.id = backups.environment_id
    where backups.project_id = ${projectId} and ${backupsThat('list')} and ${condition}
    order by backups.created_at desc, backups.id desc`.execute(db);
  return rows;
}

/** The backups of an environment, newest first. */
export const backupsOf = (db: Db | Tx, projectId: string, environmentId: string): Promise<Backup[]> =>
  backupsWhere(db, projectId, sql`backups.environment_id = ${environmentId}`);

export const backupById = async (db: Db | Tx, projectId: string, environmentId: string, id: string): Promise<Backup | undefined> =>
  (await backupsWhere(db, projectId, sql`backups.environment_id = ${environmentId} and backups.id = ${id}`))[0];

/** The content of a backup, even of one whose environment or project is gone. */
export async function backupContent(db: Db | Tx, secrets: Secrets, id: string): Promise<BackupContent | undefined> {
  const { rows } = await sql<{ stack_sealed: string; parts: BackupPart[]; stored: Stored | null }>`
    select stack_sealed, parts, stored from backups where id = ${id} and ${backupsThat('list')}`.execute(db);
  const [row] = rows;
  return row && { stack: openedStack(secrets, id, row.stack_sealed), parts: row.parts, stored: row.stored };
}

/** Throws UnreadableBackup where the stack makes no sense here: it may come from another installation, or from another version. */
export const openedStack = (secrets: Secrets, id: string, sealed: string): Stack =>
  fitStack(`The backup ${id}`, unsealed(secrets, id, sealed));

function unsealed(secrets: Secrets, id: string, sealed: string): unknown {
  try {
    return JSON.parse(secrets.open(stackPurpose(id), sealed));
  } catch (cause) {
    throw new UnreadableBackup(
      `The backup ${id}`,
      'its stack was not sealed by this installation, or with a key that it does not have any more',
      cause,
    );
  }
}

export function fitStack(what: string, value: unknown): Stack {
  const parsed = parseStack(value);
  if ('flaw' in parsed) throw new UnreadableBackup(what, `in its stack ${parsed.flaw}`);
  return parsed.stack;
}

export const sealedStack = (secrets: Secrets, id: string, stack: Stack): string => secrets.seal(stackPurpose(id), JSON.stringify(stack));

export interface NewBackup {
  id: string;
  stack: Stack;
  safe: boolean;
  /** When an automated backup was due; null where somebody asked for it. */
  slot: { at: string; index: number } | null;
  activity_id: string | null;
}

/** Inserts the row of a backup that does not exist anywhere yet. */
export async function insertBackup(tx: Tx, secrets: Secrets, { id, stack, safe, slot, activity_id }: NewBackup): Promise<void> {
  await tx
    .insertInto('backups')
    .values({
      id,
      project_id: stack.project.id,
      environment_id: stack.environment.id,
      environment_type: stack.environment.type,
      safe,
      automated: slot !== null,
      index: slot?.index ?? null,
      slot_at: slot?.at ?? null,
      commit_id: stack.commit_id,
      deployment: stack.deployment.id,
      stack_sealed: sealedStack(secrets, id, stack),
      activity_id,
    })
    .execute();
}

/** From here on nobody sees the backup; what is left of it is removed (remove-old-backups.ts). */
export const abandonBackup = async (db: Db | Tx, id: string): Promise<void> =>
  void (await sql`update backups set ${becoming('giveUp')} where id = ${id} and ${backupsThat('giveUp')}`.execute(db));

export interface MadeBackup {
  id: string;
  stored: Stored;
  parts: readonly BackupPart[];
  /** In MB. */
  size_of_volumes: number;
  size_used: number;
  /** The moment whose data the backup holds. */
  taken_at: string;
}

/** To be called once the backup was read back: from here on it can be restored. */
export async function makeRestorable(tx: Tx, { id, stored, parts, size_of_volumes, size_used, taken_at }: MadeBackup): Promise<void> {
  await sql`with made as (
      update backups set ${becoming('finish')}, stored = ${JSON.stringify(stored)}::jsonb, parts = ${JSON.stringify(parts)}::jsonb,
        size_of_volumes = ${size_of_volumes}, size_used = ${size_used}, size_object_storage = 0, created_at = ${taken_at}::timestamptz
      where id = ${id} and ${backupsThat('finish')} returning project_id, environment_id, created_at)
    update environments set last_backup_at = greatest(last_backup_at, made.created_at) from made
    where environments.project_id = made.project_id and environments.id = made.environment_id`.execute(tx);
}

/**
 * The last backup of the environment, or else the last of its parent from before the branch, as most of that data is in the store already. A later one of the
 * parent does not count: files that both have changed since may look the same and differ.
 */
export async function storedBefore(db: Db | Tx, projectId: string, environmentId: string): Promise<Stored | undefined> {
  const { rows } = await sql<{ stored: Stored }>`
    select stored from backups
    left join environments on environments.project_id = backups.project_id and environments.id = ${environmentId}
    where backups.project_id = ${projectId} and backups.environment_id in (${environmentId}, environments.parent)
      and (backups.environment_id = ${environmentId} or backups.created_at < environments.created_at)
      and ${backupsThat('restore')}
    order by backups.environment_id = ${environmentId} desc, backups.created_at desc limit 1`.execute(db);
  return rows[0]?.stored;
}

/** False where the backup is being deleted or restored, or is not whole yet. */
export async function markDeleting(tx: Tx, projectId: string, id: string): Promise<boolean> {
  const { rows } = await sql`update backups set ${becoming('delete')}
    where project_id = ${projectId} and id = ${id} and ${backupsThat('delete')}
      and not exists (select from activities where activities.project_id = ${projectId} and ${activitiesThat('beOpen')}
        and type in ('environment.backup.delete', 'environment.restore') and payload ->> 'backup_name' = ${id})
    returning id`.execute(tx);
  return rows.length > 0;
}

/** Notes the activity that will delete the backup. Where that is cancelled before it begins, the backup stays. */
export const noteDeletion = async (tx: Tx, id: string, deletionId: string): Promise<void> =>
  void (await sql`update backups set deletion_id = ${deletionId} where id = ${id}`.execute(tx));

export const removeRows = async (db: Db | Tx, ids: readonly string[]): Promise<void> =>
  void (await sql`delete from backups where id = any(${ids}) and ${backupsThat('remove')}`.execute(db));
