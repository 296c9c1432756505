/** Which environments are looked at, and what the database knows of them. */
import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import type { LastDeployment } from '../deployments/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import {
  backupsMax,
  incidentSeconds,
  type EndedBackup,
  type Incident,
  type RefusedCertificate,
  type ServedCertificate,
} from './sources.ts';

export interface WatchedEnvironment {
  project_id: string;
  id: string;
  machine_name: string;
  /** Whether something should run; otherwise only deployments and backups are looked at. */
  is_serving: boolean;
  start_failure: string | null;
  last_deployment: LastDeployment | null;
  backups: EndedBackup[] | null;
}

/**
 * Production, of projects that have somebody to tell. What is paused, sleeps or is being deleted is not looked at: nobody expects it to work. `environments` and
 * `projects` are in the statement around it.
 */
const isWatched: RawBuilder<boolean> = sql`(environments.type = 'production' and projects.status = 'active'
  and ${environmentLife.sqlPossible('environments.status', 'edit')} and not ${environmentLife.sqlPossible('environments.status', 'resume')}
  and (environments.sleeping_since is null or environments.is_waking)
  and exists (select from integrations where integrations.project_id = environments.project_id and integrations.type like 'health.%'))`;

/** Conditions on `health_alerts`. */
export const isOfWatched: RawBuilder<boolean> = sql`exists (
  select from environments join projects on projects.id = environments.project_id
  where environments.project_id = health_alerts.project_id and environments.id = health_alerts.environment_id and ${isWatched})`;

const recentBackups = sql`(
  select json_agg(json_build_object('result', recent.result, 'sentence', recent.sentence)) from (
    select result, failure::jsonb ->> 'sentence' as sentence from activities
    where activities.project_id = environments.project_id and activities.type = 'environment.backup'
      and activities.environments[1] = environments.id and result is not null and cancelled_at is null
    order by created_at desc limit ${backupsMax}) as recent)`;

export async function watchedEnvironments(db: Db): Promise<WatchedEnvironment[]> {
  const { rows } = await sql<WatchedEnvironment>`
    select environments.project_id, environments.id, machine_name, start_failure, last_deployment, ${recentBackups} as backups,
      ${environmentLife.sqlPossible('environments.status', 'serve')} as is_serving
    from environments join projects on projects.id = environments.project_id
    where ${isWatched} order by environments.project_id, environments.id`.execute(db);
  return rows;
}

type Of<T> = T & { project_id: string; environment: string };

/** By machine name. */
export async function recentIncidents(db: Db, now: Date): Promise<Of<Incident>[]> {
  const { rows } = await sql<Of<Incident>>`
    select project_id, machine_name as environment, kind, service, sum(count)::integer as count from health_incidents
    where at > ${now.toISOString()}::timestamptz - make_interval(secs => ${incidentSeconds}) group by project_id, machine_name, kind, service
    order by kind, service`.execute(db);
  return rows;
}

/** By the environments that have the names, of projects that have somebody to tell. A certificate that serves several environments is told in each. */
export async function servedCertificates(db: Db, now: Date): Promise<Of<ServedCertificate>[]> {
  const { rows } = await sql<Of<ServedCertificate>>`
    select served.*, issuances.trouble from (
      select certificates.id, certificates.project_id, environment_id as environment, array_agg(host order by host) as serves, issued_by is not null as is_automatic,
        extract(epoch from expires_at - ${now.toISOString()}::timestamptz)::float8 / 86400 as days_left,
        case when renew_at < ${now.toISOString()}::timestamptz and renew_at < expires_at then
          100 * extract(epoch from ${now.toISOString()}::timestamptz - renew_at)::float8 / extract(epoch from expires_at - renew_at)::float8 end as overdue_percent
      from certificates join hosts on hosts.project_id = certificates.project_id and hosts.host = any(serves)
      where ${isTold('certificates')} group by certificates.id, environment_id) as served
    left join issuances on issuances.certificate_id = served.id`.execute(db);
  return rows;
}

/** Of names that nothing good is presented for. */
export async function refusedCertificates(db: Db): Promise<Of<RefusedCertificate>[]> {
  const { rows } = await sql<Of<RefusedCertificate>>`
    select issuances.project_id, environment_id as environment, array_agg(host order by host) as names, refusals, trouble
    from issuances join hosts on hosts.project_id = issuances.project_id and hosts.host = any(issuances.names)
    where refusals > 0 and is_wanted and ${isTold('issuances')}
      and not exists (select from certificates where certificates.id = certificate_id)
    group by certificate_id, environment_id`.execute(db);
  return rows;
}

const isTold = (table: string) =>
  sql`exists (select from integrations where integrations.project_id = ${sql.ref(`${table}.project_id`)} and integrations.type like 'health.%')`;
