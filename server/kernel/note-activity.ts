/** What has happened already, told as an activity: it is over when it is written down, no runner has anything to do, and nobody waits behind it. */
import { sql } from 'kysely';
import type { Queue } from './activity.ts';
import type { ActivityState } from './activity-life-cycle.ts';
import { shortId } from './id.ts';
import type { Tx } from './sql.ts';

export interface Happening {
  project_id: string;
  environment: { id: string; type: string };
  /** What of the project's it follows from. */
  integration?: string;
  type: string;
  /** Success, unless something else is said. */
  result?: 'success' | 'failure';
  sentence: { description: string; text: string };
  parameters: Record<string, unknown>;
  payload: Record<string, unknown>;
  /** Whole lines. */
  log: string;
  /** How long it is listed. */
  keptDays: number;
}

const queue: Queue = 'internal';
const state: ActivityState = 'complete';

/** Part of the transaction in which it happens: it is told exactly once. */
export const noteActivity = (
  tx: Tx,
  { project_id, environment, integration, type, result = 'success', sentence, parameters, payload, log, keptDays }: Happening,
) =>
  sql`with noted as (
      insert into activities (id, project_id, type, queue, environments, environment_types, integration, state, result, completion_percent, parameters,
        payload, description, text, is_cancellable, started_at, completed_at, expires_at)
      values (${shortId()}, ${project_id}, ${type}, ${queue}, array[${environment.id}], array[${environment.type}], ${integration ?? null}, ${state},
        ${result}, 100,
        ${JSON.stringify(parameters)}::jsonb, ${JSON.stringify(payload)}::jsonb, ${sentence.description}, ${sentence.text}, false,
        clock_timestamp(), clock_timestamp(), clock_timestamp() + make_interval(days => ${keptDays}::integer))
      returning id, project_id, position, created_at),
    listed as (
      insert into activity_lanes (activity_id, project_id, lane, position, created_at, is_open)
      select id, project_id, ${environment.id}, position, created_at, false from noted)
    insert into activity_log (activity_id, position, at, message) select id, 0, created_at, ${log} from noted`.execute(tx);
