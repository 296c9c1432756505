/**
 * What is done to a stack outside of activities (it is kept running, sent to sleep, woken) is done one after the other. All of that happens in the
 * process that has the machine, so a queue in memory is enough. They leave alone what an activity is open for; an activity in turn comes here before it
 * touches anything, for whoever looked a moment before it was there, and does not wait for what takes long, such as an app that does not become ready.
 */
import { oneAtATime, type OneAtATime } from '../../../kernel/limits.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';

interface Stacks {
  queues: OneAtATime;
  /** By stack: what stops those who work on it, and those who wait for it. */
  stops: Map<string, Set<AbortController>>;
}

const stacksOn = stateOf<Machine, Stacks>(() => ({ queues: oneAtATime(), stops: new Map() }));

/** `signal` is aborted when an activity wants the stack. */
export async function aloneOnStack<T>(machine: Machine, stackId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { queues, stops } = stacksOn(machine);
  const stop = new AbortController();
  const here = stops.get(stackId) ?? new Set();
  stops.set(stackId, here.add(stop));
  try {
    return await queues.run(stackId, () => work(stop.signal));
  } finally {
    here.delete(stop);
    if (here.size === 0) stops.delete(stackId);
  }
}

/** For activities: stops those who work on the stack, and resolves when they have ended. */
export async function whenLeftAlone(machine: Machine, stackId: string): Promise<void> {
  const { queues, stops } = stacksOn(machine);
  for (const stop of stops.get(stackId) ?? []) stop.abort(new Error('An activity works on the stack from here on'));
  await queues.run(stackId, async () => {});
}
