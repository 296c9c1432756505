/**
 * Usage alerts: whoever set one is told when a project has used more of something in this month than the threshold says; once a day at most, and three times a
 * month. What was used is what was metered (rooms/metering), so an alert is as late as the hour that is not closed yet.
 */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { sumUsage, type Quantity } from '../metering/public.ts';
import { billingRecipients } from '../organizations/public.ts';

interface AlertKind {
  /** As a sentence says it, after a number. */
  used: string;
  quantity: Quantity;
  unit: string;
  /** How many of the metered units make one of the alert's. */
  size: number;
}

const hourOfCpu = 3_600_000;
const hourOfGigabyte = 3600 * 1024;
const gigabyte = 1024 ** 3;

export const alertKinds: Record<string, AlertKind> = {
  cpu: { used: 'CPU hours', quantity: 'cpu_allocated', unit: 'CPU hours', size: hourOfCpu },
  memory: { used: 'GB hours of memory', quantity: 'memory_allocated', unit: 'GB hours', size: hourOfGigabyte },
  storage: { used: 'GB hours of storage', quantity: 'storage_allocated', unit: 'GB hours', size: hourOfGigabyte },
  egress_bandwidth: { used: 'GB of traffic out', quantity: 'response_bytes', unit: 'GB', size: gigabyte },
  ingress_requests: { used: 'requests', quantity: 'requests', unit: 'requests', size: 1 },
};

export interface SetAlert {
  id: string;
  active: boolean;
  /** A text, as PostgreSQL has numbers that JavaScript does not. */
  threshold: string;
  alerts_sent: number;
  last_alert_at: string | null;
  updated_at: string | null;
}

export const alertsOf = (db: Db | Tx, projectId: string): Promise<SetAlert[]> =>
  db.selectFrom('usage_alerts').selectAll().where('project_id', '=', projectId).orderBy('id').execute();

/** A threshold that is not named stays; one that was never named is not set. */
export async function setAlert(tx: Tx, project_id: string, id: string, active: boolean | undefined, threshold: number | undefined) {
  if (threshold === undefined) {
    if (active !== undefined)
      await sql`update usage_alerts set active = ${active}, updated_at = clock_timestamp() where project_id = ${project_id} and id = ${id}`.execute(
        tx,
      );
    return;
  }
  await sql`
    insert into usage_alerts (project_id, id, active, threshold) values (${project_id}, ${id}, ${active ?? true}, ${threshold})
    on conflict (project_id, id) do update set active = ${active ?? sql`usage_alerts.active`}, threshold = excluded.threshold,
      updated_at = clock_timestamp()`.execute(tx);
}

const alertsInMonthMax = 3;
const atOnceMax = 500;

export const tellOfUse: Reconciler = {
  name: 'tell of use',
  everySeconds: 1800,
  run: async (platform, signal) => {
    for await (const due of dueAlerts(platform.db)) {
      if (signal.aborted) break;
      await tell(platform, due);
    }
  },
};

interface DueAlert {
  project_id: string;
  organization_id: string;
  title: string;
  id: string;
  threshold: string;
}

const startOfMonth = sql`date_trunc('month', now(), 'UTC')`;
const isDue = sql<boolean>`active and (last_alert_at is null or last_alert_at < now() - interval '1 day')
  and (last_alert_at is null or last_alert_at < ${startOfMonth} or alerts_sent < ${alertsInMonthMax})`;

/** All of them, also those behind many that are set and not reached. */
async function* dueAlerts(db: Db): AsyncGenerator<DueAlert> {
  for (let last: DueAlert | undefined, isMore = true; isMore;) {
    const { rows } = await sql<DueAlert>`
      select usage_alerts.project_id, projects.organization_id, projects.title, usage_alerts.id, threshold::text
      from usage_alerts join projects on projects.id = usage_alerts.project_id where ${isDue} and projects.status = 'active'
        and (usage_alerts.project_id, usage_alerts.id) > (${last?.project_id ?? ''}, ${last?.id ?? ''})
      order by usage_alerts.project_id, usage_alerts.id limit ${atOnceMax}`.execute(db);
    yield* rows;
    last = rows.at(-1);
    isMore = rows.length === atOnceMax;
  }
}

async function tell(platform: Platform, due: DueAlert): Promise<void> {
  const { db, config } = platform;
  const kind = alertKinds[due.id];
  if (!kind) return;
  const now = new Date();
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
  const [sum] = await sumUsage(db, { from, to: now, by: [], of: { project_id: due.project_id } });
  const used = (sum?.[kind.quantity] ?? 0) / kind.size;
  if (used < Number(due.threshold)) return;
  await db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await sql`
      update usage_alerts set alerts_sent = case when last_alert_at >= ${startOfMonth} then alerts_sent + 1 else 1 end, last_alert_at = now()
      where project_id = ${due.project_id} and id = ${due.id} and ${isDue}`.execute(tx);
    if (numAffectedRows === 0n) return;
    for (const to of await billingRecipients(tx, due.organization_id))
      await recordMail(tx, platform, { to, ...letter(due, kind, used, config.url) });
  });
}

const letter = ({ title, project_id, threshold }: DueAlert, kind: AlertKind, used: number, url: string) => ({
  subject: `${title} has used ${rounded(used)} ${kind.used} this month`,
  text: `The project ${title} (${project_id}) at ${url} has used ${rounded(used)} ${kind.used} since the beginning of the month, more than the ${threshold} that are set as its alert.

This is told once a day at most, and ${alertsInMonthMax} times a month.
`,
});

const rounded = (amount: number) => Math.round(amount * 100) / 100;
