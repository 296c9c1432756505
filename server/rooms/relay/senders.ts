/**
 * Who sends: the environment whose network the connecting container is in. There are no credentials. A container is told by its address, which it cannot change, and
 * whoever pretended to have another one would not get the replies, which the kernel sends to the network of the real one.
 */
import { sql } from 'kysely';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import type { Db } from '../../kernel/sql.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { openOwners } from '../deployments/public.ts';

export interface MailSender {
  stackId: string;
  projectId: string;
  organizationId: string;
  environmentId: string;
  machineName: string;
  /** The app, worker, service or task. */
  app: string;
}

export interface Standing {
  /** As it was deployed: what was asked for counts with the deployment that tells the app. */
  isOn: boolean;
  /** Recipients of this hour, and of the last 24. */
  hour: number;
  day: number;
}

/** Undefined: nobody who may send, such as a build. */
export type FindSender = (address: string) => Promise<MailSender | undefined>;

export function openSenders(db: Db, runtime: Pick<Runtime, 'containerAt'>): FindSender {
  const owners = openOwners(db);
  return async (address) => {
    const container = await runtime.containerAt(address);
    if (!container) return undefined;
    const { rows } = await sql<Omit<MailSender, 'stackId' | 'app'>>`
      select environments.project_id as "projectId", organization_id as "organizationId", environments.id as "environmentId", machine_name as "machineName"
      from environments join projects on projects.id = environments.project_id
      where (environments.project_id, environments.id) in (
        select deployments.project_id, environment_id from deployments
        where deployments.stack_id = ${container.network} and ${occupies})`.execute(db);
    const [environment] = rows;
    if (!environment) return undefined;
    const owner = (await owners([container.name])).ofContainer(container.name);
    return { ...environment, stackId: container.network, app: owner?.service ?? '' };
  };
}

/** Also while it is being deployed: hooks and apps run before that is done. */
const occupies = deploymentLife.sqlPossible('deployments.status', 'occupy');

export const thisHour = sql<string>`date_trunc('hour', now(), 'UTC')`;

export async function standingOf(db: Db, { projectId, environmentId, stackId }: MailSender): Promise<Standing> {
  const { rows } = await sql<Standing>`
    select exists (
        select from deployments where deployments.stack_id = ${stackId} and ${occupies} and (settings ->> 'enable_smtp')::boolean
      ) as "isOn",
      coalesce(sum(recipients) filter (where hour = ${thisHour}), 0)::integer as hour, coalesce(sum(recipients), 0)::integer as day
    from app_mail_hours where project_id = ${projectId} and environment_id = ${environmentId} and hour > now() - interval '24 hours'`.execute(
    db,
  );
  return rows[0] ?? { isOn: false, hour: 0, day: 0 };
}
