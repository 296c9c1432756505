/**
 * Every hour is written down from the facts, as a whole and in one transaction, again and again until it is closed: so late measurements are in it, and a kill at
 * any moment leaves the hour as it was before or as it is after. A closed hour never changes. After days in which the platform was off, all hours since are caught up with.
 */
import { sql } from 'kysely';
import type { Metrics } from '../../drivers/metrics/metrics.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { forgetForwarded, forwardedIn } from './forwarded-logs.ts';
import { forgetHistory } from './history.ts';
import { hourMilliseconds, quantities, usageOfHour, type AllocatedSpan, type HourOfUsage } from './usage-of-hour.ts';

/** How long measurements may be late. */
export const lateMilliseconds = 600_000;

export interface Meter {
  db: Db;
  metrics: Pick<Metrics, 'usage'>;
  now: Date;
  /** Whether hours may be closed: not while measurements wait for the store, nor before what ran while the platform was off has been looked at. */
  mayClose: boolean;
  signal?: AbortSignal;
}

const atMilliseconds = (time: number) => sql`to_timestamp(${time / 1000}::double precision)`;
const hourOf = (time: number) => Math.floor(time / hourMilliseconds) * hourMilliseconds;

export async function meterHours(meter: Meter): Promise<void> {
  const now = meter.now.getTime();
  const first = await closedUntil(meter.db);
  for (let hour = first; hour <= now && !meter.signal?.aborted; hour += hourMilliseconds) await meterHour(meter, hour);
}

/** Where nothing is allocated, and no logs were forwarded, hours pass without anybody being asked. Returns whether that is so. */
export async function passWhileNothingIsAllocated(db: Db, now: Date): Promise<boolean> {
  const { rows } = await sql`
    update metering set closed_until = greatest(closed_until, ${atMilliseconds(hourOf(now.getTime() - lateMilliseconds))})
    where not exists (select from allocations) and not exists (select from forwarded_logs) returning is_only`.execute(db);
  return rows.length > 0;
}

/** Unix milliseconds. The row is there from the first look at what is allocated. */
async function closedUntil(db: Db | Tx): Promise<number> {
  const { rows } = await sql<{ closed_until: number }>`
    select extract(epoch from closed_until)::double precision * 1000 as closed_until from metering for update`.execute(db);
  return hourOf(rows[0]?.closed_until ?? Infinity);
}

async function meterHour({ db, metrics, now, mayClose }: Meter, hour: number): Promise<void> {
  const ends = hour + hourMilliseconds;
  const measured = await metrics.usage({ from: hour / 1000, to: ends / 1000, byService: true });
  await db.transaction().execute(async (tx) => {
    // Whoever else meters waits here, and then finds the hour closed.
    if (hour < (await closedUntil(tx))) return;
    const allocations = await allocationsIn(tx, hour, ends);
    const forwarded = await forwardedIn(tx, new Date(hour));
    const projects = new Set([...measured.map(({ project }) => project), ...forwarded.map(({ project_id }) => project_id)]);
    const organizations = await organizationsOf(tx, [...projects]);
    await writeHour(tx, hour, usageOfHour({ hour, now: now.getTime(), allocations, measured, forwarded, organizations }));
    if (mayClose && now.getTime() >= ends + lateMilliseconds) await closeHour(tx, ends);
  });
}

async function allocationsIn(tx: Tx, from: number, to: number): Promise<AllocatedSpan[]> {
  const { rows } = await sql<Omit<AllocatedSpan, 'until'> & { until: number | null }>`
    select organization_id, project_id, environment, amounts, extract(epoch from since)::double precision * 1000 as since,
      extract(epoch from until)::double precision * 1000 as until
    from allocations where since < ${atMilliseconds(to)} and (until is null or until > ${atMilliseconds(from)})`.execute(tx);
  return rows.map((row) => ({ ...row, until: row.until ?? Infinity }));
}

async function organizationsOf(tx: Tx, projects: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; organization_id: string }>`
    select id, organization_id from projects where id = any(${projects})`.execute(tx);
  return new Map(rows.map(({ id, organization_id }) => [id, organization_id]));
}

const columns = sql.join(quantities.map((quantity) => sql.ref(quantity)));

async function writeHour(tx: Tx, hour: number, usage: readonly HourOfUsage[]): Promise<void> {
  await sql`delete from usage_hours where hour = ${atMilliseconds(hour)}`.execute(tx);
  const rows = JSON.stringify(usage.map(({ metered, quantities: sums }) => ({ ...metered, ...sums })));
  await sql`
    insert into metered (organization_id, project_id, environment, service, kind)
    select * from jsonb_to_recordset(${rows}::jsonb) as found (organization_id text, project_id text, environment text, service text, kind text)
    on conflict do nothing`.execute(tx);
  const found = sql.join(quantities.map((quantity) => sql`${sql.ref(quantity)} bigint`));
  const values = sql.join(quantities.map((quantity) => sql`nullif(${sql.ref(`found.${quantity}`)}, 0)`));
  await sql`
    insert into usage_hours (metered_id, hour, ${columns})
    select metered.id, ${atMilliseconds(hour)}, ${values}
    from jsonb_to_recordset(${rows}::jsonb)
      as found (organization_id text, project_id text, environment text, service text, kind text, ${found})
    join metered using (organization_id, project_id, environment, service, kind)`.execute(tx);
}

/** What ended before is in closed hours alone, and is not asked for again. */
async function closeHour(tx: Tx, ends: number): Promise<void> {
  await sql`update metering set closed_until = ${atMilliseconds(ends)}`.execute(tx);
  await sql`delete from allocations where until <= ${atMilliseconds(ends)}`.execute(tx);
  await forgetForwarded(tx, new Date(ends));
  await forgetHistory(tx, new Date(ends));
}
