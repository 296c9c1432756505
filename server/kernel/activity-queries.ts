/** The engine's SQL. Everything a runner stores is fenced: it changes nothing unless the runner still holds the lease it was given. */
import { sql } from 'kysely';
import { queueLimits, type Activity } from './activity.ts';
import { activitiesThat, activityLife, type ActivityEnd } from './activity-life-cycle.ts';
import type { Db, Tx } from './sql.ts';

/** Thrown where a runner finds that its activity was given to another. */
export class LeaseLost extends Error {}

export interface Lease {
  readonly id: string;
  readonly fence: number;
}

export interface StoredStep {
  name: string;
  position: number;
  state: 'begun' | 'done' | 'undone';
  result: unknown;
}

/**
 * For what the engine can find out again: if the database's machine loses power, the last moments of it may be lost, and steps are done once more,
 * which they bear. Nobody waits for the disk.
 */
const unhurried = sql`set_config('synchronous_commit', 'off', true)`;

/** One claims at a time, in all processes: what is counted stays true until it is claimed. */
const claimLock = 0x0ff5_0001;

const limits = JSON.stringify(Object.entries(queueLimits).map(([queue, most]) => ({ queue, most })));

/** What a runner has places for: of activities that are carried out, or of those that only follow something. */
export interface RunnerCapacity {
  is_patient: boolean;
  /** How many are free; below zero where newcomers have some beyond the runner's own. */
  free: number;
  /** How many there are beyond the runner's own, one each for outer parties that have none. */
  newcomers: number;
  /** What one party may have of the runner's places, and what all within one outer party may. */
  party_most: number;
  outer_most: number;
}

export interface Claiming {
  leaseSeconds: number;
  capacity: readonly RunnerCapacity[];
  /** Types that only follow something. */
  patient: readonly string[];
  /** Types that the runner leaves alone. */
  except: readonly string[];
  /** Activities that the runner still works on, though it may be late in renewing their leases. */
  inHand: readonly { id: string; is_patient: boolean }[];
}

/**
 * Of those that lost their runner, and of those whose turn it is in all their lanes and that their queues have room for: as many as the runner has places for. Whose
 * party has least in its hands comes first, and none gets all of its places, nor do a few together; within a party, those that were lost, then production, then the project that has least.
 */
