import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import { instanceCountsOf, type InstanceCounts, type Sizes } from '../deployments/public.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import type { SaidService } from './settings.ts';

/** What people said, by app and worker: also of those that are not deployed any more, and may come back. */
export async function saidSettings(db: Db | Tx, projectId: string, environmentId: string): Promise<Record<string, SaidService>> {
  const { rows } = await sql<{ service: string; settings: SaidService }>`
    select service, settings from autoscaling_settings where project_id = ${projectId} and environment_id = ${environmentId}`.execute(db);
  return Object.fromEntries(rows.map(({ service, settings }) => [service, settings]));
}

interface Row {
  project_id: string;
  environment_id: string;
  service: string;
  settings: SaidService;
  is_on: boolean;
}

export const keepSettings = (tx: Tx, { project_id, environment_id, service, settings, is_on }: Row) =>
  sql`insert into autoscaling_settings (project_id, environment_id, service, settings, is_on)
    values (${project_id}, ${environment_id}, ${service}, ${JSON.stringify(settings)}::jsonb, ${is_on})
    on conflict (project_id, environment_id, service) do update set settings = excluded.settings, is_on = excluded.is_on`.execute(tx);

/** An environment that runs, in which something is scaled by load, and which no activity is at work on. */
export interface Scalable {
  project_id: string;
  environment_id: string;
  machine_name: string;
  max_instance_count: number | null;
  /** What was said, of what is on. */
  said: Record<string, SaidService>;
  /** Of all apps and workers that are deployed. */
  counts: InstanceCounts;
  decided_at: string | null;
  /** When something was last scaled, or was to be; Unix seconds. */
  last_at: number | null;
}

const isBusy = sql`exists (select from activity_lanes where activity_lanes.project_id = environments.project_id
  and lane in (environments.id, '') and is_open and not is_shared)`;

const canScale = sql`${environmentLife.sqlPossible('environments.status', 'serve')} and environments.sleeping_since is null
  and not environments.is_waking and environments.start_failure is null and not ${isBusy}`;

/** One query, whose cost grows with the environments that scale. */
export async function scalableEnvironments(db: Db): Promise<Scalable[]> {
  const { rows } = await sql<Omit<Scalable, 'counts'> & { sizes: Sizes }>`
    select environments.project_id, environments.id as environment_id, machine_name, max_instance_count, autoscale_decided_at as decided_at,
      extract(epoch from greatest(autoscale_decided_at, last_autoscale_up_at, last_autoscale_down_at))::float as last_at,
      (select json_object_agg(service, settings) from autoscaling_settings
        where (project_id, environment_id) = (environments.project_id, environments.id) and is_on) as said, deployments.sizes
    from environments
    join projects on projects.id = environments.project_id and projects.status = 'active'
    join deployments on deployments.project_id = environments.project_id and deployments.environment_id = environments.id
      and ${deploymentLife.sqlPossible('deployments.status', 'run')}
    where (environments.project_id, environments.id) in (select project_id, environment_id from autoscaling_settings where is_on)
      and ${canScale}
    order by environments.project_id, environments.id`.execute(db);
  return rows.map(({ sizes, ...row }) => ({ ...row, counts: instanceCountsOf(sizes) }));
}

/** False where somebody else has decided meanwhile, or where an activity has come: then nothing is to be done. */
export async function markDecided(tx: Tx, { project_id, environment_id, decided_at }: Scalable, now: Date): Promise<boolean> {
  const { rows } = await sql`update environments set autoscale_decided_at = ${now.toISOString()}::timestamptz
    where project_id = ${project_id} and id = ${environment_id} and autoscale_decided_at is not distinct from ${decided_at}::timestamptz
      and ${canScale} returning id`.execute(tx);
  return rows.length > 0;
}

/** A clock that was set back would have what was decided before wait until it is there again; from now on it waits no longer than usual. */
export const forgetFuture = (db: Db, now: Date) =>
  sql`update environments set autoscale_decided_at = least(autoscale_decided_at, ${now.toISOString()}::timestamptz),
      last_autoscale_up_at = least(last_autoscale_up_at, ${now.toISOString()}::timestamptz),
      last_autoscale_down_at = least(last_autoscale_down_at, ${now.toISOString()}::timestamptz)
    where (project_id, id) in (select project_id, environment_id from autoscaling_settings where is_on)
      and greatest(autoscale_decided_at, last_autoscale_up_at, last_autoscale_down_at) > ${now.toISOString()}::timestamptz + interval '1 minute'`.execute(
    db,
  );
