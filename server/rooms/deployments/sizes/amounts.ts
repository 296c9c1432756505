/** Amounts of what a machine has to give: how they are counted, and said. */
import { sql } from 'kysely';
import { environmentLife } from '../../environments/life-cycle.ts';
import { deploymentLife } from '../life-cycle.ts';

/** CPUs, and MB of memory and disk. */
export type Amounts = Record<Kind, number>;
export type Kind = (typeof kinds)[number];
export const kinds = ['cpu', 'memory', 'disk'] as const;

export const names: Record<Kind, string> = { cpu: 'processors', memory: 'memory', disk: 'disk' };
export const inWords = (kind: Kind, amount: number) => (kind === 'cpu' ? `${rounded(amount)} CPU` : `${Math.ceil(amount)} MB`);
const rounded = (amount: number) => Math.round(amount * 100) / 100;

/** What running tasks of an environment have been given. */
const ofTasks = (kind: 'cpu' | 'memory') => sql`coalesce((
  select sum(${sql.ref(`running_tasks.${kind}`)}) from running_tasks
  where (running_tasks.project_id, running_tasks.environment_id) = (each_deployment.project_id, each_deployment.environment_id)), 0)`;

/** What each of the other environments that run, or are about to, has been given. One that is paused or asleep has only its disks. */
export const eachOther = (projectId: string, environmentId: string) => sql<Amounts & { project_id: string }>`
  select project_id, max(case when runs then cpu else 0 end) + ${ofTasks('cpu')} as cpu,
    max(case when runs then memory else 0 end) + ${ofTasks('memory')} as memory, max(disk) as disk
  from (
    select deployments.project_id, environment_id, cpu, memory, disk,
      ${deploymentLife.sqlPossible('deployments.status', 'prepare')}
        or (${environmentLife.sqlPossible('environments.status', 'serve')} and sleeping_since is null) as runs
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    where ${deploymentLife.sqlPossible('deployments.status', 'occupy')}
      and (deployments.project_id, environment_id) <> (${projectId}, ${environmentId})
  ) as each_deployment group by project_id, environment_id`;
