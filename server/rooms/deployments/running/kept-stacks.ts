/** What should be on the machine, and whose it is: the questions of those who keep it so. */
import { sql, type RawBuilder } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Subject } from '../queries.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { deploymentLife } from '../life-cycle.ts';

/** An environment that has, or is about to have, something on the machine. */
export interface KeptStack {
  project_id: string;
  environment_id: string;
  machine_name: string;
  stack_id: string | null;
  status: Subject['status'];
  /** Whether nothing is to run until somebody asks for the environment. */
  is_sleeping: boolean;
  /** Production does not sleep: an environment that becomes production while it sleeps is woken. */
  is_production: boolean;
  /** Whether the environment was asleep, was asked for, and is not up yet. */
  is_waking: boolean;
  /** Whether it is written down that the environment could not be started. */
  has_failed: boolean;
  /** Whether an activity works on the environment, or is about to: nobody else touches it then. */
  is_busy: boolean;
  /** Whom the environment belongs to, from the outside in. */
  parties: string[];
}

/** Whether the environment's containers should run now. */
export const isToRun = ({ status, is_sleeping }: Pick<KeptStack, 'status' | 'is_sleeping'>) =>
  environmentLife.possible(status, 'serve') && !is_sleeping;

export const isBusy = sql<boolean>`exists (select from activity_lanes
  where activity_lanes.project_id = environments.project_id and lane in (environments.id, '') and is_open and not is_shared)`;

async function keptWhere(db: Db | Tx, condition: RawBuilder<unknown>): Promise<KeptStack[]> {
  const { rows } = await sql<KeptStack>`
    select project_id, id as environment_id, machine_name, stack_id, status, sleeping_since is not null as is_sleeping, type = 'production' as is_production, is_waking,
      start_failure is not null as has_failed, ${isBusy} as is_busy, array[outer_party, party] as parties
    from environments join parties using (project_id) where ${condition}
    order by row_number() over (partition by party order by project_id, id), party`.execute(db);
  return rows;
}

/** All environments with something on the machine. Organizations alternate, so that nobody waits for the many environments of one organization that do not start. */
export const keptStacks = (db: Db): Promise<KeptStack[]> => keptWhere(db, sql`stack_id is not null or ${isBusy}`);

/** One environment as it is now; undefined: it is gone. */
export const keptStack = async (db: Db | Tx, projectId: string, environmentId: string): Promise<KeptStack | undefined> =>
  (await keptWhere(db, sql`project_id = ${projectId} and id = ${environmentId}`))[0];

/** Whether anything was ever deployed. */
export const hasDeployments = async (db: Db): Promise<boolean> => {
  const { rows } = await sql`select from deployments limit 1`.execute(db);
  return rows.length > 0;
};

/** What the database knows of a stack: whether an environment has it, and whether an activity is at work on that environment. */
export interface KnownStack {
  is_claimed: boolean;
  is_busy: boolean;
}

export const knownStacks = async (db: Db): Promise<Map<string, KnownStack>> => {
  const { rows } = await sql<KnownStack & { stack_id: string }>`
    select deployments.stack_id, bool_or(${isBusy}) as is_busy,
      bool_or(environments.stack_id is not distinct from deployments.stack_id or ${deploymentLife.sqlPossible('deployments.status', 'prepare')} or ${isBusy}) as is_claimed
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    group by deployments.stack_id`.execute(db);
  return new Map(rows.map(({ stack_id, ...known }) => [stack_id, known]));
};
