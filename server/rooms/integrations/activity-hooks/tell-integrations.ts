/**
 * Tells integrations of activities. Each change of a state is written down by the database with the change itself (0051_activity_events.sql); here it
 * is decided whom it concerns, and what it becomes for each is recorded in the transaction in which it is crossed out: nothing is told twice or forgotten.
 */
import { sql, type Selectable } from 'kysely';
import type { Database } from '../../../database.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { ActivityEntity, type ListedActivity } from '../../activities/public.ts';
import { opened, type Integration } from '../integration.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import { concerns, type HookFilters } from './concerns.ts';
import { recordPurge, recordWebhook } from './hook-delivery.ts';
import { startScript } from '../scripts/script-activity.ts';

type ActivityEvent = Omit<Selectable<Database['activity_events']>, 'state'> & Pick<ListedActivity, 'state'>;

const eventsMax = 100;

export const tellIntegrations: Reconciler = {
  name: 'tell integrations',
  everySeconds: 30,
  run: async (platform, signal) => {
    let events = await eventsAfter(platform.db, '0');
    const held = new Set<string>();
    while (events.length > 0 && !signal.aborted) {
      for (const event of events) if (!held.has(event.project_id)) await tellOrHold(platform, event, held);
      events = await eventsAfter(platform.db, events.at(-1)?.id ?? '');
    }
  },
};

const eventsAfter = async (db: Db, id: string): Promise<ActivityEvent[]> => {
  const { rows } = await sql<ActivityEvent>`select * from activity_events where id > ${id} order by id limit ${eventsMax}`.execute(db);
  return rows;
};

/** Trouble that lasts longer than this is a mistake of ours, which must not keep a project silent for ever. */
const heldMinutesMax = 10;

/** What cannot be told now stays for the next look, and so does what came after it in the project: receivers hear of activities in their order. Nobody else is kept waiting. */
async function tellOrHold(platform: Platform, event: ActivityEvent, held: Set<string>): Promise<void> {
  await tell(platform, event).catch((error: unknown) => {
    platform.log.warn({ error, activity: event.activity_id }, 'integrations could not be told of an activity');
    if (Date.now() - Date.parse(event.created_at) < heldMinutesMax * 60_000) held.add(event.project_id);
  });
}

async function tell(platform: Platform, event: ActivityEvent): Promise<void> {
  const { project_id: projectId, activity_id: activityId, state, result, completion_percent } = event;
  const now = await ActivityEntity.load({ projectId, activityId }, platform);
  /** It may have gone on meanwhile; what is told is the state that it came to then. */
  const activity = now && { ...now, state, result, completion_percent };
  await platform.db.transaction().execute(async (tx) => {
    if (activity)
      for (const integration of await hearers(tx, platform, event, activity)) await tellOne(tx, platform, integration, activity);
    await tx.deleteFrom('activity_events').where('id', '=', event.id).execute();
  });
}

/** Those that were there when it happened, and that it concerns; in the order of their lanes, as deliveries have to be recorded. */
async function hearers(tx: Tx, { secrets }: Platform, event: ActivityEvent, activity: ListedActivity): Promise<Integration[]> {
  const { rows } = await sql<StoredIntegration>`
    select integrations.*, ${activity.organization_id}::text as organization_id from integrations
    where project_id = ${event.project_id} and hears_activities and created_at <= ${event.created_at} order by id`.execute(tx);
  const all = rows.map((row) => opened(secrets, row));
  return all.filter(({ values }) => concerns(values as unknown as HookFilters, activity));
}

type Tell = (tx: Tx, platform: Platform, integration: Integration, activity: ListedActivity) => Promise<unknown>;

/** How integrations of each type that hears of activities are told. */
const tellByType: Record<string, Tell> = { webhook: recordWebhook, script: startScript, 'cdn.fastly': recordPurge };

async function tellOne(tx: Tx, platform: Platform, integration: Integration, activity: ListedActivity): Promise<void> {
  const tellIt = tellByType[integration.type];
  if (!tellIt) throw new Error(`Nobody says how integrations of the type ${integration.type} are told of activities`);
  await tellIt(tx, platform, integration, activity);
}
