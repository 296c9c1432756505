import { sql } from 'kysely';
import { Type } from 'typebox';
import { beforeAll, expect, test } from 'vitest';
import type { Caller } from '../platform.ts';
import { rooms } from '../rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../testing/platform.ts';
import { operation, plain } from './operation.ts';
import { openRequestLimit } from './request-limit.ts';
import type { Room } from './room.ts';

const flood = 60;
/** Those that are handled, and those that wait. */
const requestsMax = 505;
const streamsMax = 100;
const seconds = 0.2;

/** Each holds a connection to the database for a while. */
const expensive = operation({
  summary: 'Ask for something expensive',
  endpoint: 'GET /expensive',
  permission: 'signed-in',
  returns: plain(Type.Array(Type.Object({ answer: Type.Integer() }))),
  handle: async (_, { db }) => (await sql<{ answer: number }>`select 1 as answer from pg_sleep(${seconds})`.execute(db)).rows,
});
const toys: Room = { name: 'Toys', about: 'For this test.', operations: { expensive } };

let home: TestPlatform;
let [mallory, ada]: Person[] = [];
beforeAll(async () => {
  home = await openTestPlatform([...rooms, toys]);
  [mallory, ada] = [await home.person(), await home.person()];
});

const ask = async (person: Person | undefined) => (await person?.send('GET', '/expensive'))?.status;

test('a caller who floods the API waits for their own requests, and nobody else does', async () => {
  let answered = 0;
  const all = Array.from({ length: flood }, () => ask(mallory).finally(() => (answered += 1)));
  await expect.poll(() => answered).toBeGreaterThan(0);
  const before = answered;
  expect(await ask(ada)).toBe(200);
  // As many as go on beside it, and those that were just being answered; not all that came before it.
  expect(answered - before).toBeLessThan(flood / 3);
  expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
});

test('one who has more waiting than anybody waits for, or follows more logs, is told so', async () => {
  const places = openRequestLimit();
  const [greedy, modest] = [{ id: 'greedy' }, { id: 'modest' }] as Caller[];
  const over = Promise.withResolvers<void>();
  const all = Array.from({ length: requestsMax }, () => places.within(greedy, () => over.promise));
  await expect(places.within(greedy, () => over.promise)).rejects.toThrow('You have 500 requests waiting already; send fewer at once.');
  expect(await places.within(modest, async () => 'answered')).toBe('answered');
  over.resolve();
  await Promise.all(all);
  expect(await places.within(greedy, async () => 'answered')).toBe('answered');
  const streams = Array.from({ length: streamsMax }, () => places.openStream(greedy));
  expect(() => places.openStream(greedy)).toThrow('You are following 100 logs already; stop following one first.');
  places.openStream(modest);
  streams[0]?.();
  places.openStream(greedy);
});
