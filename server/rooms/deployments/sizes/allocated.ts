/**
 * What environments have been given, noted for metering whenever it changes: a deployment settles, an environment is paused, falls asleep, wakes or is given up. What rests keeps
 * only its disks.
 */
import { sql } from 'kysely';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { isUuid } from '../../../kernel/schema.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { deploymentSubject, endAllocated, noteAllocated, taskSubject } from '../../metering/public.ts';
import { deploymentLife } from '../life-cycle.ts';
import type { Stack } from '../stack/stack.ts';
import { allocatedIn } from './capacity.ts';

/** All that the amounts follow from; null where nothing is deployed. */
const version = sql<string | null>`case when environments.stack_id is null then null
  else deployments.id || ' ' || projects.organization_id || case when ${environmentLife.sqlPossible('environments.status', 'serve')} and sleeping_since is null then ' runs' else ' rests' end end`;

const environmentsWithCurrent = sql`environments join projects on projects.id = environments.project_id
  left join deployments on deployments.project_id = environments.project_id and deployments.environment_id = environments.id
    and ${deploymentLife.sqlPossible('deployments.status', 'run')}`;

interface Given {
  machine_name: string;
  version: string | null;
  deployment_id: string;
  /** Who deployed: a person, or the platform. */
  user_id: string | null;
  model: Stack['model'];
  sizes: Stack['sizes'];
}

/** In the transaction in which it changes. */
export async function noteAllocatedTo(db: Db | Tx, projectId: string, environmentId: string): Promise<void> {
  const { rows } = await sql<Given>`
    select machine_name, ${version} as version, deployments.id as deployment_id, model, sizes,
      (select payload #>> '{user,id}' from activities where activities.id = deployments.activity_id) as user_id from ${environmentsWithCurrent}
    where environments.project_id = ${projectId} and environments.id = ${environmentId}`.execute(db);
  const [given] = rows;
  if (!given) return;
  const holder = { projectId, environment: given.machine_name, subject: deploymentSubject };
  if (given.version === null) return endAllocated(db, holder);
  const all = allocatedIn(given.model, given.sizes);
  const amounts = given.version.endsWith(' runs') ? all : all.map((amount) => ({ ...amount, cpu: 0, memory: 0 }));
  await noteAllocated(db, { ...holder, version: given.version, amounts, cause: { id: given.deployment_id, userId: personIn(given) } });
}

/** The platform deploys, too, in its own name. */
const personIn = ({ user_id }: Given) => (user_id !== null && isUuid(user_id) ? user_id : null);

interface Noted {
  project_id: string;
  environment: string;
  /** Null: the environment is gone. */
  environment_id: string | null;
}

/** Finds what was changed without a note, such as by an earlier version, and what belonged to environments and tasks that are gone. */
export const keepAllocationsNoted: Reconciler = {
  name: 'keep allocations noted',
  everySeconds: 60,
  run: async ({ db }) => {
    const { rows } = await sql<Noted>`
      with given as (
        select environments.project_id, machine_name as environment, environments.id as environment_id, ${version} as version from ${environmentsWithCurrent}),
      noted as (select project_id, environment, version from allocations where subject = ${deploymentSubject} and until is null)
      select project_id, environment, environment_id from given full join noted using (project_id, environment)
      where given.version is distinct from noted.version`.execute(db);
    for (const { project_id, environment, environment_id } of rows)
      await db.transaction().execute(async (tx) => {
        if (environment_id === null) await endAllocated(tx, { projectId: project_id, environment, subject: deploymentSubject });
        else await noteAllocatedTo(tx, project_id, environment_id);
      });
    await endTasksThatAreGone(db);
  },
};

async function endTasksThatAreGone(db: Db): Promise<void> {
  const { rows } = await sql<{ project_id: string; environment: string; subject: string }>`
    select project_id, environment, subject from allocations
    where until is null and subject like ${taskSubject('%')} and not exists (select from running_tasks where ${taskSubject('')} || activity_id = subject)`.execute(
    db,
  );
  for (const { project_id, environment, subject } of rows) await endAllocated(db, { projectId: project_id, environment, subject });
}
