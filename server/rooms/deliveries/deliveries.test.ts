import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { deliveryKind, type Sent } from '../../kernel/delivery.ts';
import type { Tx } from '../../kernel/sql.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { attemptsOf, recordDelivery, recordMail, repeatDelivery } from './public.ts';
import { deliveries } from './room.ts';
import { giveUpSeconds } from './send-lane.ts';
import { startDeliveries, type DeliveriesOptions } from './start-deliveries.ts';
import { deliverDue } from './work.ts';

interface Note {
  text: string;
}

let home: TestPlatform;
const arrived: string[] = [];
const givenUp: string[] = [];
let receive: (note: Note, signal: AbortSignal) => Promise<Sent> | Sent;

const noteKind = deliveryKind<Note>({
  kind: 'note',
  send: async (_, note, { signal }) => {
    const sent = await receive(note, signal);
    if (sent.outcome === 'delivered') arrived.push(note.text);
    return sent;
  },
  onFailed: async (_, { text }) => void givenUp.push(text),
});
const kinds = [noteKind, ...(deliveries.deliveries ?? [])];

beforeAll(async () => {
  home = await openTestPlatform([deliveries]);
});
beforeEach(async () => {
  await home.platform.db.deleteFrom('deliveries').execute();
  await home.platform.db.deleteFrom('delivery_lanes').execute();
  arrived.length = 0;
  givenUp.length = 0;
  receive = () => ({ outcome: 'delivered' });
});

const record = (text: string, orderKey = 'a key', party = 'a party', tx?: Tx) =>
  recordDelivery(tx ?? home.platform.db, home.platform.secrets, noteKind, { payload: { text }, orderKey, party });
const deliver = () => deliverDue(kinds, home.platform);
const pauseIsOver = () => sql`update delivery_lanes set due_at = now()`.execute(home.platform.db);
const stateOf = async (id: string) =>
  (await home.platform.db.selectFrom('deliveries').select('state').where('id', '=', id).executeTakeFirst())?.state;
const start = (options: DeliveriesOptions = {}) => {
  const sending = startDeliveries(kinds, home.platform, options);
  onTestFinished(() => sending.close());
};

describe('recording', () => {
  test('is part of the transaction: what did not happen is not told', async () => {
    const { db } = home.platform;
    const broken = db.transaction().execute(async (tx) => {
      await record('never', 'a key', 'a party', tx);
      throw new Error('it did not happen');
    });
    await expect(broken).rejects.toThrow('it did not happen');
    await record('happened');
    await deliver();
    expect(arrived).toEqual(['happened']);
  });

  test('for one key follows the order of commits: who comes second waits for the first', async () => {
    const { db } = home.platform;
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
    const { promise: isRecorded, resolve: recorded } = Promise.withResolvers<void>();
    const first = db.transaction().execute(async (tx) => {
      await record('first', 'a key', 'a party', tx);
      recorded();
      await mayCommit;
    });
    await isRecorded;
    const second = record('second');
    await record('of another key', 'another key');
    await deliver();
    expect(arrived).toEqual(['of another key']);
    commit();
    await Promise.all([first, second]);
    await deliver();
    expect(arrived).toEqual(['of another key', 'first', 'second']);
  });

  test('leaves nothing readable in the database, and nothing at all of a mail that was sent', async () => {
    const { db } = home.platform;
    const id = await recordMail(db, home.platform, { to: 'ada@example.org', subject: 'A link', text: 'the secret link' });
    const stored = () => db.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(JSON.stringify(await stored())).not.toContain('secret link');
    await deliver();
    expect(await stored()).toMatchObject({ state: 'delivered', payload_sealed: null });
    expect(await home.mail('ada@example.org')).toMatchObject([{ subject: 'A link' }]);
  });
});

describe('a receiver that fails', () => {
  test('gets everything later, in order, and nothing overtakes', async () => {
    let isAway = true;
    receive = ({ text }) => ({ outcome: isAway && text === 'two' ? 'failed' : 'delivered', trouble: 'away' });
    const ids = [await record('one'), await record('two'), await record('three')];
    await deliver();
    expect(arrived).toEqual(['one']);
    isAway = false;
    await deliver();
    expect(arrived).toEqual(['one']);
    await pauseIsOver();
    await deliver();
    expect(arrived).toEqual(['one', 'two', 'three']);
    expect((await attemptsOf(home.platform.db, ids[1] ?? '')).map(({ outcome, trouble }) => [outcome, trouble])).toEqual([
      ['failed', 'away'],
      ['delivered', 'away'],
    ]);
  });

  test('is left alone for longer each time, or for as long as it asks', async () => {
    receive = () => ({ outcome: 'failed' });
    await record('one');
    const pauses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await deliver();
      const { rows } = await sql<{
        seconds: number;
      }>`select extract(epoch from due_at - now())::float8 as seconds from delivery_lanes`.execute(home.platform.db);
      pauses.push(rows[0]?.seconds ?? 0);
      await pauseIsOver();
      if (turn === 2) receive = () => ({ outcome: 'failed', retryAfterSeconds: 3000 });
    }
    const [first = 0, second = 0, third = 0, asked = 0] = pauses;
    expect([first > 1, second > first * 2, third > second * 2, asked > 2900, asked <= 3600]).toEqual([true, true, true, true, true]);
  });

  test('for a day is given up, with all that is as old', async () => {
    receive = () => ({ outcome: 'failed' });
    const many = 450;
    const old: string[] = [];
    for (let number = 0; number < many; number += 1) old.push(await record(`old ${number}`));
    const fresh = await record('fresh');
    await sql`update deliveries set created_at = now() - make_interval(secs => ${giveUpSeconds + 60}) where id = any(${old})`.execute(
      home.platform.db,
    );
    await deliver();
    expect([await stateOf(old[0] ?? ''), await stateOf(old.at(-1) ?? ''), await stateOf(fresh)]).toEqual(['failed', 'failed', 'waiting']);
    expect(givenUp).toEqual(old.map((_, number) => `old ${number}`));
    receive = () => ({ outcome: 'delivered' });
    await pauseIsOver();
    await deliver();
    expect(arrived).toEqual(['fresh']);
  });

  test('that refuses something is not asked again, and gets what comes after it', async () => {
    receive = ({ text }) => ({ outcome: text === 'bad' ? 'refused' : 'delivered' });
    const bad = await record('bad');
    await record('good');
    await deliver();
    expect([await stateOf(bad), arrived, givenUp]).toEqual(['failed', ['good'], ['bad']]);
    expect(await attemptsOf(home.platform.db, bad)).toHaveLength(1);
  });

  test('because of a mistake of ours gets it later', async () => {
    receive = () => Promise.reject(new Error('a bug'));
    await record('one');
    await deliver();
    receive = () => ({ outcome: 'delivered' });
    await pauseIsOver();
    await deliver();
    expect(arrived).toEqual(['one']);
  });
});

