import { sql, type Insertable, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { Problem } from '../../kernel/problem.ts';
import { orProblem, type Db, type Tx } from '../../kernel/sql.ts';

/** Parents form a tree; should they ever form a circle, the way up ends here. */
const ancestorsMax = 1000;

/** An environment and its ancestors, nearest first: one lookup by primary key for each. */
export const lineOf = (projectId: string, environmentId: string) => sql`
  recursive line as (
    select id, parent, type, 0 as distance from environments where project_id = ${projectId} and id = ${environmentId}
    union all
    select environments.id, environments.parent, environments.type, line.distance + 1
    from line join environments on environments.project_id = ${projectId} and environments.id = line.parent
    where line.distance < ${ancestorsMax})`;

export type StoredProjectVariable = Selectable<Database['project_variables']> & { organization_id: string };

/** The variables of the project, or the one of that name. */
export async function projectVariables(db: Db | Tx, projectId: string, name?: string): Promise<StoredProjectVariable[]> {
  const { rows } = await sql<StoredProjectVariable>`
    select project_variables.*, projects.organization_id
    from project_variables join projects on projects.id = project_variables.project_id and projects.status <> 'deleted'
    where project_variables.project_id = ${projectId} ${name === undefined ? sql`` : sql`and project_variables.name = ${name}`}
    order by project_variables.name`.execute(db);
  return rows;
}

/** Until the transaction ends, nobody else changes variables of the project: what is read, checked and counted stays true. */
export const takeVariables = (tx: Tx, projectId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended('variables ' || ${projectId}, 0))`.execute(tx);

export interface Usage {
  count: number;
  /** How many bytes all variables of this level in the project take. */
  bytes: number;
}

/** Lengths are known without reading the values. */
export async function projectUsage(tx: Tx, projectId: string): Promise<Usage> {
  const { rows } = await sql<Usage>`
    select count(*)::integer as count, coalesce(sum(octet_length(coalesce(value, value_sealed))), 0)::integer as bytes
    from project_variables where project_id = ${projectId}`.execute(tx);
  return rows[0] ?? { count: 0, bytes: 0 };
}

export const nameIsTaken = () =>
  new Problem('conflict', 'There is a variable of this name already; change that one, or choose another name.', {
    fields: { name: 'is taken' },
  });

/** The Problem for each constraint by which the database may refuse a row. */
const refusals = { project_variables_pkey: nameIsTaken };

export const insertProjectVariable = (tx: Tx, row: Insertable<Database['project_variables']>) =>
  orProblem(tx.insertInto('project_variables').values(row).returningAll().executeTakeFirstOrThrow(), refusals);

const now = sql<string>`clock_timestamp()`;

export const updateProjectVariable = (tx: Tx, name: string, { project_id, ...row }: Insertable<Database['project_variables']>) =>
  orProblem(
    tx
      .updateTable('project_variables')
      .set({ ...row, updated_at: now })
      .where('project_id', '=', project_id)
      .where('name', '=', name)
      .returningAll()
      .executeTakeFirstOrThrow(),
    refusals,
  );

export const deleteProjectVariable = (tx: Tx, projectId: string, name: string) =>
  tx.deleteFrom('project_variables').where('project_id', '=', projectId).where('name', '=', name).returning('name').executeTakeFirst();
