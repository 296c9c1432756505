/**
 * Durable work. An activity is recorded in the transaction of the change that it follows from, and carried out by a runner in named steps whose
 * results are kept: after `kill -9` another runner goes on at the first step that has none.
 *
 * - `step` does something in the outside world. It may be done twice (killed between doing and recording), so it must bear that.
 * - `record` changes the database together with the step's result: exactly once.
 * - `undo`, given to either, takes it back when a later step fails or the activity is cancelled. It is known before the step begins, and must
 *   bear finding nothing to take back. Undoing goes from the last step to the first, and survives a kill like everything else.
 *
 * A Problem ends the activity as failed, with its sentence in the log; anything else is tried again, a few times.
 */
import { sql, type Selectable } from 'kysely';
import type { Static, TSchema } from 'typebox';
import type { Database } from '../database.ts';
import type { Platform } from '../platform.ts';
import { activitiesThat, firstState, type ActivityState } from './activity-life-cycle.ts';
import { recordBeginning } from './audit.ts';
import { shortId } from './id.ts';
import { Problem } from './problem.ts';
import type { Tx } from './sql.ts';
import { refuseFurtherActivities } from './waiting-activities.ts';

/** How many activities of one project run at once, by queue. */
export const queueLimits = { default: 2, integration: 4, backup: 2, cron: 10, task: 4, internal: null } as const;
export type Queue = keyof typeof queueLimits;

export type Activity = Omit<Selectable<Database['activities']>, 'state'> & { state: ActivityState };

export interface ActivityDefinition<Input extends TSchema = TSchema> {
  /** As clients know it: `environment.push`. */
  type: string;
  queue: Queue;
  /** What `run` is given: stored with the activity, and parsed when it is read back. */
  input: Input;
  /** Whether somebody may stop it once it runs; waiting ones can always be cancelled. */
  cancellable: boolean;
  /** Whether it may touch the machine, which one process has; other runners leave it alone. */
  usesMachine?: boolean;
  /** Whether it spends most of its time waiting, or following what something else does: however many such activities there are, they delay no others. */
  isPatient?: boolean;
  /** How long it is listed after its end; without end where absent. */
  keptDays?: number;
  run(work: Work<Static<Input>>, platform: Platform): Promise<void>;
}

/** What an activity has in hand while it runs. */
export interface Work<Input> {
  readonly activity: Activity;
  readonly input: Input;
  /** Aborted when the activity is cancelled, the runner stops, or its lease is lost. */
  readonly signal: AbortSignal;
  step<T>(name: string, work: (signal: AbortSignal) => Promise<T>, undo?: Undo<T>): Promise<T>;
  record<T>(name: string, change: (tx: Tx) => Promise<T>, undo?: Undo<T>): Promise<T>;
  /** Lines for whoever watches; each call is one or more whole lines. */
  log(text: string): void;
  /** How far it is; never back, and never to 100, which is its end. */
  progress(percent: number): void;
  /** How a command of the user's ended; one that failed is shown as such even where the activity goes on. */
  command(command: { app: string; type: string; exit_code: number }): void;
  /** Adds to what webhooks and clients are told about it. */
  tell(payload: Record<string, unknown>): void;
  /**
   * It goes only as far as it can without anybody seeing it. Unless it is cancelled, it does not end with its result, but rests with it, out of the
   * way of others, until its lane is released (`releaseStaged`). Call it at the same place of every run.
   */
  stage(lane: string): void;
  /**
   * From here on it touches nothing that is its environments': whoever waits behind it, there or in its queue, goes on, and so does it, beside them. What
   * it may have to undo later has to bear that.
   */
  letOthersPass(): Promise<void>;
  /** While the activity waits for what others have, such as a place to build, it takes no place of the runner's: however many wait, others are carried out. */
  wait<T>(others: Promise<T>): Promise<T>;
}

/** Given the step's result, or undefined where it may have been interrupted. */
export type Undo<T> = (result: T | undefined) => Promise<void>;

export const activity = <Input extends TSchema>(
  definition: Omit<ActivityDefinition<Input>, 'cancellable'> & { cancellable?: boolean },
): ActivityDefinition<Input> => ({ cancellable: true, ...definition });

/** The user's own command failed, not the platform. */
export class CommandFailed extends Problem {
  constructor(message: string) {
    super('invalid-request', message);
  }
}

