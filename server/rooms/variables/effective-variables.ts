/**
 * What an environment is deployed with. Of each name one variable counts, as a whole: its own, else that of the nearest ancestor that passes it on,
 * else the project's. If that one is disabled, the environment has no variable of the name, whatever else there is further away.
 * What runs the code of a fork has no sensitive variable of anybody else: its authors would read them.
 * Whether builds, running applications, or only some of them see it, is for whoever deploys: `visible_build`, `visible_runtime`, `application_scope`.
 *
 * One statement: a lookup by primary key for each ancestor, and ranges of primary keys for the variables, never more than those of the project.
 */
import { sql } from 'kysely';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { lineOf } from './queries.ts';
import { openedValue, type Stored } from './variable.ts';

export interface EffectiveVariable {
  name: string;
  /** The plain text, which must never be logged, nor shown where `is_sensitive`. */
  value: string;
  is_json: boolean;
  is_sensitive: boolean;
  visible_build: boolean;
  visible_runtime: boolean;
  application_scope: string[];
}

const columns = sql.raw(
  'project_id, name, value, value_sealed, is_json, is_sensitive, visible_build, visible_runtime, application_scope, attributes',
);

/** The variables of an environment, in the order of their names. */
export async function effectiveVariables(
  db: Db | Tx,
  secrets: Secrets,
  projectId: string,
  environmentId: string,
): Promise<EffectiveVariable[]> {
  const { rows } = await sql<Stored>`
    with ${lineOf(projectId, environmentId)},
    candidates as (
      select ${columns}, is_enabled, line.distance
      from line join environment_variables on project_id = ${projectId} and environment_id = line.id
      where line.distance = 0 or is_inheritable
      union all
      select ${columns}, true, null from project_variables where project_id = ${projectId}),
    nearest as (select distinct on (name) * from candidates order by name, distance nulls last)
    select ${columns} from nearest
    where is_enabled and (not is_sensitive or distance = 0 or not exists (
      select from line join environments on environments.project_id = ${projectId} and environments.id = line.id and environments.is_from_fork))
    order by name`.execute(db);
  return rows.map((row) => {
    const { name, is_json, is_sensitive, visible_build, visible_runtime, application_scope } = row;
    return { name, value: openedValue(secrets, row), is_json, is_sensitive, visible_build, visible_runtime, application_scope };
  });
}
