/** What was sent for an integration, in the form of an activity: its attempts are the log. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { ActivityState } from '../../kernel/activity-life-cycle.ts';
import type { Db } from '../../kernel/sql.ts';
import { countOf, sentence, strong, untilOf, type ActivityQuery } from '../activities/public.ts';
import { attemptsOf, deliveriesOfIntegration, type SeenAttempt, type SeenDelivery } from '../deliveries/public.ts';
import type { IntegrationActivity } from './integration-activity.ts';

/** Whose it was. */
export interface Receiver {
  id: string;
  type: string;
  project_id: string;
  organization_id: string;
}

type Progress = SeenDelivery['progress'];

const progressAsState: Record<Progress, { state: ActivityState; result: 'success' | 'failure' | null }> = {
  waiting: { state: 'pending', result: null },
  trying: { state: 'in_progress', result: null },
  delivered: { state: 'complete', result: 'success' },
  failed: { state: 'complete', result: 'failure' },
  cancelled: { state: 'cancelled', result: null },
};

const typeOf = ({ type }: Receiver) => `integration.${type}`;

export async function deliveriesAsActivities(
  db: Db,
  receiver: Receiver,
  query: Static<typeof ActivityQuery>,
): Promise<IntegrationActivity[]> {
  const { type, state, result } = query;
  if (type && !type.includes(typeOf(receiver))) return [];
  const progress = (Object.keys(progressAsState) as Progress[]).filter((each) => {
    const shown = progressAsState[each];
    return (!state || state.includes(shown.state)) && (!result || (shown.result !== null && result.includes(shown.result)));
  });
  const rows = await deliveriesOfIntegration(db, receiver.id, { until: untilOf(query), progress, count: countOf(query) });
  return rows.map((row) => asActivity(receiver, row));
}

export async function deliveryAsActivity(db: Db, receiver: Receiver, id: string): Promise<IntegrationActivity | undefined> {
  const [row] = await deliveriesOfIntegration(db, receiver.id, { id, count: 1 });
  if (!row) return undefined;
  const log = linesOf(await attemptsOf(db, id)).map(({ message }) => message);
  return { ...asActivity(receiver, row), log: log.join('') };
}

function asActivity(receiver: Receiver, delivery: SeenDelivery): IntegrationActivity {
  const { id, progress, about, repeats, created_at, begun_at, tried_at, finished_at } = delivery;
  const { state, result } = progressAsState[progress];
  const payload = { ...(about as Record<string, unknown>), ...(repeats !== null && { repeats }) };
  return {
    id,
    type: typeOf(receiver),
    project: receiver.project_id,
    project_id: receiver.project_id,
    organization_id: receiver.organization_id,
    integration: receiver.id,
    environments: [],
    environment_types: [],
    parameters: { integration: receiver.id, ...payload },
    payload,
    state,
    result,
    failure_reason: result === 'failure' ? 'error' : null,
    completion_percent: finished_at === null ? 0 : 100,
    created_at,
    updated_at: finished_at ?? tried_at ?? created_at,
    started_at: begun_at,
    completed_at: finished_at,
    cancelled_at: progress === 'cancelled' ? finished_at : null,
    expires_at: null,
    timings: {},
    commands: [],
    log: '',
    ...sentenceOf(receiver, payload),
    isCancellable: finished_at === null,
    isRepeatable: finished_at !== null && delivery.is_kept,
  };
}

const sentenceOf = ({ type }: Receiver, { activity_type }: Record<string, unknown>) =>
  typeof activity_type === 'string'
    ? sentence`The integration ${strong(type)} was told of ${strong(activity_type)}`
    : sentence`The integration ${strong(type)} was sent a message`;

interface Line {
  position: number;
  at: string;
  message: string;
}

/** Two lines for each attempt: what went out, and what came back. */
const linesOf = (attempts: readonly SeenAttempt[]): Line[] =>
  attempts.flatMap(({ number, begun_at, milliseconds, request, response, trouble }, nth) => {
    const sent = `Attempt ${number}: ${requestText(request as Shown)}`;
    const answered = `Attempt ${number}: ${answerText(response as Shown, trouble)} (${milliseconds} ms)`;
    return [sent, answered].map((text, half) => ({ position: nth * 2 + half, at: begun_at, message: `${text}\n` }));
  });

type Shown = Readonly<Record<string, unknown>> | null;

function textIn(shown: NonNullable<Shown>, name: string): string {
  const value = shown[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const requestText = (request: Shown) =>
  request === null ? 'begun' : `${textIn(request, 'method')} ${textIn(request, 'url')}, ${textIn(request, 'bytes')} bytes`;

const bodyCharactersMax = 1000;

function answerText(response: Shown, trouble: string | null): string {
  if (response === null) return trouble ?? 'delivered';
  const body = textIn(response, 'body').replaceAll(/\s+/g, ' ').trim().slice(0, bodyCharactersMax);
  return `HTTP ${textIn(response, 'status')}${body === '' ? '' : `: ${body}`}`;
}

const lookAgainMilliseconds = 1000;

/** The log as clients stream it: attempts as they come, until there will be none. */
export async function* deliveryLogLines(db: Db, integrationId: string, id: string, gone: AbortSignal): AsyncGenerator<string> {
  for (let next = 0; !gone.aborted;) {
    // The state first: attempts that are stored before an end cannot be missed by a look that begins after it.
    const [delivery] = await deliveriesOfIntegration(db, integrationId, { id, count: 1 });
    const lines = linesOf(await attemptsOf(db, id)).slice(next);
    next += lines.length;
    for (const { position, at, message } of lines)
      yield `${JSON.stringify({ _id: `${id}-${position}`, data: { timestamp: at, message } })}\n`;
    if (!delivery || delivery.finished_at !== null) {
      yield '{"seal":true}\n';
      return;
    }
    await sleep(lookAgainMilliseconds, undefined, { signal: gone }).catch(() => {});
  }
}
