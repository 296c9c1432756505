import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { forEachAtMost, limit, oneAtATime, tally } from './limits.ts';

/** Work that is told when to end, and notes that it has begun. */
function openWork() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => async () => {
    begun.push(name);
    ends.set(name, Promise.withResolvers());
    return ends.get(name)!.promise;
  };
  const end = (name: string) => {
    ends.get(name)?.resolve(name);
    return settled();
  };
  const fail = (name: string) => {
    ends.get(name)?.reject(new Error(name));
    return settled();
  };
  return { begun, work, end, fail };
}

test('a limit lets so many do their work at once, and the others in the order in which they came, also after one that failed', async () => {
  const { begun, work, end, fail } = openWork();
  const two = limit(2);
  const all = ['a', 'b', 'c', 'd'].map((name) => two(work(name)).catch(({ message }: Error) => `${message} failed`));
  expect(begun).toEqual(['a', 'b']);
  await fail('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  await end('d');
  await end('c');
  expect(await Promise.all(all)).toEqual(['a', 'b failed', 'c', 'd']);
});

test('one at a time of a name, in order, beside those of other names', async () => {
  const { begun, work, end, fail } = openWork();
  const { run, ifFree, over } = oneAtATime();
  const waits: string[] = [];
  const ask = (name: string, of: string) => run(of, work(name), { onWait: () => waits.push(name) }).catch(() => 'failed');
  const all = [ask('a', 'one'), ask('b', 'one'), ask('c', 'one'), ask('d', 'two')];
  await settled();
  expect([begun, waits]).toEqual([
    ['a', 'd'],
    ['b', 'c'],
  ]);
  expect(await ifFree('one', work('e'))).toBeUndefined();
  let isOver = false;
  const ending = over().then(() => (isOver = true));
  await fail('a');
  await end('b');
  await end('d');
  expect([begun, isOver]).toEqual([['a', 'd', 'b', 'c'], false]);
  await end('c');
  expect(await Promise.all(all)).toEqual(['failed', 'b', 'c', 'd']);
  await ending;
  expect(await ifFree('one', async () => 'free')).toBe('free');
});

test('whoever gives up waiting is passed, and lets nobody in before their turn', async () => {
  const { begun, work, end } = openWork();
  const { run, ifFree } = oneAtATime();
  const gone = new AbortController();
  const first = run('one', work('first'));
  const second = run('one', work('second'), { signal: gone.signal });
  const third = run('one', work('third'));
  gone.abort(new Error('gave up'));
  await expect(second).rejects.toThrow('gave up');
  await expect(run('one', work('never'), { signal: gone.signal })).rejects.toThrow('gave up');
  await settled();
  expect(begun).toEqual(['first']);
  await end('first');
  expect(begun).toEqual(['first', 'third']);
  await end('third');
  expect(await Promise.all([first, third])).toEqual(['first', 'third']);
  // Free at the very moment that the last one has ended.
  expect(await run('one', async () => 'last').then(() => ifFree('one', async () => 'free'))).toBe('free');
});

test('work for each of many goes on a few at a time, until it fails or is aborted', async () => {
  const { begun, work, end } = openWork();
  const stop = new AbortController();
  const done = forEachAtMost(2, ['a', 'b', 'c', 'd', 'e'], async (name) => void (await work(name)()), stop.signal);
  await end('a');
  expect(begun).toEqual(['a', 'b', 'c']);
  stop.abort(new Error('enough'));
  const outcome = done.catch((error: unknown) => String(error));
  await end('b');
  await end('c');
  expect(await outcome).toBe('Error: enough');
  expect(begun).toEqual(['a', 'b', 'c']);
});

test('a tally knows how many are under way by each name, whoever ends twice', () => {
  const underWay = tally();
  const [first, second] = [underWay.add('ada', 'all'), underWay.add('bob', 'all')];
  expect(['ada', 'bob', 'all', 'nobody'].map(underWay.of)).toEqual([1, 1, 2, 0]);
  first();
  first();
  expect(['ada', 'bob', 'all'].map(underWay.of)).toEqual([0, 1, 1]);
  second();
  expect(underWay.of('all')).toBe(0);
});
