import { sql, type Insertable, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { Problem } from '../../kernel/problem.ts';
import { orProblem, type Db, type Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { lineOf, nameIsTaken, type Usage } from '../variables/public.ts';

type OwnEnvironmentVariable = Selectable<Database['environment_variables']>;

export type StoredEnvironmentVariable = OwnEnvironmentVariable & {
  project: string;
  /** The environment that was asked about; `environment_id` is the one where the variable is kept. */
  environment: string;
  inherited: boolean;
  /** The ancestor that it comes from; null of its own. */
  inherited_from: string | null;
  organization_id: string;
  environment_type: EnvironmentType;
  environment_title: string;
  /** The type of the environment where the variable is kept. */
  origin_type: EnvironmentType;
};

/**
 * The variables of an environment, its own and inherited, or the one of that name. Of several with one name, the nearest counts as a whole. One that an
 * ancestor does not pass on is ignored, so that one further up may be seen. It takes one statement, at most over the variables of the project.
 */
export async function environmentVariables(
  db: Db | Tx,
  projectId: string,
  environmentId: string,
  name?: string,
): Promise<StoredEnvironmentVariable[]> {
  const { rows } = await sql<StoredEnvironmentVariable>`
    with ${lineOf(projectId, environmentId)}
    select distinct on (environment_variables.name) environment_variables.*, asked.project_id as project, asked.id as environment,
      line.distance > 0 as inherited, case when line.distance > 0 then line.id end as inherited_from, projects.organization_id, asked.type as environment_type, asked.title as environment_title,
      line.type as origin_type
    from environments asked
    join projects on projects.id = asked.project_id and projects.status <> 'deleted'
    join line on true
    join environment_variables on environment_variables.project_id = asked.project_id and environment_variables.environment_id = line.id
    where asked.project_id = ${projectId} and asked.id = ${environmentId} and (line.distance = 0 or environment_variables.is_inheritable)
      ${name === undefined ? sql`` : sql`and environment_variables.name = ${name}`}
    order by environment_variables.name, line.distance`.execute(db);
  return rows;
}

export async function environmentUsage(tx: Tx, projectId: string, environmentId: string): Promise<Usage> {
  const { rows } = await sql<Usage>`
    select count(*) filter (where environment_id = ${environmentId})::integer as count,
      coalesce(sum(octet_length(coalesce(value, value_sealed))), 0)::integer as bytes
    from environment_variables where project_id = ${projectId}`.execute(tx);
  return rows[0] ?? { count: 0, bytes: 0 };
}

/** The Problem for each constraint by which the database may refuse a row. */
const refusals = {
  environment_variables_pkey: nameIsTaken,
  environment_variables_project_id_environment_id_fkey: () => new Problem('not-found', 'No such environment.'),
};

export const insertEnvironmentVariable = (tx: Tx, row: Insertable<Database['environment_variables']>) =>
  orProblem(tx.insertInto('environment_variables').values(row).returningAll().executeTakeFirstOrThrow(), refusals);

const now = sql<string>`clock_timestamp()`;

export const updateEnvironmentVariable = (
  tx: Tx,
  name: string,
  { project_id, environment_id, ...row }: Insertable<Database['environment_variables']>,
) =>
  orProblem(
    tx
      .updateTable('environment_variables')
      .set({ ...row, updated_at: now })
      .where('project_id', '=', project_id)
      .where('environment_id', '=', environment_id)
      .where('name', '=', name)
      .returningAll()
      .executeTakeFirstOrThrow(),
    refusals,
  );

export const deleteEnvironmentVariable = (tx: Tx, projectId: string, environmentId: string, name: string) =>
  tx
    .deleteFrom('environment_variables')
    .where('project_id', '=', projectId)
    .where('environment_id', '=', environmentId)
    .where('name', '=', name)
    .returning('name')
    .executeTakeFirst();