describe('slow receivers', () => {
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }));

  test('delay nobody else, however many one party has', async () => {
    let waiting = 0;
    receive = ({ text }, signal) => {
      if (text !== 'slow') return { outcome: 'delivered' };
      waiting += 1;
      return untilAborted(signal);
    };
    for (let number = 0; number < 6; number += 1) await record('slow', `slow ${number}`, 'slow party');
    start({ lanesMax: 5, partyLanesMax: 3 });
    await expect.poll(() => waiting).toBe(3);
    for (const number of [1, 2, 3]) await record(`quick ${number}`, `quick ${number}`, 'quick party');
    await expect.poll(() => arrived.toSorted()).toEqual(['quick 1', 'quick 2', 'quick 3']);
    expect(waiting).toBe(3);
  });

  test('that failed before have no more than half of all lanes, however many parties they are of', async () => {
    let waiting = 0;
    receive = ({ text }) => ({ outcome: text === 'slow' ? 'failed' : 'delivered' });
    for (let number = 0; number < 6; number += 1) await record('slow', `slow ${number}`, `party ${number}`);
    await deliver();
    await pauseIsOver();
    receive = ({ text }, signal) => {
      if (text !== 'slow') return { outcome: 'delivered' };
      waiting += 1;
      return untilAborted(signal);
    };
    start({ lanesMax: 4, failingLanesMax: 2 });
    await expect.poll(() => waiting).toBe(2);
    for (const number of [1, 2, 3]) await record(`quick ${number}`, `quick ${number}`, `quick party ${number}`);
    await expect.poll(() => arrived.toSorted()).toEqual(['quick 1', 'quick 2', 'quick 3']);
    expect(waiting).toBe(2);
  });
});

test('whatever a receiver answers is stored, and sent once', async () => {
  let asked = 0;
  receive = () => {
    asked += 1;
    return { outcome: 'delivered', response: { status: 200, body: `zero \0, half of a pair ${'\u{1f600}'.slice(0, 1)}` } };
  };
  const id = await record('one');
  await record('two');
  await deliver();
  expect([asked, arrived, await stateOf(id)]).toEqual([2, ['one', 'two'], 'delivered']);
  expect((await attemptsOf(home.platform.db, id))[0]?.response).toEqual({ status: 200, body: 'zero , half of a pair \ufffd' });
});

test('something can be sent again by hand, behind what waits, and not while it is still on its way', async () => {
  const { db, secrets } = home.platform;
  const repeat = (id: string) => db.transaction().execute((tx) => repeatDelivery(tx, secrets, id));
  const id = await record('again');
  await expect(repeat(id)).rejects.toMatchObject({ kind: 'conflict' });
  await deliver();
  await record('between');
  const repeated = await repeat(id);
  await deliver();
  expect(arrived).toEqual(['again', 'between', 'again']);
  expect(await stateOf(repeated)).toBe('delivered');
  await expect(repeat('none')).rejects.toMatchObject({ kind: 'not-found' });
});

test('what is long is read a part at a time, and all of it arrives', async () => {
  const long = Array.from({ length: 8 }, (_, number) => `${number} ${'x'.repeat(600_000)}`);
  for (const text of long) await record(text);
  await record('short');
  await deliver();
  expect(arrived).toEqual([...long, 'short']);
});

test('what its project took along leaves a lane that goes on', async () => {
  await record('gone');
  await home.platform.db.deleteFrom('deliveries').execute();
  await deliver();
  await record('there');
  await deliver();
  expect(arrived).toEqual(['there']);
});

test('many are sent by several processes, each once and in order', async () => {
  const expected = new Map<string, string[]>();
  for (let number = 0; number < 120; number += 1) {
    const key = `key ${number % 6}`;
    const text = `${key}: ${number}`;
    expected.set(key, [...(expected.get(key) ?? []), text]);
    await record(text, key);
  }
  start();
  start();
  await expect.poll(() => arrived.length).toBe(120);
  expect(Map.groupBy(arrived, (text) => text.split(':')[0] ?? '')).toEqual(expected);
});
