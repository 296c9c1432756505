/**
 * What was allocated to whom, from when until when. Whoever gives something out notes it in the transaction that does so, and notes its end likewise; what is
 * open counts as allocated also while the platform is off, because what runs goes on running.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Allocated, Holder } from './allocated.ts';
import { noteHistory, type Cause } from './history.ts';

export interface Allocation extends Holder {
  /** Something that changes whenever the amounts do. */
  version: string;
  amounts: readonly Allocated[];
  /** Of a deployment. */
  cause?: Cause;
}

const openOf = ({ projectId, environment, subject }: Holder) =>
  sql`project_id = ${projectId} and environment = ${environment} and subject = ${subject} and until is null`;

/** From now on the holder has these amounts, and no others. Noting the same again changes nothing. */
export async function noteAllocated(db: Db | Tx, allocation: Allocation): Promise<void> {
  const { projectId, environment, subject, version, amounts, cause } = allocation;
  const { rows } = await sql<{ until: string }>`
    update allocations set until = greatest(since, clock_timestamp()) where ${openOf(allocation)} and version <> ${version}
    returning until::text`.execute(db);
  const { rows: noted } = await sql<{ since: string }>`
    insert into allocations (organization_id, project_id, environment, subject, version, amounts, since)
    select organization_id, ${projectId}, ${environment}, ${subject}, ${version}, ${JSON.stringify(amounts)}::jsonb,
      coalesce(${rows[0]?.until ?? null}::timestamptz, clock_timestamp())
    from projects where id = ${projectId}
    on conflict (project_id, environment, subject) where until is null do nothing returning since::text`.execute(db);
  const since = noted[0]?.since;
  if (since !== undefined && hasHistory(subject)) await noteHistory(db, allocation, amounts, since, cause);
}

export async function endAllocated(db: Db | Tx, holder: Holder): Promise<void> {
  const { rows } = await sql<{ until: string }>`
    update allocations set until = greatest(since, clock_timestamp()) where ${openOf(holder)} returning until::text`.execute(db);
  const until = rows[0]?.until;
  if (until !== undefined && hasHistory(holder.subject)) await noteHistory(db, holder, [], until);
}

/** A task is known by the activity that runs it, also when its environment is gone. */
export const endTask = (db: Db | Tx, activityId: string) =>
  sql`update allocations set until = greatest(since, clock_timestamp()) where subject = ${taskSubject(activityId)} and until is null`.execute(
    db,
  );

export const buildSubject = (name: string) => `build ${name}`;
export const taskSubject = (activityId: string) => `task ${activityId}`;
export const deploymentSubject = 'deployment';
export const backupsSubject = 'backups';

const hasHistory = (subject: string) => subject === deploymentSubject || subject === backupsSubject;