export interface Start<Input> {
  project_id: string;
  /** What it works on, each for itself alone; none: the project as a whole. */
  environments?: readonly { id: string; type: string }[];
  /**
   * It does not change what runs there, and goes on beside others that say the same: one at a time of each name. Whoever says nothing has the
   * environments to itself: waits for those before it, and those after it wait.
   */
  beside?: string;
  /** In place of environments and the project: the line in which it waits, whose name has a space. Whatever else goes on in the project is not its concern. */
  lane?: string;
  integration?: string;
  input: Input;
  parameters?: Record<string, unknown>;
  payload?: Record<string, unknown>;
  /** One sentence, with marks and without (rooms/activities/sentence.ts). */
  sentence?: { description: string; text: string };
  /** The activity does not begin before this time. */
  at?: Date;
  /** It follows by itself from what was accepted before, or ends something: it is started however many wait (waiting-activities.ts). */
  isOwed?: boolean;
}

/** Part of the transaction that records the intent: the activity exists exactly when the intent does. */
export async function startActivity<Input extends TSchema>(
  tx: Tx,
  definition: ActivityDefinition<Input>,
  {
    project_id,
    environments = [],
    beside,
    lane,
    integration,
    input,
    parameters = {},
    payload = {},
    sentence,
    at,
    isOwed = false,
  }: Start<Static<Input>>,
): Promise<Activity> {
  if (!isOwed) await refuseFurtherActivities(tx, project_id);
  const shared = lane === undefined ? lanesOf(environments.map(({ id }) => id)) : [lane];
  const lanes = beside === undefined ? shared : [...shared, ...shared.map((each) => `${each} ${beside}`)].sort();
  await takeLanes(tx, project_id, lanes);
  const isLater = at !== undefined && at.getTime() > Date.now();
  const { rows } = await sql<Activity>`
    with started as (
      insert into activities (id, project_id, type, queue, environments, environment_types, integration, state, parameters, payload,
        description, text, input, is_urgent, is_cancellable, run_after)
      values (${shortId()}, ${project_id}, ${definition.type}, ${definition.queue}, ${environments.map(({ id }) => id)}::text[],
        ${environments.map(({ type }) => type)}::text[], ${integration ?? null}, ${firstState(isLater)},
        ${JSON.stringify(parameters)}::jsonb, ${JSON.stringify(payload)}::jsonb, ${sentence?.description ?? null}, ${sentence?.text ?? null},
        ${JSON.stringify(input)}::jsonb, ${environments.some(({ type }) => type === 'production')}, ${definition.cancellable},
        coalesce(${at?.toISOString() ?? null}::timestamptz, '-infinity'))
      returning *),
    laned as (
      insert into activity_lanes (activity_id, project_id, lane, position, created_at, lanes, is_open, is_shared)
      select id, project_id, lane, position, created_at, ${lanes.length}::integer, ${activitiesThat('begin', 'started')},
        ${beside !== undefined}::boolean and lane = any(${shared}::text[]) from started, unnest(${lanes}::text[]) as lane),
    told as (${beside === undefined ? tellOfWaiting(shared) : sql`select`})
    select started.*, pg_notify('offshoot', 'work ') from started`.execute(tx);
  const [{ pg_notify: _, ...row }] = rows as [Activity & { pg_notify: unknown }];
  await recordBeginning(tx, { id: row.id, project_id, type: definition.type, payload, text: sentence?.text });
  return row;
}

const toldMax = 10;

/**
 * The first lines of the log of one that wants its lanes for itself (`started`): what goes on there beside others may be a command of people's own, and take
 * hours, and whoever watches sees nothing else until it has ended.
 */
const tellOfWaiting = (lanes: readonly string[]) => sql`
  insert into activity_log (activity_id, position, at, message)
  select started.id, row_number() over (order by ahead.position) - 1, clock_timestamp(),
    'Waiting for this to end: ' || replace(coalesce(ahead.text, ahead.type), '**', '') || E'. Whoever cannot wait cancels it (activity:cancel ' || ahead.id || E').\n'
  from started, activities as ahead
  where ${activitiesThat('begin', 'started')} and ahead.id in (select activity_id from activity_lanes
    where project_id = started.project_id and lane = any(${lanes}::text[]) and is_open and is_shared)
  order by ahead.position limit ${toldMax}`;

/** The lane of the project as a whole. No branch has this name, nor one with a space, which names of shared lanes have. */
const wholeProject = '';
const lanesOf = (environments: readonly string[]) => (environments.length === 0 ? [wholeProject] : [...new Set(environments)].sort());

/** Until the transaction ends nobody else starts anything here, so that the order of positions is the order in which others see them. */
const takeLanes = (tx: Tx, projectId: string, lanes: readonly string[]) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${projectId} || ' ' || lane, 0))
    from unnest(${lanes}::text[]) as lane`.execute(tx);
