/**
 * What is done to a stack outside of activities (it is kept running, sent to sleep, woken) is done one after the other. All of that happens in the
 * process that has the machine, so a queue in memory is enough. They leave alone what an activity is open for; an activity in turn comes here before it
 * touches anything, for whoever looked a moment before it was there, and does not wait for what takes long, such as an app that does not become ready.
 */
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';

interface Turns {
  /** When the last of them has ended; never rejects. */
  done: Promise<void>;
  /** Of those that are not at their end. */
  stops: Set<AbortController>;
}

/** By stack. */
const turnsAt = stateOf<Machine, Map<string, Turns>>(() => new Map());

/** `signal` is aborted when an activity wants the stack. */
export function inTurn<T>(machine: Machine, stackId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const turnsOf = turnsAt(machine);
  const { done: before, stops } = turnsOf.get(stackId) ?? { done: Promise.resolve(), stops: new Set() };
  const stop = new AbortController();
  stops.add(stop);
  const mine = before.then(() => work(stop.signal));
  const done = mine.then(
    () => {},
    () => {},
  );
  const turns = { done, stops };
  turnsOf.set(stackId, turns);
  void done.then(() => {
    stops.delete(stop);
    if (turnsOf.get(stackId) === turns) turnsOf.delete(stackId);
  });
  return mine;
}

/** For activities: stops those who are at it, and resolves when they have ended. */
export async function whenLeftAlone(machine: Machine, stackId: string): Promise<void> {
  const turns = turnsAt(machine).get(stackId);
  for (const stop of turns?.stops ?? []) stop.abort(new Error('An activity works on the stack from here on'));
  await turns?.done;
}