export const claim = (db: Db, runner: string, { leaseSeconds, capacity, patient, except, inHand }: Claiming): Promise<Activity[]> =>
  db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${claimLock}), ${unhurried}`.execute(tx);
    await openScheduled(tx);
    const { rows } = await sql<Activity>`
      with in_hand as (
        select is_patient, project_id, party, outer_party from jsonb_to_recordset(${JSON.stringify(inHand)}::jsonb) as held (id text, is_patient boolean)
        join activities using (id) join parties using (project_id)),
      running as (
        select project_id, queue, count(*) as count from activities where ${activitiesThat('goOn')}
          and exists (select from activity_lanes where activity_id = activities.id and is_open) group by project_id, queue),
      turns as (
        select activity_id, lanes, row_number() over lane = 1 or bool_and(is_shared) over lane as has_turn from activity_lanes where is_open
        window lane as (partition by project_id, lane order by position)),
      ready as (
        select id, queue, project_id, type, is_urgent, position, coalesce(running.count, 0)
          + row_number() over (partition by project_id, queue order by is_urgent desc, position) as place
        from activities left join running using (project_id, queue)
        where id = any(array(select activity_id from turns where has_turn group by activity_id, lanes having count(*) = lanes))
          and ${activitiesThat('begin')} and run_after <= clock_timestamp() and type <> all(${except}::text[])),
      admitted as (
        select id, project_id, type, is_urgent, position, false as is_lost
        from ready join jsonb_to_recordset(${limits}::jsonb) as limits (queue text, most integer) using (queue) where place <= coalesce(most, place)
        union all
        select id, project_id, type, is_urgent, position, true from activities
        where ${activitiesThat('goOn')} and lease_until < clock_timestamp() and type <> all(${except}::text[])
          and id not in (select id from jsonb_to_recordset(${JSON.stringify(inHand)}::jsonb) as held (id text))),
      of_parties as (
        select admitted.*, party, outer_party, type = any(${patient}::text[]) as is_patient from admitted join parties using (project_id)),
      ranked as (${ranked}),
      chosen as (
        select id, row_number() over (partition by is_patient order by outer_rank, is_lost desc, is_urgent desc, position)
          <= free + case outer_rank when 1 then newcomers else 0 end as has_place
        from ranked join jsonb_to_recordset(${JSON.stringify(capacity)}::jsonb)
          as places (is_patient boolean, free integer, newcomers integer, party_most integer, outer_most integer) using (is_patient)
        where party_rank <= party_most and outer_rank <= outer_most)
      update activities set state = coalesce(${activityLife.sqlAfter('state', 'begin')}, ${activityLife.sqlAfter('state', 'goOn')}),
        runner = ${runner}, fence = fence + 1,
        lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
        started_at = coalesce(started_at, clock_timestamp()), updated_at = clock_timestamp()
      where id in (select id from chosen where has_place) returning *`.execute(tx);
    return rows.sort((one, other) => Number(one.position) - Number(other.position));
  });

/** Which place each would have among those of its project, its party and its outer party, together with those that the runner has in hand. */
const ranked = sql`
  select by_party.*, coalesce(held.count, 0)
    + row_number() over (partition by is_patient, outer_party order by party_rank, is_lost desc, is_urgent desc, position) as outer_rank
  from (
    select by_project.*, coalesce(held.count, 0)
      + row_number() over (partition by is_patient, party order by is_lost desc, is_urgent desc, project_rank, position) as party_rank
    from (
      select of_parties.*, coalesce(held.count, 0)
        + row_number() over (partition by is_patient, project_id order by is_lost desc, is_urgent desc, position) as project_rank
      from of_parties left join (select project_id, is_patient, count(*) from in_hand group by 1, 2) as held using (project_id, is_patient)
    ) as by_project left join (select party, is_patient, count(*) from in_hand group by 1, 2) as held using (party, is_patient)
  ) as by_party left join (select outer_party, is_patient, count(*) from in_hand group by 1, 2) as held using (outer_party, is_patient)`;

/** What waited for its time takes its place in the lanes now. */
const openScheduled = (tx: Tx) =>
  sql`with due as (
      update activities set state = ${activityLife.sqlAfter('state', 'comeDue')}
      where ${activitiesThat('comeDue')} and run_after <= clock_timestamp() returning id)
    update activity_lanes set is_open = true from due where activity_id = due.id`.execute(tx);

/** The leases that are still held, and whether somebody asked for an end. */
export const renewLeases = async (db: Db, runner: string, ids: readonly string[], leaseSeconds: number) => {
  const { rows } = await sql<{ id: string; fence: number; is_cancelled: boolean }>`
    update activities set lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    where id = any(${ids}) and runner = ${runner} and ${activitiesThat('goOn')}
    returning id, fence, cancel_requested_at is not null as is_cancelled, ${unhurried}`.execute(db);
  return rows;
};

/** Gives the activity back, to be claimed again after so many seconds; `attempts` counts the times that something went wrong. */
export const releaseLease = (db: Db, lease: Lease, afterSeconds: number, attempts: number) =>
  held(
    lease,
    sql`update activities set runner = null, lease_until = clock_timestamp() + make_interval(secs => ${afterSeconds}), attempts = ${attempts}
      where id = ${lease.id} and fence = ${lease.fence}`.execute(db),
  );

export const stepsOf = async (db: Db, id: string): Promise<StoredStep[]> => {
  const { rows } = await sql<StoredStep>`
    select name, position, state, result from activity_steps where activity_id = ${id} order by position`.execute(db);
  return rows;
};

/** Stores the result of a step that can be done again, in no transaction with anything else. */
export const storeStep = (db: Db, lease: Lease, step: StoredStep) =>
  held(lease, sql`${storing(lease, step)} returning ${unhurried}`.execute(db));

/** Stores the result of a step in the transaction of the change that it stands for. */
export const storeStepWith = (tx: Tx, lease: Lease, step: StoredStep) => held(lease, storing(lease, step).execute(tx));

const storing = (lease: Lease, { name, position, state, result }: StoredStep) =>
  sql`insert into activity_steps (activity_id, name, position, state, result)
      select id, ${name}, ${position}, ${state}, ${JSON.stringify(result ?? null)}::jsonb from activities
      where id = ${lease.id} and fence = ${lease.fence} for share
      on conflict (activity_id, name) do update set state = excluded.state, result = excluded.result`;

export const beginUndoing = (db: Db, lease: Lease, failure: string) =>
  held(
    lease,
    sql`update activities set is_undoing = true, failure = coalesce(failure, ${failure}), attempts = 0
      where id = ${lease.id} and fence = ${lease.fence}`.execute(db),
  );

export interface Amendments {
  percent: number | undefined;
  commands: readonly object[];
  payload: Record<string, unknown>;
  timings: Record<string, number>;
}

/** What became known of an activity while it runs, and the lines it wrote. */
export const amend = (db: Db, lease: Lease, { percent, commands, payload, timings }: Amendments, lines: readonly LogRow[]) =>
  held(
    lease,
    sql`with mine as (
        update activities set completion_percent = greatest(completion_percent, ${percent ?? 0}), commands = commands || ${JSON.stringify(commands)}::jsonb,
          payload = payload || ${JSON.stringify(payload)}::jsonb, timings = timings || ${JSON.stringify(timings)}::jsonb, updated_at = clock_timestamp()
        where id = ${lease.id} and fence = ${lease.fence} returning id),
      logged as (
        insert into activity_log (activity_id, position, at, message)
        select mine.id, line.position, line.at, line.message
        from mine, jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) as line (position integer, at timestamptz, message text))
      select pg_notify('offshoot', 'log ' || id), ${unhurried} from mine`.execute(db),
  );

export interface LogRow {
  position: number;
  at: string;
  message: string;
}

export interface Ending {
  event: ActivityEnd;
  /** The lane whose release a staged activity waits for. */
  staged_in: string | null;
  result: 'success' | 'failure';
  failure_reason: 'error' | 'shell' | null;
  kept_days: number | undefined;
}

export const finish = (db: Db, lease: Lease, { event, staged_in, result, failure_reason, kept_days }: Ending) =>
  held(
    lease,
    sql`with ended as (
        update activities set state = ${activityLife.sqlAfter('state', event)}, result = ${result}, failure_reason = ${failure_reason},
          completion_percent = 100, staged_in = ${staged_in}, completed_at = case when ${event !== 'stage'} then clock_timestamp() end,
          updated_at = clock_timestamp(), runner = null, lease_until = null,
          cancelled_at = case when ${event === 'stop'} then clock_timestamp() end,
          expires_at = coalesce(clock_timestamp() + make_interval(days => ${kept_days ?? null}::integer), expires_at),
          timings = timings || jsonb_build_object('wait', extract(epoch from started_at - created_at)::float,
            'execute', extract(epoch from clock_timestamp() - started_at)::float)
        where id = ${lease.id} and fence = ${lease.fence} and ${activitiesThat(event)} returning id),
      lanes as (update activity_lanes set is_open = false from ended where activity_id = ended.id)
      select pg_notify('offshoot', 'log ' || id), pg_notify('offshoot', 'work ') from ended`.execute(db),
  );

/** Whatever waits behind the activity, in a lane or in the queue, may begin, though the activity goes on. */
export const leaveLanes = async (tx: Tx, { id }: Lease): Promise<void> =>
  void (await sql`with passed as (update activity_lanes set is_open = false where activity_id = ${id})
    select pg_notify('offshoot', 'work ')`.execute(tx));

/** Completes the activities that rest in the lane, with the results that they have, in the transaction of the change that they waited for. */
export const releaseStaged = (tx: Tx, projectId: string, lane: string) =>
  sql`update activities set state = ${activityLife.sqlAfter('state', 'release')}, staged_in = null, completed_at = clock_timestamp(),
      updated_at = clock_timestamp()
    where project_id = ${projectId} and staged_in = ${lane} and ${activitiesThat('release')}`.execute(tx);

/** Cancels an activity that nobody has begun. Undefined: it is too late for that. */
export const cancelWaiting = async (tx: Tx, id: string): Promise<Activity | undefined> => {
  const { rows } = await sql<Activity>`
    with ended as (
      update activities set state = ${activityLife.sqlAfter('state', 'cancel')}, result = 'failure', completion_percent = 100,
        completed_at = clock_timestamp(), cancelled_at = clock_timestamp(), updated_at = clock_timestamp()
      where id = ${id} and ${activitiesThat('cancel')} and ${activitiesThat('wait')} returning *),
    lanes as (update activity_lanes set is_open = false from ended where activity_id = ended.id)
    select ended.*, pg_notify('offshoot', 'log ' || id), pg_notify('offshoot', 'work ') from ended`.execute(tx);
  return rows[0];
};

export const askToCancel = async (tx: Tx, id: string): Promise<Activity | undefined> => {
  const { rows } = await sql<Activity>`
    with asked as (
      update activities set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()), updated_at = clock_timestamp()
      where id = ${id} and ${activitiesThat('cancel')} and ${activitiesThat('goOn')} and is_cancellable returning *)
    select asked.*, pg_notify('offshoot', 'cancel ' || id) from asked`.execute(tx);
  return rows[0];
};

/** Throws where the statement changed nothing: another runner has the activity. */
async function held(lease: Lease, changed: Promise<{ rows: unknown[]; numAffectedRows?: bigint }>): Promise<void> {
  const { rows, numAffectedRows = 0n } = await changed;
  if (rows.length === 0 && numAffectedRows === 0n) throw new LeaseLost(`The lease on activity ${lease.id} was lost.`);
}
