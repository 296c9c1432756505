import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { appendLog } from '../logs/append-log.ts';
import { ensureLogs, logFile } from '../logs/log-folders.ts';
import { countedIn, openForwarder, type Forwarder, type ForwarderEvent, type ForwardingTask } from './forwarder.ts';
import { testNetwork } from './test-network.ts';
import { messagesIn, openTestReceiver, respondWith } from './test-receiver.ts';

let folder: string;
let receiver: Awaited<ReturnType<typeof openTestReceiver>>;
let forwarder: Forwarder;
let events: [name: string, event: ForwarderEvent][];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-sinks-'));
  receiver = await openTestReceiver();
  events = [];
  forwarder = openForwarder({
    folder: join(folder, 'positions'),
    network: testNetwork(),
    tell: (name, event) => events.push([name, event]),
  });
});
afterEach(async () => {
  await forwarder.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

const taken = () => messagesIn(receiver.taken);

/** The logs of an environment that has an app. */
async function taskOf(name: string, more: Partial<ForwardingTask> = {}): Promise<ForwardingTask> {
  const logs = join(folder, 'logs', name);
  await ensureLogs(logs, ['app']);
  return {
    name,
    party: 'acme',
    logs,
    settings: { type: 'httplog', url: receiver.url, tls_verify: true },
    context: { project: 'p1', environment: name, extra: {} },
    excludedServices: [],
    isRedacted: false,
    isFromBeginning: false,
    ...more,
  };
}
const write = ({ logs }: ForwardingTask, line: string) => appendLog(logFile(logs, 'app', 'app'), `${line}\n`);

test('what is wanted is forwarded and nothing else; what changes goes on where it was', async () => {
  const [one, two] = [await taskOf('one'), await taskOf('two')];
  await forwarder.want([one, two]);
  await write(one, 'first of one');
  await write(two, 'first of two');
  await expect.poll(() => taken().toSorted()).toEqual(['first of one', 'first of two']);
  await forwarder.want([{ ...one, context: { ...one.context, extra: { team: 'blue' } } }]);
  // What was taken of the one that ended waits for whoever adds it up.
  expect(readdirSync(join(folder, 'positions'))).toEqual(['ended', 'one']);
  expect(await countedIn(join(folder, 'positions'))).toMatchObject([
    { name: 'one', bytes: 'first of one'.length },
    { name: 'two', bytes: 'first of two'.length, ended: expect.any(String) },
  ]);
  await write(one, 'second of one');
  await write(two, 'second of two');
  await expect.poll(() => taken().at(-1)).toBe('second of one');
  expect(taken()).not.toContain('second of two');
  expect(receiver.taken.at(-1)?.body.toString()).toContain('"team":"blue"');
  await forwarder.want([one, two]);
  await write(two, 'third of two');
  await expect.poll(() => taken().at(-1)).toBe('third of two');
  expect(taken()).not.toContain('second of two');
});

test('lines that are there the first time are sent where they are wanted', async () => {
  const [old, fresh] = [await taskOf('old'), await taskOf('fresh', { isFromBeginning: true })];
  await write(old, 'of long ago');
  await write(fresh, 'the first');
  await forwarder.want([old, fresh]);
  await expect.poll(taken).toEqual(['the first']);
  expect(events).toContainEqual(['fresh', { is: 'sent', records: 1 }]);
});

test('slow sinks of one party hold so many places and no more, and another party has its own', async () => {
  const slow = await Promise.all(Array.from({ length: 12 }, (_, nth) => taskOf(`slow-${nth}`)));
  const other = await taskOf('other', { party: 'others' });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let underWay = 0;
  receiver.respond = async (response, received) => {
    const isSlow = messagesIn([received])[0] !== 'quick';
    if (isSlow) {
      underWay += 1;
      await released;
    }
    return respondWith(200)(response, received);
  };
  await forwarder.want([...slow, other]);
  for (const task of slow) await write(task, task.name);
  await expect.poll(() => underWay).toBe(8);
  await write(other, 'quick');
  await expect.poll(taken).toEqual(['quick']);
  expect(underWay).toBe(8);
  release();
  await expect.poll(() => taken().length).toBe(13);
});

test('a sink that is down holds no place: others of its party have them all', async () => {
  const { port } = await openTestReceiver().then(async (each) => (await each.close(), each));
  const settings = { type: 'httplog', url: `http://127.0.0.1:${port}/`, tls_verify: true } as const;
  const down = await Promise.all(Array.from({ length: 12 }, (_, nth) => taskOf(`down-${nth}`, { settings })));
  const well = await taskOf('well');
  await forwarder.want([...down, well]);
  for (const task of down) await write(task, 'waits');
  await expect.poll(() => events.filter(([, { is }]) => is === 'trouble').length).toBe(12);
  await write(well, 'arrives');
  await expect.poll(taken).toEqual(['arrives']);
});
