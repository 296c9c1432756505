/** What the database knows: a statement or two for each part, over what is open or counted by an index, so that a scrape stays cheap however long the past is. */
import { sql } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import { gauge, type Family } from '../../kernel/instruments.ts';
import { connectionsOf, type Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { machineUse } from '../deployments/work.ts';

export async function databaseFamilies({ db }: Platform): Promise<Family[]> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database())::float as bytes`.execute(db);
  const pool = connectionsOf(db);
  const states = pool && { used: pool.open - pool.idle, idle: pool.idle };
  return [
    gauge('offshoot_database_size_bytes', 'The size of the database.', rows[0]?.bytes ?? 0),
    gauge(
      'offshoot_database_connections',
      'Connections of this process to the database.',
      Object.entries(states ?? {}).map(([state, value]) => ({ labels: { state }, value })),
    ),
    gauge('offshoot_database_connections_max', 'How many of them there can be.', pool?.most ?? 0),
    gauge('offshoot_database_waiting', 'Those that wait for a connection.', pool?.waiting ?? 0),
  ];
}

interface OpenActivities {
  type: string;
  state: string;
  count: number;
  oldest: number | null;
}

/** Only those that are open, of which there are few. */
export async function openActivities(db: Db): Promise<OpenActivities[]> {
  const { rows } = await sql<OpenActivities>`
    select type, state, count(*)::int as count,
      case when state = 'pending' then greatest(0, extract(epoch from clock_timestamp() - min(greatest(created_at, run_after)))) end::float as oldest
    from activities where ${activitiesThat('beOpen')} group by type, state order by type, state`.execute(db);
  return rows;
}

export async function activityFamilies({ db }: Platform): Promise<Family[]> {
  const rows = await openActivities(db);
  const waits = rows.flatMap(({ type, oldest }) => (oldest === null ? [] : { labels: { type }, value: oldest }));
  return [
    gauge(
      'offshoot_activities',
      'Activities that are not over.',
      rows.map(({ type, state, count }) => ({ labels: { type, state }, value: count })),
    ),
    gauge('offshoot_activity_oldest_waiting_seconds', 'How long the activity that waits longest has waited since it was due.', waits),
  ];
}

interface WaitingDeliveries {
  kind: string;
  count: number;
  oldest: number;
}

/** Only those that wait, by an index that has no others. */
export async function waitingDeliveries(db: Db): Promise<WaitingDeliveries[]> {
  const { rows } = await sql<WaitingDeliveries>`
    select kind, count(*)::int as count, greatest(0, extract(epoch from clock_timestamp() - min(created_at)))::float as oldest
    from deliveries where state = 'waiting' group by kind order by kind`.execute(db);
  return rows;
}

export async function deliveryFamilies({ db }: Platform): Promise<Family[]> {
  const rows = await waitingDeliveries(db);
  return [
    gauge(
      'offshoot_deliveries_waiting',
      'Deliveries to others that have not arrived yet.',
      rows.map(({ kind, count }) => ({ labels: { kind }, value: count })),
    ),
    gauge(
      'offshoot_delivery_oldest_waiting_seconds',
      'How long the delivery that waits longest has waited.',
      rows.map(({ kind, oldest }) => ({ labels: { kind }, value: oldest })),
    ),
  ];
}

export async function environmentFamilies({ db }: Platform): Promise<Family[]> {
  const { given, there, environments } = await machineUse(db);
  const { rows } = await sql<{ projects: number; organizations: number; users: number }>`
    select (select count(*) from projects where status <> 'deleted')::int as projects, (select count(*) from organizations)::int as organizations,
      (select count(*) from users)::int as users`.execute(db);
  const amounts = (of: typeof given | undefined) => Object.entries(of ?? {}).map(([resource, value]) => ({ labels: { resource }, value }));
  return [
    gauge(
      'offshoot_environments',
      'Environments that have something to run.',
      Object.entries(environments).map(([state, value]) => ({ labels: { state }, value })),
    ),
    gauge('offshoot_given', 'What environments are given of the machine: processors, and megabytes of memory and disk.', amounts(given)),
    gauge('offshoot_machine', 'What the machine has of it.', amounts(there)),
    gauge(
      'offshoot_accounts',
      'Projects, organizations and users.',
      Object.entries(rows[0] ?? {}).map(([kind, value]) => ({ labels: { kind }, value })),
    ),
  ];
}

interface Backups {
  platform: number | null;
  newest: number | null;
  restorable: number;
  damaged: number;
}

export async function backupFamilies({ db }: Platform): Promise<Family[]> {
  const { rows } = await sql<Backups>`
    select (select extract(epoch from backed_up_at)::float from installation) as platform,
      extract(epoch from max(created_at) filter (where restorable))::float as newest,
      count(*) filter (where restorable)::int as restorable, count(*) filter (where damaged_at is not null)::int as damaged
    from backups`.execute(db);
  const { platform = null, newest = null, restorable = 0, damaged = 0 } = rows[0] ?? {};
  const ifAny = (value: number | null) => (value === null ? [] : [{ value }]);
  return [
    gauge('offshoot_platform_backup_timestamp_seconds', 'When the installation itself was last backed up.', ifAny(platform)),
    gauge('offshoot_backup_newest_timestamp_seconds', 'When the newest restorable backup of an environment was taken.', ifAny(newest)),
    gauge('offshoot_backups', 'Backups of environments by what they are good for.', [
      { labels: { state: 'restorable' }, value: restorable },
      { labels: { state: 'damaged' }, value: damaged },
    ]),
  ];
}

export async function certificateFamilies({ db }: Platform): Promise<Family[]> {
  const { rows } = await sql<{ presented: number; soonest: number | null; troubled: number }>`
    select count(*)::int as presented, extract(epoch from min(expires_at))::float as soonest,
      count(*) filter (where is_invalid or revoked_at is not null or status_trouble is not null)::int as troubled
    from certificates where cardinality(serves) > 0`.execute(db);
  const { presented = 0, soonest = null, troubled = 0 } = rows[0] ?? {};
  return [
    gauge('offshoot_certificates', 'Certificates that the edge presents.', presented),
    gauge('offshoot_certificates_troubled', 'Those of them that are invalid, revoked, or that their issuer is silent about.', troubled),
    gauge(
      'offshoot_certificate_soonest_expiry_timestamp_seconds',
      'When the first of them ends.',
      soonest === null ? [] : [{ value: soonest }],
    ),
  ];
}
