/**
 * What was allocated to whom, from when until when. Whoever gives something out notes it in the transaction that does so, and notes its end likewise; what is
 * open counts as allocated also while the platform is off, because what runs goes on running.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';

export const allocatedKinds = ['app', 'worker', 'service', 'task', 'build', 'backups'] as const;
export type AllocatedKind = (typeof allocatedKinds)[number];

export interface Allocated {
  /** The name of the app, worker, service or task; empty where it is none of them. */
  service: string;
  kind: AllocatedKind;
  /** CPUs. */
  cpu: number;
  /** MB. */
  memory: number;
  /** MB. */
  disk: number;
}

export interface Holder {
  projectId: string;
  /** The environment's machine name; empty: the project as a whole. */
  environment: string;
  /** `deployment`, `backups`, `task <activity>` or `build <name>`: has one allocation at a time. */
  subject: string;
}

export interface Allocation extends Holder {
  /** Something that changes whenever the amounts do. */
  version: string;
  amounts: readonly Allocated[];
}

const openOf = ({ projectId, environment, subject }: Holder) =>
  sql`project_id = ${projectId} and environment = ${environment} and subject = ${subject} and until is null`;

/** From now on the holder has these amounts, and no others. Noting the same again changes nothing. */
export async function noteAllocated(db: Db | Tx, allocation: Allocation): Promise<void> {
  const { projectId, environment, subject, version, amounts } = allocation;
  const { rows } = await sql<{ until: string }>`
    update allocations set until = greatest(since, clock_timestamp()) where ${openOf(allocation)} and version <> ${version}
    returning until::text`.execute(db);
  await sql`
    insert into allocations (organization_id, project_id, environment, subject, version, amounts, since)
    select organization_id, ${projectId}, ${environment}, ${subject}, ${version}, ${JSON.stringify(amounts)}::jsonb,
      coalesce(${rows[0]?.until ?? null}::timestamptz, clock_timestamp())
    from projects where id = ${projectId}
    on conflict (project_id, environment, subject) where until is null do nothing`.execute(db);
}

export const endAllocated = (db: Db | Tx, holder: Holder) =>
  sql`update allocations set until = greatest(since, clock_timestamp()) where ${openOf(holder)}`.execute(db);

/** A task is known by the activity that runs it, also when its environment is gone. */
export const endTask = (db: Db | Tx, activityId: string) =>
  sql`update allocations set until = greatest(since, clock_timestamp()) where subject = ${taskSubject(activityId)} and until is null`.execute(
    db,
  );

export const buildSubject = (name: string) => `build ${name}`;
export const taskSubject = (activityId: string) => `task ${activityId}`;
export const deploymentSubject = 'deployment';
export const backupsSubject = 'backups';
