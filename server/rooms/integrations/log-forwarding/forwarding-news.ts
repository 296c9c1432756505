/**
 * What the people of a project are told of the forwarding of their logs, as activities of the integration: that a sink takes nothing, when that has lasted a while; that
 * it takes lines again; that lines are missing there. What was told last is what the database says, so it is told once, also over restarts.
 */
import { sql } from 'kysely';
import type { ForwarderEvent } from '../../../drivers/log-sinks/forwarder.ts';
import { noteActivity } from '../../../kernel/note-activity.ts';
import type { Db } from '../../../kernel/sql.ts';
import { environment as named, sentence, strong } from '../../activities/public.ts';
import type { WantedForwarding } from './wanted-forwardings.ts';

/** What is known of one forwarding in this process. */
export interface Condition {
  trouble?: { why: string; since: number } | undefined;
  /** Whether lines were taken since this process began, so that what was told earlier may be over. */
  hasSent: boolean;
  missing?: { refused: number; bytes: number; why: string } | undefined;
  missingToldAt?: number;
  /** What was told last of trouble; undefined: nobody looked yet. */
  isTroubleTold?: boolean;
}

export const unknownCondition = (): Condition => ({ hasSent: false });

/** Sinks are away for moments, and come back before anybody could do something about it. */
const lastingMilliseconds = 60_000;
const missingEveryMilliseconds = 3_600_000;
const keptDays = 30;

export function hear(condition: Condition, event: ForwarderEvent, now: number): void {
  const { refused = 0, bytes = 0, why = '' } = condition.missing ?? {};
  const heard: { [Is in ForwarderEvent['is']]: (event: Extract<ForwarderEvent, { is: Is }>) => void } = {
    trouble: (told) => void (condition.trouble ??= { why: told.why, since: now }),
    recovered: () => void (condition.trouble = undefined),
    sent: () => void (condition.hasSent = true),
    refused: (told) => void (condition.missing = { refused: refused + told.records, bytes, why: told.why }),
    lost: (told) => void (condition.missing = { refused, bytes: bytes + told.bytes, why }),
  };
  heard[event.is](event as never);
}

type News = 'trouble' | 'recovered' | 'missing';

/** Tells what is to be told by now. */
export async function tellNews(db: Db, forwarding: WantedForwarding, condition: Condition, now: number): Promise<void> {
  const { trouble, missing, missingToldAt = -Infinity } = condition;
  const lasts = trouble !== undefined && now - trouble.since >= lastingMilliseconds;
  if (lasts || (!trouble && condition.hasSent)) condition.isTroubleTold ??= await isTroubleTold(db, forwarding);
  if (lasts && !condition.isTroubleTold) {
    await note(
      db,
      forwarding,
      'trouble',
      `${trouble.why}\nLines wait in the logs until it takes them, and are lost where logs are too short for that.\n`,
    );
    condition.isTroubleTold = true;
  }
  if (!trouble && condition.isTroubleTold) {
    await note(db, forwarding, 'recovered', 'Lines that waited are sent first.\n');
    condition.isTroubleTold = false;
  }
  if (missing && now - missingToldAt >= missingEveryMilliseconds) {
    await note(db, forwarding, 'missing', told(missing));
    [condition.missing, condition.missingToldAt] = [undefined, now];
  }
}

const told = ({ refused, bytes, why }: NonNullable<Condition['missing']>) =>
  [
    ...(refused > 0 ? [`Lines that were refused: ${refused}. ${why}\n`] : []),
    ...(bytes > 0 ? [`Bytes that were rotated away before they could be sent: ${bytes} or more.\n`] : []),
  ].join('');

const isTroubleTold = async (db: Db, { project_id, integration, type, environment }: WantedForwarding): Promise<boolean> => {
  const { rows } = await sql<{ news: News }>`
    select parameters->>'news' as news from activities
    where project_id = ${project_id} and integration = ${integration} and type = ${`integration.${type}`} and environments = array[${environment.id}]
      and parameters->>'news' in ('trouble', 'recovered')
    order by created_at desc, position desc limit 1`.execute(db);
  return rows[0]?.news === 'trouble';
};

const sentenceOf: Readonly<Record<News, (forwarding: WantedForwarding) => ReturnType<typeof sentence>>> = {
  trouble: ({ environment, integration, type }) =>
    sentence`Logs of ${named(environment)} are not taken by the ${strong(type)} integration ${strong(integration)}`,
  recovered: ({ environment, integration, type }) =>
    sentence`Logs of ${named(environment)} are taken by the ${strong(type)} integration ${strong(integration)} again`,
  missing: ({ environment, integration, type }) =>
    sentence`Lines of the logs of ${named(environment)} did not get to the ${strong(type)} integration ${strong(integration)}`,
};

const note = (db: Db, forwarding: WantedForwarding, news: News, log: string) =>
  db.transaction().execute((tx) =>
    noteActivity(tx, {
      project_id: forwarding.project_id,
      environment: forwarding.environment,
      integration: forwarding.integration,
      type: `integration.${forwarding.type}`,
      result: news === 'recovered' ? 'success' : 'failure',
      sentence: sentenceOf[news](forwarding),
      parameters: { integration: forwarding.integration, environment: forwarding.environment.id, news },
      payload: {},
      log,
      keptDays,
    }),
  );
