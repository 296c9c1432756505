/**
 * What was deployed in an environment, and can be made current again as long as its slugs are kept (rooms/builds collects them). Only so many rows are
 * kept: a stack is large, and nobody goes back that far.
 */
import { sql, type RawBuilder } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { areSlugsKept } from '../builds/public.ts';
import { deploymentLife } from './life-cycle.ts';

export interface EarlierDeployment {
  id: string;
  number: number;
  commit: string;
  created_at: string;
  is_current: boolean;
  can_rollback: boolean;
  /** Who started the deployment, and by which activity; null where the activity is gone. */
  user: { id: string; display_name: string } | null;
  text: string | null;
  activity: string | null;

  /** The environment that the deployment belongs to; not part of replies. */
  project_id: string;
  environment_id: string;
  organization_id: string;
  type: EnvironmentType;
}

/** How many earlier deployments of an environment are kept, counting only those that came to run, and leaving out those that only scaled it. The current one is always kept. */
const keptMax = 50;

async function found(db: Db | Tx, projectId: string, environmentId: string, condition: RawBuilder<unknown>): Promise<EarlierDeployment[]> {
  const { rows } = await sql<EarlierDeployment>`
    select deployments.id, number, commit_id as commit, deployments.created_at, ${deploymentLife.sqlPossible('deployments.status', 'run')} as is_current,
      ${deploymentLife.sqlPossible('deployments.status', 'rollBackTo')} and ${areSlugsKept('deployments')} as can_rollback,
      activities.payload -> 'user' as "user", activities.text, activities.id as activity,
      deployments.project_id, deployments.environment_id, projects.organization_id, environments.type
    from deployments
    join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    join projects on projects.id = deployments.project_id
    left join activities on activities.id = deployments.activity_id
    where deployments.project_id = ${projectId} and deployments.environment_id = ${environmentId}
      and ${deploymentLife.sqlPossible('deployments.status', 'show')} and ${condition}
      and (not is_scaling or ${deploymentLife.sqlPossible('deployments.status', 'run')})
    order by number desc limit ${keptMax + 1}`.execute(db);
  return rows;
}

/** The deployments of an environment, newest first, the current one included. */
export const earlierDeployments = (db: Db | Tx, projectId: string, environmentId: string): Promise<EarlierDeployment[]> =>
  found(db, projectId, environmentId, sql`true`);

/** Finds a deployment by its id, or by its number. */
export const earlierDeployment = async (
  db: Db | Tx,
  projectId: string,
  environmentId: string,
  name: string,
): Promise<EarlierDeployment | undefined> =>
  (await found(db, projectId, environmentId, sql`(deployments.id = ${name} or number::text = ${name})`))[0];

/** The deployment to roll back to. Where none is named, it is the one that ran before the current code was first deployed. */
export async function rollbackTarget(tx: Tx, projectId: string, environmentId: string, name?: string): Promise<EarlierDeployment> {
  const target =
    name === undefined ? await codeBefore(tx, projectId, environmentId) : await earlierDeployment(tx, projectId, environmentId, name);
  if (!target)
    throw new Problem(
      'conflict',
      name === undefined
        ? 'This environment has no older deployment whose builds are kept; name the deployment to roll back to.'
        : `There is no deployment ${name} of this environment any more; name one that is listed.`,
    );
  if (target.is_current) throw new Problem('conflict', `Deployment ${target.number} is already what runs; name another one.`);
  if (!target.can_rollback)
    throw new Problem('conflict', `The builds of deployment ${target.number} are not kept any more; push its commit.`);
  return target;
}

async function codeBefore(tx: Tx, projectId: string, environmentId: string): Promise<EarlierDeployment | undefined> {
  const older = sql`number < (
    select min(same.number) from deployments as same join deployments as now
      on now.project_id = same.project_id and now.environment_id = same.environment_id and ${deploymentLife.sqlPossible('now.status', 'run')}
    where same.project_id = ${projectId} and same.environment_id = ${environmentId} and same.commit_id = now.commit_id
      and ${deploymentLife.sqlPossible('same.status', 'show')})`;
  return (await found(tx, projectId, environmentId, older)).find((deployment) => deployment.can_rollback);
}

/** After this time, whatever a failed deployment left on the machine has long been collected. */
const prunedAfterHours = 24;

/** Forgets deployments beyond `keptMax`, and old ones that failed or only scaled. */
export const pruneDeployments: Reconciler = {
  name: 'prune deployments',
  everySeconds: 3600,
  run: async ({ db }) => {
    await sql`delete from deployments using (
        select id, row_number() over (partition by project_id, environment_id, is_scaling order by number desc) as position
        from deployments where ${deploymentLife.sqlPossible('status', 'prune')}) as old
      where deployments.id = old.id and (old.position > ${keptMax} or is_scaling)
        and deployments.updated_at < now() - make_interval(hours => ${prunedAfterHours}::integer)`.execute(db);
  },
};
