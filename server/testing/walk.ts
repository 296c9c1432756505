/**
 * Walks a life cycle at random against the real thing: what happens to it is what the table says, and what the table does not allow changes nothing. The same
 * seed takes the same way, and a walk that fails says which way it took.
 */
import { expect } from 'vitest';

interface Life<State extends string, Event extends string> {
  after(state: State, event: Event): State | null;
}

export interface Walked<State extends string, Event extends string, Thing> {
  life: Life<State, Event>;
  /** Makes a new thing; answers with the state in which its life begins. */
  begin(random: Random): Promise<{ thing: Thing; state: State }>;
  /** Makes the event happen, or checks that it is refused where it is not possible; `undefined` where nobody could even try just now. */
  events: Record<Event, (thing: Thing, isPossible: boolean) => (() => Promise<void>) | undefined>;
  /** Undefined where the thing is gone. */
  stateOf(thing: Thing): Promise<State | undefined>;
  /** Checks what is offered and refused in this state, and that the event that just happened, if any, is shown to people as it should be. */
  look(thing: Thing, state: State, happened: Event | undefined): Promise<void>;
}

/** A number from 0 up to, but without, the one that is given. */
export type Random = (below: number) => number;

export function seededRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Where there are possible and impossible events, two of three steps take a possible one: impossible events are many, and lead nowhere. */
const possibleOfThree = 2;

/** Walks through one life after the other; answers with the number of steps. */
export async function walk<State extends string, Event extends string, Thing>(
  seed: number,
  steps: number,
  walked: Walked<State, Event, Thing>,
): Promise<number> {
  const random = seededRandom(seed);
  const pick = pickRarest(random);
  const way: string[] = [];
  try {
    let taken = 0;
    while (taken < steps) taken += await walkOne(walked, steps - taken, random, pick, way);
    return taken;
  } catch (cause) {
    throw new Error(`With seed ${seed}, after ${way.join(', ')}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

type Pick = <T>(all: readonly T[], nameOf: (one: T) => string) => T | undefined;

/** One of those that were picked least often so far: a walk of a few dozen steps then meets nearly all that can happen, also what comes late in a life. */
function pickRarest(random: Random): Pick {
  const times = new Map<string, number>();
  return (all, nameOf) => {
    const least = Math.min(...all.map((one) => times.get(nameOf(one)) ?? 0));
    const rarest = all.filter((one) => (times.get(nameOf(one)) ?? 0) === least);
    const picked = rarest[random(rarest.length)];
    if (picked !== undefined) times.set(nameOf(picked), least + 1);
    return picked;
  };
}

/** Walks through one life, with at most as many steps as are left; answers with the number of steps that it took. */
async function walkOne<State extends string, Event extends string, Thing>(
  { life, begin, events, stateOf, look }: Walked<State, Event, Thing>,
  left: number,
  random: Random,
  pick: Pick,
  way: string[],
): Promise<number> {
  let { thing, state } = await begin(random);
  way.splice(0, way.length, `beginning as ${state}`);
  let happened: Event | undefined;
  for (let step = 1; ; step += 1) {
    expect(await stateOf(thing)).toBe(state);
    await look(thing, state, happened);
    if (step > left) return step;
    const tried = (Object.keys(events) as Event[]).flatMap((event) => {
      const isPossible = life.after(state, event) !== null;
      const happen = events[event](thing, isPossible);
      return happen ? [{ event, isPossible, happen }] : [];
    });
    const leadsOn = tried.some(({ event, isPossible }) => isPossible && life.after(state, event) !== state);
    // At the end of a life a few more events are tried in vain, and then another life begins.
    if (!leadsOn && random(2) === 0) return step;
    const likely = tried.filter(({ isPossible }) => isPossible === random(3) < possibleOfThree);
    const next = pick(likely.length > 0 ? likely : tried, ({ event }) => `${state} ${event}`);
    if (!next) return step;
    way.push(next.event);
    await next.happen();
    const now = await stateOf(thing);
    const expected = life.after(state, next.event) ?? state;
    if (now === undefined) return step;
    expect(now, `the state after ${next.event}`).toBe(expected);
    state = expected;
    happened = next.isPossible ? next.event : undefined;
  }
}
