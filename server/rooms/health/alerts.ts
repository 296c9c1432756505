/** Alerts as they are written down. Each change is one guarded statement: whoever decided by something older changes nothing. */
import { sql } from 'kysely';
import { ulid } from '../../kernel/id.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Reading } from './checks/check.ts';
import { checkNames } from './checks/checks.ts';
import { rememberedSeconds, type Known, type Severity, type Verdict } from './judge.ts';
import { isOfWatched } from './watched-environments.ts';

export interface Alert extends Known {
  id: string;
  project_id: string;
  environment_id: string;
  check_name: string;
  subject: string;
}

/** Those that are open, and those that may come back soon. */
export async function knownAlerts(db: Db): Promise<Alert[]> {
  const { rows } = await sql<Alert>`
    select id, project_id, environment_id, check_name, subject, severity, returns,
      extract(epoch from away_since)::float8 as away_since, extract(epoch from ended_at)::float8 as ended_at from health_alerts`.execute(
    db,
  );
  return rows;
}

interface Place {
  project_id: string;
  environment_id: string;
  check_name: string;
  subject: string;
}

/** One that has ended gives its place to the new one, but not before everybody who was told of it has been told of its end. */
export const openAlert = (db: Db, place: Place, { text, value }: Reading, severity: Severity, returns: number, now: Date) =>
  sql`
  insert into health_alerts (id, project_id, environment_id, check_name, subject, severity, text, value, opened_at, returns)
  values (${ulid(now.getTime())}, ${place.project_id}, ${place.environment_id}, ${place.check_name}, ${place.subject}, ${severity}, ${text}, ${value}, ${now.toISOString()}, ${returns})
  on conflict (project_id, environment_id, check_name, subject) do update set id = excluded.id, severity = excluded.severity, text = excluded.text,
    value = excluded.value, opened_at = excluded.opened_at, returns = excluded.returns, away_since = null, ended_at = null, is_unwatched = false
  where health_alerts.ended_at is not null and not exists (select from health_alerts_told where alert_id = health_alerts.id)`.execute(db);

type Change = Exclude<Verdict, { kind: 'open' }>['kind'];

export async function changeAlert(db: Db, id: string, kind: Change, found: Reading | undefined, now: Date): Promise<void> {
  const changes = {
    worsen: sql`severity = 'critical', text = ${found?.text ?? ''}, value = ${found?.value ?? 0}, away_since = null`,
    leave: sql`away_since = ${now.toISOString()}`,
    return: sql`away_since = null`,
    end: sql`ended_at = ${now.toISOString()}`,
  };
  await sql`update health_alerts set ${changes[kind]} where id = ${id} and ended_at is null`.execute(db);
}

/** Ends those of environments that nobody looks at any more, and of checks that only an earlier version had. */
export const endUnwatched = (db: Db, now: Date) =>
  sql`update health_alerts set ended_at = ${now.toISOString()}, is_unwatched = true 
    where ended_at is null and (check_name <> all(${checkNames}::text[]) or not ${isOfWatched})`.execute(db);

export const forgetEnded = (db: Db, now: Date) =>
  sql`delete from health_alerts where ended_at < ${now.toISOString()}::timestamptz - make_interval(secs => ${rememberedSeconds})
    and not exists (select from health_alerts_told where alert_id = health_alerts.id)`.execute(db);
