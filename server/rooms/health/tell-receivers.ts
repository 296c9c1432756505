/**
 * Has told what was not told yet. Alerts are compared with what each integration was told of them; the difference is recorded as deliveries, in the transaction that
 * notes it as told. An integration that was added while something is wrong is told of it like all others.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { integrationById } from '../integrations/public.ts';
import { messageOf, type HealthEvent, type ToldAlert } from './message.ts';
import { receiverOf } from './receivers/receivers.ts';

interface Untold extends ToldAlert {
  integration_id: string;
  event: HealthEvent;
}

const untoldMax = 500;

export async function tellReceivers(platform: Platform, signal?: AbortSignal): Promise<void> {
  const { db, log } = platform;
  for (const untold of await untoldIn(db)) {
    if (signal?.aborted) return;
    await db
      .transaction()
      .execute((tx) => tell(tx, platform, untold))
      .catch((error: unknown) => log.error({ error, alert: untold.id, integration: untold.integration_id }, 'an alert could not be told'));
  }
}

/** For each integration in the order in which it happened. An alert that seems to go away is told to nobody new. */
async function untoldIn(db: Db): Promise<Untold[]> {
  const { rows } = await sql<Untold>`
    select alerts.*, projects.title as project_title, projects.organization_id, environments.title as environment_title, integrations.id as integration_id,
      case when alerts.ended_at is not null then 'ended' when told.severity is null then 'opened' else 'worsened' end as event
    from health_alerts as alerts join projects on projects.id = alerts.project_id
    join integrations on integrations.project_id = alerts.project_id and integrations.type like 'health.%'
    left join health_alerts_told as told on told.alert_id = alerts.id and told.integration_id = integrations.id
    left join environments on environments.project_id = alerts.project_id and environments.id = alerts.environment_id
    where (alerts.ended_at is not null and told.alert_id is not null)
      or (alerts.ended_at is null and alerts.away_since is null and told.severity is distinct from alerts.severity)
    order by coalesce(alerts.ended_at, alerts.opened_at), alerts.check_name, alerts.subject, integrations.id limit ${untoldMax}`.execute(
    db,
  );
  return rows;
}

async function tell(tx: Tx, platform: Platform, untold: Untold): Promise<void> {
  const { project_id, integration_id, event } = untold;
  const integration = await integrationById({ ...platform, db: tx }, project_id, integration_id);
  if (!integration || !(await noteTold(tx, untold))) return;
  await receiverOf(integration.type).tell(tx, platform, integration, messageOf(event, untold));
}

/** False: somebody else has told it meanwhile, or it is not so any more. */
async function noteTold(tx: Tx, { id, integration_id, event, severity }: Untold): Promise<boolean> {
  const { rows } =
    event === 'ended'
      ? await sql`delete from health_alerts_told where alert_id = ${id} and integration_id = ${integration_id} returning alert_id`.execute(
          tx,
        )
      : await sql`
          insert into health_alerts_told (alert_id, integration_id, severity)
          select id, ${integration_id}, severity from health_alerts where id = ${id} and severity = ${severity} and ended_at is null
          on conflict (alert_id, integration_id) do update set severity = excluded.severity where health_alerts_told.severity <> excluded.severity
          returning alert_id`.execute(tx);
  return rows.length > 0;
}
