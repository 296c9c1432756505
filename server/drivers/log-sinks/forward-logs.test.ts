import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rotateLog, timesOf } from '../../../edge/logs/rotate-log.ts';
import { appendLog } from '../logs/append-log.ts';
import { ensureLogs, logFile } from '../logs/log-folders.ts';
import { forwardLogs, type Forwarding, type ForwardingEvent, type ForwardingOptions } from './forward-logs.ts';
import { openSink } from './open-sink.ts';
import type { Asked } from './test-forwarder.ts';
import { testNetwork } from './test-network.ts';
import { messagesIn, openTestReceiver, respondWith } from './test-receiver.ts';

let folder: string;
let logs: string;
let log: string;
let receiver: Awaited<ReturnType<typeof openTestReceiver>>;
let events: ForwardingEvent[];
let opened: Forwarding[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-sinks-'));
  logs = join(folder, 'logs');
  log = logFile(logs, 'shop', 'app');
  await ensureLogs(logs, ['shop']);
  receiver = await openTestReceiver();
  [events, opened] = [[], []];
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

const forward = async (more: Partial<ForwardingOptions> = {}): Promise<Forwarding> => {
  const forwarding = await forwardLogs({
    logs,
    positions: join(folder, 'positions.json'),
    sink: openSink({ type: 'httplog', url: receiver.url, tls_verify: true }, testNetwork()),
    context: { project: 'p1', environment: 'main', extra: {} },
    excludedServices: [],
    isRedacted: false,
    tell: (event) => events.push(event),
    firstPauseSeconds: 0.02,
    ...more,
  });
  opened.push(forwarding);
  return forwarding;
};
const taken = () => messagesIn(receiver.taken);
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, nth) => `line ${from + nth}`);
const write = (lines: readonly string[], into = log) => appendLog(into, lines.map((line) => `${line}\n`).join(''));

