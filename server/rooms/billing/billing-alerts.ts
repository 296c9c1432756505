/**
 * Billing alerts: an organization is told by mail when the month costs more than its threshold: what it has come to so far, or what it will by the estimate; once a day
 * at most. The mails are recorded together with the fact that they were.
 */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { billingRecipients } from '../organizations/public.ts';
import { formatted, minorOf, type Currency } from '../prices/public.ts';
import { estimateMonth } from './estimate.ts';
import { monthAt, monthName } from './month.ts';
import { oneByOne } from './one-by-one.ts';
import { workOut } from './work-out.ts';
import { nobody } from './payer.ts';

export const alertModes = ['estimate', 'spent'] as const;
export const alertModeUsual = 'estimate';

export interface BillingAlert {
  active: boolean;
  threshold: string;
  mode: string;
  alerts_sent: number;
  last_alert_at: string | null;
  updated_at: string | null;
}

export async function billingAlertOf(db: Db | Tx, organizationId: string): Promise<BillingAlert | undefined> {
  const { rows } = await sql<BillingAlert>`
    select active, threshold::text, mode, alerts_sent, last_alert_at, updated_at from billing_alerts where organization_id = ${organizationId}`.execute(
    db,
  );
  return rows[0];
}

export const setBillingAlert = (
  db: Db,
  organizationId: string,
  { active, threshold, mode }: Pick<BillingAlert, 'active' | 'threshold' | 'mode'>,
) =>
  sql`insert into billing_alerts (organization_id, active, threshold, mode) values (${organizationId}, ${active}, ${threshold}::bigint, ${mode})
    on conflict (organization_id) do update set active = excluded.active, threshold = excluded.threshold, mode = excluded.mode,
      updated_at = clock_timestamp()`.execute(db);

const atOnceMax = 500;
const isDue = sql<boolean>`active and (last_alert_at is null or last_alert_at < now() - interval '1 day')`;

export const tellOfCost: Reconciler = {
  name: 'tell of cost',
  everySeconds: 1800,
  run: async (platform, signal) => {
    const alerts = oneByOne();
    for await (const due of dueAlerts(platform.db)) {
      if (signal.aborted) break;
      await alerts.attempt(due.organization_id, () => tell(platform, due));
    }
    alerts.rethrow();
  },
};

async function* dueAlerts(db: Db): AsyncGenerator<DueAlert> {
  for (let last: DueAlert | undefined, isMore = true; isMore;) {
    const { rows } = await sql<DueAlert>`
      select organization_id, label, threshold::text, mode from billing_alerts join organizations on organizations.id = organization_id
      where ${isDue} and organization_id > ${last?.organization_id ?? ''} order by organization_id limit ${atOnceMax}`.execute(db);
    yield* rows;
    last = rows.at(-1);
    isMore = rows.length === atOnceMax;
  }
}

interface DueAlert {
  organization_id: string;
  label: string;
  threshold: string;
  mode: string;
}

async function tell(platform: Platform, due: DueAlert): Promise<void> {
  const { db, config } = platform;
  const { currency, total } = await costOf(platform, due);
  if (total < BigInt(due.threshold) * minorOf(currency)) return;
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql`
      update billing_alerts set alerts_sent = alerts_sent + 1, last_alert_at = now()
      where organization_id = ${due.organization_id} and ${isDue} returning organization_id`.execute(tx);
    if (rows.length === 0) return;
    for (const to of await billingRecipients(tx, due.organization_id))
      await recordMail(tx, platform, { to, ...letter(due, currency, total, config.url) });
  });
}

async function costOf({ db, config }: Platform, { organization_id, mode }: DueAlert): Promise<{ currency: Currency; total: bigint }> {
  const now = Date.now();
  const month = monthAt(now);
  const asked = { id: undefined, organizationId: organization_id, month, payer: nobody };
  const { currency, totals } =
    mode === 'spent' ? await workOut(db, config, asked, now) : await estimateMonth(db, config, organization_id, month, now);
  return { currency, total: totals.baseprice - totals.discount };
}

function letter({ label, threshold, mode }: DueAlert, currency: Currency, total: bigint, url: string) {
  const [cost, set] = [formatted(total, currency), formatted(BigInt(threshold) * minorOf(currency), currency)];
  const comes = mode === 'spent' ? 'has come to' : 'will come to';
  const month = monthName(monthAt(Date.now()));
  return {
    subject: `${month} ${comes} ${cost} for ${label}`,
    text: `What ${label} uses at ${url} in ${month} ${comes} ${cost} before tax${mode === 'spent' ? '' : ', if it goes on like this'}. That is more than the ${set} that are set as its alert.

This is told once a day at most.
`,
  };
}
