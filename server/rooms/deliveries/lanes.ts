/** Lanes as senders see them: claimed by a lease, read from the head, and moved on together with what became of each delivery. */
import { sql } from 'kysely';
import type { Sent } from '../../kernel/delivery.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { storableJson } from '../../kernel/storable.ts';

export interface Lane {
  order_key: string;
  party: string;
  head: string;
  /** When it was claimed; those that were recorded since are behind it. */
  tail: string;
  failures: number;
}

export interface Waiting {
  id: string;
  kind: string;
  position: string;
  payload_sealed: string | null;
  /** How often it was tried. */
  attempts: number;
  ageSeconds: number;
}

export interface Attempt extends Sent {
  waiting: Waiting;
  number: number;
  begunAt: Date;
  milliseconds: number;
  /** What follows for the delivery; undefined where it waits for another attempt. */
  ends: 'delivered' | 'failed' | undefined;
}

interface Claiming {
  holder: string;
  leaseSeconds: number;
  lanesMax: number;
  partyLanesMax: number;
  failingLanesMax: number;
  /** How many lanes of each party are held here already. */
  held: ReadonlyMap<string, number>;
  /** How many of all that are held here lead to receivers that failed the last time. */
  heldFailing: number;
}

/**
 * Those that have been due longest, of no party more than its share, and of receivers that failed the last time no more than theirs: whoever never answers keeps a lane for
 * as long as an attempt may take. Lanes that others hold, or are about to, are left to them.
 */
export async function claimLanes(db: Db, claiming: Claiming): Promise<Lane[]> {
  const { holder, leaseSeconds, lanesMax, partyLanesMax, failingLanesMax, held, heldFailing } = claiming;
  const taken = JSON.stringify(Object.fromEntries(held));
  const { rows } = await sql<Lane>`
    with due as (
      select order_key, due_at, failures > 0 as is_failing, row_number() over (partition by party order by failures > 0, due_at) as turn, party
      from delivery_lanes where head <= tail and due_at <= now() and (leased_until is null or leased_until < now())
    ), shared as (
      select order_key, due_at, is_failing, row_number() over (partition by is_failing order by due_at) as turn from due
      where turn + coalesce((${taken}::jsonb ->> party)::integer, 0) <= ${partyLanesMax}
    ), chosen as (
      select lanes.order_key from delivery_lanes as lanes join shared using (order_key)
      where not shared.is_failing or shared.turn + ${heldFailing}::integer <= ${failingLanesMax}
      order by shared.due_at limit ${lanesMax} for update of lanes skip locked
    )
    update delivery_lanes set holder = ${holder}, leased_until = now() + make_interval(secs => ${leaseSeconds})
    from chosen where delivery_lanes.order_key = chosen.order_key
      and (delivery_lanes.leased_until is null or delivery_lanes.leased_until < now())
    returning delivery_lanes.order_key, party, head, tail, failures`.execute(db);
  return rows;
}

export const renewLanes = (db: Db, holder: string, leaseSeconds: number) =>
  sql`update delivery_lanes set leased_until = now() + make_interval(secs => ${leaseSeconds}) where holder = ${holder}`.execute(db);

/** When the next lane is due that nobody holds; undefined where there is none. */
export async function secondsUntilDue(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from min(greatest(due_at, coalesce(leased_until, due_at))) - now())::float8 as seconds
    from delivery_lanes where head <= tail`.execute(db);
  return rows[0]?.seconds ?? undefined;
}

/** No more than so many, and together no longer than so long, but at least one. */
export async function nextWaiting(db: Db, orderKey: string, most: { deliveries: number; bytes: number }): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    select id, kind, position, payload_sealed, extract(epoch from now() - created_at)::float8 as "ageSeconds",
      (select count(*)::integer from delivery_attempts where delivery_id = next.id) as attempts
    from (
      select *, sum(octet_length(payload_sealed)) over (order by position) - octet_length(payload_sealed) as bytes_before
      from deliveries where order_key = ${orderKey} and state = 'waiting' order by position limit ${most.deliveries}
    ) as next
    where bytes_before is null or bytes_before <= ${most.bytes} order by position`.execute(db);
  return rows;
}

/** Throws LaneLost where somebody else holds it by now, and nothing is stored. */
export async function advanceLane(tx: Tx, holder: string, lane: Pick<Lane, 'order_key' | 'head' | 'failures'>, pauseSeconds: number) {
  const { numAffectedRows } = await sql`
    update delivery_lanes set head = ${lane.head}, failures = ${lane.failures}, due_at = now() + make_interval(secs => ${pauseSeconds})
    where order_key = ${lane.order_key} and holder = ${holder}`.execute(tx);
  if (numAffectedRows !== 1n) throw new LaneLost();
}

export class LaneLost extends Error {}

/** Nobody looks at it for so many seconds. */
export const leaveLane = (db: Db, holder: string, orderKey: string, pauseSeconds: number) =>
  sql`
    update delivery_lanes set holder = null, leased_until = null, due_at = greatest(due_at, now() + make_interval(secs => ${pauseSeconds}))
    where order_key = ${orderKey} and holder = ${holder}`.execute(db);

export async function storeAttempts(tx: Tx, attempts: readonly Attempt[], forgets: (kind: string) => boolean): Promise<void> {
  if (attempts.length === 0) return;
  const rows = attempts.map(({ waiting, number, begunAt, milliseconds, outcome, request, response, trouble }) => ({
    delivery_id: waiting.id,
    number,
    begun_at: begunAt.toISOString(),
    milliseconds: Math.round(milliseconds),
    outcome,
    request,
    response,
    trouble,
  }));
  // What went meanwhile, with its project or integration, has no attempts any more.
  await sql`
    insert into delivery_attempts select tried.* from json_populate_recordset(null::delivery_attempts, ${storableJson(rows)}::json) as tried
    where exists (select from deliveries where id = tried.delivery_id for key share)`.execute(tx);
  for (const state of ['delivered', 'failed'] as const) {
    const ended = attempts.filter(({ ends }) => ends === state).map(({ waiting }) => waiting);
    await finishDeliveries(tx, ended, state, forgets);
  }
}

export async function finishDeliveries(
  tx: Tx,
  ended: readonly Waiting[],
  state: 'delivered' | 'failed',
  forgets: (kind: string) => boolean,
): Promise<void> {
  if (ended.length === 0) return;
  const forgotten = ended.filter(({ kind }) => forgets(kind)).map(({ id }) => id);
  await sql`
    update deliveries set state = ${state}, finished_at = clock_timestamp(),
      payload_sealed = case when id = any(${forgotten}) then null else payload_sealed end
    where id = any(${ended.map(({ id }) => id)}) and state = 'waiting'`.execute(tx);
}