describe('lines of an environment', () => {
  test('are sent from the moment at which it begins, in their order, and those of a new service from its first line', async () => {
    await write(['history']);
    await forward();
    await write(numbered(0, 10));
    await expect.poll(taken).toEqual(numbered(0, 10));
    const another = join(logs, 'mails');
    mkdirSync(another);
    writeFileSync(join(another, 'app.log'), 'first of another\n');
    await expect.poll(taken).toEqual([...numbered(0, 10), 'first of another']);
  });

  test('have the times at which they were written, whether the log says so or the file beside it', async () => {
    await forward();
    const access = logFile(logs, 'shop', 'access');
    appendFileSync(timesOf(log), '0 1000000000000\n8 1000000002000\n');
    appendFileSync(access, '192.0.2.7 - - [09/Sep/2001:01:46:41 +0000] "GET / HTTP/1.1" 200 5 "-" "-" 0.001 id\n');
    appendFileSync(log, 'line 12\nline 34\n');
    await expect.poll(() => taken().length).toBe(3);
    const records = receiver.taken.flatMap(({ body }) => JSON.parse(body.toString()) as { timestamp: string; log: string }[]);
    expect(records.map((each) => `${each.log} ${each.timestamp}`).toSorted()).toEqual([
      'access 2001-09-09T01:46:41.000Z',
      'app 2001-09-09T01:46:40.000Z',
      'app 2001-09-09T01:46:42.000Z',
    ]);
  });

  test('of excluded services are not sent, neither then nor once they are included again', async () => {
    await ensureLogs(logs, ['mails']);
    const mails = logFile(logs, 'mails', 'app');
    const without = await forward({ excludedServices: ['mails'] });
    await write(['private'], mails);
    await write(['public']);
    await expect.poll(taken).toEqual(['public']);
    // The platform looks now and then how far they have come.
    await expect.poll(() => readFileSync(join(folder, 'positions.json'), 'utf8'), { timeout: 15_000 }).toMatch(/"mails\/app":\{"bytes":8,/);
    await without.close();
    await forward();
    await write(['later'], mails);
    await expect.poll(taken).toEqual(['public', 'later']);
  });

  test('are rid of what tells who somebody is where the owner wants that', async () => {
    await forward({ isRedacted: true });
    await write(['anna@example.org from 192.0.2.7 bought shoes']);
    await expect.poll(taken).toEqual(['[e-mail] from [address] bought shoes']);
  });

  test('are whole, whatever they are made of; one that never ends is sent as it is', async () => {
    await forward();
    appendFileSync(log, Buffer.concat([Buffer.from('half'), Buffer.from('✓').subarray(0, 1)]));
    await sleep(400);
    expect(receiver.asked).toEqual([]);
    appendFileSync(log, Buffer.concat([Buffer.from('✓').subarray(1), Buffer.from(`\r\n\n  \n${'w'.repeat(40_000)}\nend\n`)]));
    await expect.poll(taken).toEqual(['half✓', 'w'.repeat(32 * 1024), 'w'.repeat(40_000 - 32 * 1024), 'end']);
    appendFileSync(log, 'Password: ');
    const earlier = Date.now() / 1000 - 11;
    utimesSync(log, earlier, earlier);
    await expect.poll(() => taken().at(-1)).toBe('Password: ');
  });
});

describe('a log that is rotated', () => {
  test('is sent on without a line lost or sent twice, also when nobody was there', async () => {
    const first = await forward();
    for (let round = 0; round < 3; round++) {
      await write(numbered(10 * round, 10 * round + 5));
      await rotateLog(log);
      await write(numbered(10 * round + 5, 10 * round + 10));
      await expect.poll(() => taken().length).toBe(10 * round + 10);
    }
    await first.close();
    await write(numbered(30, 40));
    await rotateLog(log);
    await write(numbered(40, 50));
    await rotateLog(log);
    await write(numbered(50, 60));
    await forward();
    await expect.poll(() => taken().length).toBe(60);
    expect(taken()).toEqual(numbered(0, 60));
  });

  test('too often to be sent says so in its place, and the owner is told how much is missing', async () => {
    const first = await forward();
    await write(numbered(0, 10));
    await expect.poll(() => taken().length).toBe(10);
    await first.close();
    for (let round = 0; round < 4; round++) {
      await write(numbered(100 * (round + 1), 100 * (round + 1) + 10));
      await rotateLog(log);
    }
    await write(['the end']);
    const second = await forward();
    await expect.poll(() => taken().at(-1)).toBe('the end');
    const after = taken().slice(10);
    expect(after[0]).toMatch(/^\[Lines are missing here: .* Bytes missing: \d+ or more\.\]$/);
    expect(after.slice(1)).toEqual([...numbered(300, 310), ...numbered(400, 410), 'the end']);
    expect(events).toMatchObject([{ is: 'lost', log: 'shop/app' }]);
    expect(second.progress.lostBytes).toBeGreaterThan(0);
  });

  test('that somebody emptied goes on with what comes', async () => {
    await forward();
    await write(numbered(0, 10));
    await expect.poll(() => taken().length).toBe(10);
    truncateSync(log);
    await write(['after']);
    await expect.poll(taken).toEqual([...numbered(0, 10), 'after']);
  });
});

describe('a sink', () => {
  test('that is down gets everything in order when it is back, and its owner is told of both once', async () => {
    const forwarding = await forward();
    const { port } = receiver;
    await receiver.close();
    for (let round = 0; round < 5; round++) await write(numbered(round * 10, round * 10 + 10));
    await expect.poll(() => events).toMatchObject([{ is: 'trouble' }]);
    expect(forwarding.progress.trouble).toContain('ECONNREFUSED');
    receiver = await openTestReceiver(port);
    await expect.poll(taken).toEqual(numbered(0, 50));
    await expect.poll(() => events.map(({ is }) => is)).toEqual(['trouble', 'recovered']);
    expect(forwarding.progress).toEqual({ sentRecords: 50, refusedRecords: 0, lostBytes: 0, trouble: undefined });
  });

  test('that answers 429 and 5xx is asked again, and waited for as long as it says', async () => {
    const statuses = [429, 503, 500, 408];
    const times: number[] = [];
    receiver.respond = (response, received) => {
      times.push(performance.now());
      const status = statuses.shift();
      return respondWith(status ?? 200, '', status === 429 ? { 'retry-after': '1' } : {})(response, received);
    };
    await forward();
    await write(numbered(0, 3));
    await expect.poll(taken, { timeout: 5000 }).toEqual(numbered(0, 3));
    expect(receiver.asked).toHaveLength(5);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
  });

  test('that is just taking a batch when forwarding ends is not sent it again', async () => {
    const first = await forward();
    let closing: Promise<void> | undefined;
    receiver.respond = async (response, received) => {
      closing ??= first.close();
      await sleep(50);
      return respondWith(200)(response, received);
    };
    await write(['before']);
    await expect.poll(() => taken()).toEqual(['before']);
    await closing;
    await forward();
    await write(['after']);
    await expect.poll(() => taken().at(-1)).toBe('after');
    expect(taken()).toEqual(['before', 'after']);
  });

  test('that refuses a batch loses it and nothing else, and its owner is told', async () => {
    receiver.respond = (response, received) => respondWith(received.body.includes('wrong') ? 400 : 200)(response, received);
    const forwarding = await forward();
    await write(['wrong']);
    await expect.poll(() => events).toMatchObject([{ is: 'refused', records: 1 }]);
    await write(['right']);
    await expect.poll(taken).toEqual(['right']);
    expect(forwarding.progress).toMatchObject({ sentRecords: 1, refusedRecords: 1 });
  });

  test('for which a batch is too large gets it in parts, in order', async () => {
    receiver.respond = (response, received) => respondWith(messagesIn([received]).length > 3 ? 413 : 200)(response, received);
    await forward();
    await write(numbered(0, 20));
    await expect.poll(taken).toEqual(numbered(0, 20));
  });

  test('that is slow is asked one thing at a time, while lines wait in the logs', async () => {
    let underWay = 0;
    let most = 0;
    receiver.respond = async (response, received) => {
      most = Math.max(most, ++underWay);
      await sleep(150);
      underWay--;
      return respondWith(200)(response, received);
    };
    await ensureLogs(logs, ['mails']);
    await forward();
    for (let round = 0; round < 10; round++) {
      await write([`line ${round}`]);
      await write([`mail ${round}`], logFile(logs, 'mails', 'app'));
      await sleep(40);
    }
    await expect.poll(() => taken().length, { timeout: 10_000 }).toBe(20);
    expect(taken().filter((each) => each.startsWith('line'))).toEqual(numbered(0, 10));
    expect(most).toBe(1);
    expect(receiver.asked.length).toBeLessThan(20);
  });
});

test('a process that is killed in the middle, again and again, loses no line, and repeats no more than one batch each time', async () => {
  const asked: Asked = { logs, positions: join(folder, 'positions.json'), url: receiver.url };
  const start = async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'test-forwarder.ts'), JSON.stringify(asked)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  };
  /** Kills the process in the middle of a request whose lines the receiver has taken, or has not. */
  let killing: { child: ChildProcess; from: number; isTaken: boolean } | undefined;
  receiver.respond = (response, received) => {
    if (!killing || receiver.asked.length < killing.from) return respondWith(200)(response, received);
    killing.child.kill('SIGKILL');
    response.destroy();
    return killing.isTaken;
  };
  let [number, wantsRotation] = [0, false];
  const enough = new AbortController();
  const write50 = async () => {
    await write(numbered(number, number + 50));
    number += 50;
    if (wantsRotation) await rotateLog(log);
    wantsRotation = false;
    await sleep(10);
  };
  const kills = 3;
  let writing: Promise<void> | undefined;
  for (let kill = 0; kill < kills; kill++) {
    const child = await start();
    writing ??= (async () => {
      while (!enough.signal.aborted) await write50();
    })();
    killing = { child, from: receiver.asked.length + kill + 1, isTaken: kill % 2 === 1 };
    await once(child, 'exit');
    killing = undefined;
    // Never more often than rotated parts are kept: whoever starts next may have to begin in the oldest.
    if (kill < 2) wantsRotation = true;
  }
  enough.abort();
  await writing;
  const last = await start();
  await expect.poll(() => new Set(taken()).size).toBe(number);
  last.kill('SIGKILL');
  const firsts = [...new Set(taken())];
  expect(firsts).toEqual(numbered(0, number));
  const largest = Math.max(...receiver.taken.map((each) => messagesIn([each]).length));
  expect(taken().length - firsts.length).toBeLessThanOrEqual(kills * largest);
});
