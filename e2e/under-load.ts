/** The edge under constant load: somebody asks for the same page all the time, with and without kept connections, while something happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type LoadResult, startLoad } from '../edge/testing/load.ts';
import { eventually } from './eventually.ts';

export const clients = 8;
export const host = 'shop.localhost';
const waitSecondsMax = 60;
/** Of each load, before and after what happens, however slow the machine is. */
const repliesMin = 30;

/** Both kinds of load, side by side, while something happens. */
export async function underLoad(port: number, work: (results: readonly LoadResult[]) => Promise<unknown>): Promise<LoadResult[]> {
  const loads = [true, false].map((keepAlive) => startLoad({ port, host, clients, keepAlive }));
  const results = loads.map(({ result }) => result);
  const untilReplied = async () => {
    const wanted = results.map(({ replies }) => replies + repliesMin);
    const isSo = () => results.every(({ replies }, index) => replies >= (wanted[index] ?? 0));
    await Promise.all([sleep(300), eventually('all are answered', isSo, waitSecondsMax, () => JSON.stringify(results))]);
  };
  await untilReplied();
  await work(results);
  await untilReplied();
  return Promise.all(loads.map((load) => load.stop()));
}

/** Until both loads have been answered by an application. */
export const untilHeard = (results: readonly LoadResult[], name: string) =>
  eventually(`${name} is asked`, () => results.every(({ said }) => (said[name] ?? 0) > 0), waitSecondsMax);

export const failuresOf = (results: LoadResult[]) => results.flatMap(({ failures }) => failures);

export function expectNoFailure(results: LoadResult[]) {
  expect(failuresOf(results)).toEqual([]);
  for (const { replies } of results) expect(replies).toBeGreaterThan(50);
}
