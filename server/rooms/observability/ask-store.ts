/**
 * Asks the store of measurements on behalf of a caller. Whoever asks much waits for their own: organizations share the places (kernel/fair-limit.ts), and a caller may have so many
 * questions waiting. Nobody's other requests wait meanwhile, because a question takes no place among those that are handled.
 */
import { isTooMuch, type TooMuch } from '../../drivers/metrics/metrics.ts';
import { fairLimit, withReserve } from '../../kernel/fair-limit.ts';
import { tally } from '../../kernel/limits.ts';
import type { Outside } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import type { Environment } from '../environments/public.ts';
import { partiesOf } from '../projects/public.ts';
import { absent, failureBodies, tooMuchData } from './failures.ts';
import { EnvironmentEntity } from '../environments/public.ts';

/** What operations that ask about an environment have in common. */
export const aboutEnvironment = { on: EnvironmentEntity, permission: 'environment:view', absent, failureBodies } as const;

export interface Asking {
  caller: Caller;
  target: Environment;
  outside: Outside;
}

const askedOfOneMax = 2;
const waitingOfOneMax = 20;
const places = fairLimit(withReserve(askedOfOneMax));
const waiting = tally();

/** Waits for a place and asks. What would be too much is answered by a Problem. */
export async function inTurn<T extends object>(
  { caller, target, outside }: Asking,
  { db }: Pick<Platform, 'db'>,
  ask: () => Promise<T | TooMuch>,
): Promise<T> {
  if (waiting.of(caller.id) >= waitingOfOneMax)
    throw new Problem('too-many-requests', `You have ${waitingOfOneMax} questions about measurements waiting already; send fewer at once.`);
  const end = waiting.add(caller.id);
  try {
    const parties = await partiesOf(db, target.project_id);
    const answer = await outside(() => places.within({ parties, part: target.project_id }, ask));
    if (isTooMuch(answer)) throw tooMuchData();
    return answer;
  } finally {
    end();
  }
}
