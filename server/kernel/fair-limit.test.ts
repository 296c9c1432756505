import { describe, expect, test } from 'vitest';
import { fairLimit, withReserve, type Asking, type FairLimitOptions } from './fair-limit.ts';

const never = new AbortController().signal;

const openRoom = (most = 2, changes: Partial<FairLimitOptions> = {}) => {
  const places = fairLimit({ ...withReserve(most), ...changes });
  /** In the order in which they got a place. */
  const begun: string[] = [];
  const ask = (name: string, [patron, party]: readonly [string, string], changes: Partial<Asking> = {}) => {
    const gone = new AbortController();
    const entered = places.enter({ parties: [patron, party], part: name, signal: gone.signal, ...changes });
    const state: { leave: (() => void) | undefined } = { leave: undefined };
    const done = entered.then(
      (leave) => {
        begun.push(name);
        state.leave = leave;
      },
      () => {},
    );
    return {
      name,
      done,
      giveUp: () => gone.abort(new Error('gave up')),
      leave: () => state.leave?.(),
      hasPlace: () => state.leave !== undefined,
    };
  };
  return { ask, begun, settled: () => new Promise((resolve) => setImmediate(resolve)) };
};

describe('a fair limit', () => {
  test('whoever comes while one party has all that it may have finds one at once', async () => {
    const { ask, begun, settled } = openRoom();
    for (let n = 0; n < 26; n += 1) ask(`greedy ${n}`, ['mallory', 'greedy']);
    ask('modest', ['ada', 'modest']);
    await settled();
    expect(begun).toEqual(['greedy 0', 'greedy 1', 'modest']);
  });

  test('a party has no more of them under several names, and its other names are not left out either', async () => {
    const { ask, begun, settled } = openRoom();
    for (const party of ['one', 'two', 'three']) for (const n of [1, 2, 3]) ask(`${party} ${n}`, ['mallory', party]);
    ask('modest', ['ada', 'modest']);
    await settled();
    expect(begun).toEqual(['one 1', 'one 2', 'two 1', 'modest']);
  });

  test('several greedy parties together do not leave out one that has none, nor do as many more as there are places', async () => {
    const { ask, begun, settled } = openRoom();
    for (const patron of ['mallory', 'mike'])
      for (const party of ['one', 'two']) for (const n of [1, 2, 3]) ask(`${patron} ${party} ${n}`, [patron, `${patron} ${party}`]);
    await settled();
    expect(begun).toEqual(['mallory one 1', 'mallory one 2', 'mallory two 1', 'mike one 1']);
    const modest = ask('modest', ['ada', 'modest']);
    ask('modest again', ['ada', 'modest']);
    for (const patron of ['bob', 'carol', 'dan', 'erin']) ask(patron, [patron, patron]);
    await settled();
    expect(begun.slice(4)).toEqual(['modest', 'bob', 'carol', 'dan']);
    // A place beyond the total is for one that has none, and never for who has some.
    modest.leave();
    await settled();
    expect(begun.slice(8)).toEqual(['erin']);
  });

  test('a free one goes to the party that holds least, within it to what is urgent, then to the part that holds least', async () => {
    const { ask, begun, settled } = openRoom(1, { newcomers: 0 });
    const first = ask('greedy', ['mallory', 'greedy']);
    const others = [ask('second', ['bob', 'second']), ask('third', ['carol', 'third'])];
    ask('greedy', ['mallory', 'greedy']);
    ask('again', ['mallory', 'greedy']);
    ask('modest', ['ada', 'modest']);
    ask('urgent', ['ada', 'modest'], { isUrgent: true });
    await settled();
    expect(begun).toEqual(['greedy', 'second', 'third']);
    others[0]?.leave();
    await settled();
    expect(begun.slice(3)).toEqual(['urgent']);
    first.leave();
    await settled();
    expect(begun.slice(4)).toEqual(['again']);
  });

  test('a party can be given fewer', async () => {
    const { ask, begun, settled } = openRoom(4);
    const asked = [1, 2, 3].map((n) => ask(`own ${n}`, ['ada', 'own'], { most: 1 }));
    await settled();
    expect(begun).toEqual(['own 1']);
    asked[0]?.leave();
    await settled();
    expect(begun).toEqual(['own 1', 'own 2']);
  });

  test('whoever gives up waiting is not let in, and one that failed leaves its place', async () => {
    const { ask, begun, settled } = openRoom(1);
    const [first, second, third] = [1, 2, 3].map((n) => ask(`own ${n}`, ['ada', 'own']));
    second?.giveUp();
    await second?.done;
    first?.leave();
    first?.leave();
    await settled();
    expect(begun).toEqual(['own 1', 'own 3']);
    third?.leave();
    const places = fairLimit({ total: 1, most: [1], newcomers: 0 });
    const asking = { parties: ['own'], signal: never };
    await expect(places.within(asking, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await places.within(asking, async () => 'whole')).toBe('whole');
  });
});

test('a crowd of one party is let in in the order in which it came, and costs no more for each than a few would', async () => {
  const places = fairLimit({ total: 24, most: [5], newcomers: 0 });
  const crowd = 20_000;
  const order: number[] = [];
  const all = Array.from({ length: crowd }, (_, n) => places.within({ parties: ['own'] }, async () => void order.push(n)));
  await Promise.all(all);
  expect(order).toEqual(Array.from({ length: crowd }, (_, n) => n));
});

/** The same numbers each time, so that what fails can be looked at. */
const numbersFrom = (seed: number) => {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
};

/** Who comes, goes and gives up in any order. */
test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'limits hold, no place stays free that somebody may have, and everybody gets a turn (%i)',
  async (seed) => {
    const random = numbersFrom(seed + 1);
    const most = 1 + random(4);
    const { total, most: limits, newcomers } = withReserve(most);
    const { ask, settled } = openRoom(most);
    const asked: { each: ReturnType<typeof ask>; parties: readonly [string, string]; isOver: boolean }[] = [];
    const holding = () => asked.filter(({ each, isOver }) => each.hasPlace() && !isOver);
    const waiting = () => asked.filter(({ each, isOver }) => !each.hasPlace() && !isOver);
    const heldBy = (party: string, level: number) => holding().filter(({ parties }) => parties[level] === party).length;
    const mayBegin = ({ parties }: { parties: readonly [string, string] }) =>
      holding().length < (heldBy(parties[0], 0) === 0 ? total + newcomers : total) &&
      parties.every((party, level) => heldBy(party, level) < (limits[level] ?? 0));

    for (let n = 0; n < 200; n += 1) {
      const before = new Set(holding());
      const what = random(10);
      if (what < 5) {
        const patron = `patron ${random(4)}`;
        const parties = [patron, `${patron} party ${random(3)}`] as const;
        asked.push({ each: ask(`part ${random(3)}`, parties, { isUrgent: random(3) === 0 }), parties, isOver: false });
      } else {
        const [one] = (what === 5 ? waiting() : holding()).toSorted(() => random(3) - 1);
        if (one) {
          one.each.leave();
          one.each.giveUp();
          one.isOver = true;
        }
      }
      await settled();
      expect(holding().length).toBeLessThanOrEqual(total + newcomers);
      for (const { parties } of holding())
        parties.forEach((party, level) => expect(heldBy(party, level)).toBeLessThanOrEqual(limits[level] ?? 0));
      expect(waiting().filter(mayBegin)).toEqual([]);
      // Who waits with nothing is passed by nobody who has something.
      const fresh = holding().filter((one) => !before.has(one));
      const isLeftOut = what >= 5 && waiting().some(({ parties: [patron] }) => heldBy(patron, 0) === 0);
      expect(isLeftOut ? fresh.filter(({ parties: [patron] }) => heldBy(patron, 0) > 1) : []).toEqual([]);
    }
    for (let last = Infinity; waiting().length > 0; last = waiting().length) {
      for (const one of holding()) {
        one.each.leave();
        one.isOver = true;
      }
      await settled();
      expect(waiting().length).toBeLessThan(last);
    }
  },
);
