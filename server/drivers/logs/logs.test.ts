/** Logs as files: written, put aside, read and followed. Real files; nothing needs root. */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { logBytesMax, rotatedLogsMax, rotateLog, timesOf } from '../../../edge/logs/rotate-log.ts';
import { appendLog } from './append-log.ts';
import { openLogFollowers } from './follow-logs.ts';
import { appLogsBytesMax, ensureLogs, findLog, listLogs, logFile, removeLogs, usualLogs } from './log-folders.ts';
import { readBytesMax, readLog, type LogExtent } from './read-log.ts';

let logs: string;
let log: string;
beforeEach(async () => {
  logs = join(mkdtempSync(join(tmpdir(), 'offshoot-logs-')), 'environment');
  await ensureLogs(logs, ['app', 'app--queue']);
  log = logFile(logs, 'app', 'app');
});
afterEach(() => rmSync(join(logs, '..'), { recursive: true }));

const read = async (extent: LogExtent, of = log) => Buffer.concat((await readLog(of, extent))?.lines ?? []).toString();
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `line ${from + index}\n`).join('');

describe('the folder of an app', () => {
  test('has every usual log from the start, for everybody to read, and each app its own', async () => {
    expect(readdirSync(join(logs, 'app')).toSorted()).toEqual(usualLogs.map((name) => `${name}.log`));
    expect(statSync(log).mode & 0o777).toBe(0o644);
    await appendLog(log, 'one\n');
    await ensureLogs(logs, ['app']);
    expect(readFileSync(log, 'utf8')).toBe('one\n');
    expect(readFileSync(logFile(logs, 'app--queue', 'app'), 'utf8')).toBe('');
    await expect(ensureLogs(logs, ['../elsewhere'])).rejects.toThrow('cannot be the name of a folder');
  });

  test('is listed with what was put aside; names that are none lead nowhere', async () => {
    await appendLog(log, 'one\n');
    await rotateLog(log);
    await appendLog(log, 'two\n');
    expect(await findLog(logs, 'app', 'app')).toMatchObject({ app: 'app', name: 'app', bytes: 8, changedAt: expect.any(Date) });
    expect(await listLogs(logs)).toHaveLength(2 * usualLogs.length);
    for (const [app, name] of [
      ['..', 'app'],
      ['app', '../app--queue/app'],
      ['app', 'app.log.1'],
      ['app', '.app.log'],
      ['missing', 'app'],
      ['app', 'failed_start'],
    ] as const)
      expect(await findLog(logs, app, name)).toBeUndefined();
    await removeLogs(logs);
    expect([await listLogs(logs), await findLog(logs, 'app', 'app')]).toEqual([[], undefined]);
  });
});

describe('a log that grows', () => {
  test('is put aside when it is full, loses no line, and stays the same file', async () => {
    const inode = statSync(log).ino;
    const line = (number: number) => `${String(number).padStart(9)} ${'x'.repeat(489)}\n`;
    const perFile = Math.floor(logBytesMax / line(0).length);
    const lines = Math.floor(1.5 * perFile);
    const batch = 500;
    for (let first = 0; first < lines; first += batch)
      await appendLog(log, Array.from({ length: batch }, (_, index) => line(first + index)).join(''));
    const found = `${readFileSync(`${log}.1`, 'utf8')}${readFileSync(log, 'utf8')}`
      .split('\n')
      .slice(0, -1)
      .map((text) => Number(text.slice(0, 9)));
    expect(found).toEqual(Array.from({ length: Math.ceil(lines / batch) * batch }, (_, number) => number));
    expect(statSync(log).ino).toBe(inode);
  });

  test('never takes more than its bound, however much is written', async () => {
    for (let times = 0; times < 30; times++) await appendLog(log, `${'y'.repeat(2_000_000)}\n`);
    const files = readdirSync(join(logs, 'app')).filter((name) => name.startsWith('app.log'));
    expect(files.toSorted()).toEqual(['app.log', 'app.log.1', 'app.log.2']);
    const bytes = files.reduce((sum, name) => sum + statSync(join(logs, 'app', name)).size, 0);
    expect(bytes).toBeLessThanOrEqual((1 + rotatedLogsMax) * logBytesMax);
    expect(bytes).toBeLessThan(appLogsBytesMax);
  });

  test('takes appends from many sides one after the other, each told how long it was', async () => {
    const seen: number[] = [];
    await Promise.all(Array.from({ length: 100 }, () => appendLog(log, '123456789\n', (bytes) => void seen.push(bytes))));
    expect(seen).toEqual(Array.from({ length: 100 }, (_, number) => 10 * number));
  });
});

describe('a log that is read', () => {
  test('gives its last lines, over what was put aside', async () => {
    await appendLog(log, numbered(0, 10));
    await rotateLog(log);
    await appendLog(log, numbered(10, 20));
    await rotateLog(log);
    await appendLog(log, numbered(20, 25));
    expect(await read({ tail: 3 })).toBe(numbered(22, 25));
    expect(await read({ tail: 12 })).toBe(numbered(13, 25));
    expect(await read({ tail: 1000 })).toBe(numbered(0, 25));
    expect(await read({ tail: 0 })).toBe('');
  });

  test('gives a bounded part, the latest', async () => {
    await appendLog(log, `${'a'.repeat(1000)}\n`.repeat(6000));
    await appendLog(log, 'the last line\n');
    const text = await read({});
    expect(text.length).toBeLessThanOrEqual(readBytesMax);
    expect(text.length).toBeGreaterThan(readBytesMax - 2000);
    expect(text).toMatch(/^(?:a{1000}\n)+the last line\n$/);
  });

  test('may have huge lines, an open end, and bytes that are no text', async () => {
    await appendLog(log, `before\n${'z'.repeat(3_000_000)}\nafter\n`);
    expect((await read({ tail: 2 })).length).toBeGreaterThan(300_000);
    expect(await read({ tail: 1 })).toBe('after\n');
    await appendLog(log, Buffer.from([0xff, 0xfe, 0, 0x0a, 0x41]));
    expect(await read({ tail: 2 })).toBe('\ufffd\ufffd\0\nA');
  });

  test('gives the lines of a time, to the second', async () => {
    await appendLog(log, 'early\n');
    await sleep(1100);
    const between = Date.now();
    await appendLog(log, 'late\n');
    expect(await read({ since: between })).toBe('late\n');
    expect(await read({ until: between - 1 })).toBe('early\n');
    expect(await read({ since: between - 10_000, until: between + 10_000, tail: 1 })).toBe('late\n');
    await rotateLog(log);
    await appendLog(log, 'latest\n');
    expect(await read({ since: between })).toBe('late\nlatest\n');
    expect(await read({ since: Date.now() + 5000 })).toBe('');
  });

  test('that the edge writes says itself when; a line without a time belongs to the one before', async () => {
    const access = logFile(logs, 'app', 'access');
    const line = (second: string, path: string) =>
      `192.0.2.7 - - [09/Nov/2026:08:07:${second} +0000] "GET ${path} HTTP/1.1" 200 5 "-" "-" 0.001 id\n`;
    appendFileSync(access, `${line('01', '/one')}${line('05', '/two')}  more of two\n${line('09', '/three')}`);
    const at = (second: number) => Date.UTC(2026, 10, 9, 8, 7, second);
    expect(await read({ since: at(5), until: at(8) }, access)).toBe(`${line('05', '/two')}  more of two\n`);
    expect(await read({ since: at(6) }, access)).toBe(line('09', '/three'));
  });

  test('is none where there is no file', async () => {
    expect(await readLog(join(logs, 'app', 'missing.log'), {})).toBeUndefined();
  });
});

describe('a log that is followed', () => {
  const followers = openLogFollowers();
  /** Collects what it is told. */
  const follow = (extent: LogExtent, of = log) => {
    const ending = new AbortController();
    const following = { text: '', isOver: false, end: () => ending.abort() };
    void (async () => {
      for await (const text of followers.follow(of, extent, ending.signal)) following.text += text;
      following.isOver = true;
    })();
    return following;
  };

  test('tells what is there and then what comes, each line once, to all who follow, and is read once for them', async () => {
    await appendLog(log, numbered(0, 10));
    const early = follow({ tail: 2 });
    await expect.poll(() => early.text).toBe(numbered(8, 10));
    const writing = (async () => {
      for (let number = 10; number < 200; number++) await appendLog(log, `line ${number}\n`);
    })();
    const others = Array.from({ length: 20 }, () => follow({ tail: 1000 }));
    await writing;
    await expect.poll(() => early.text).toBe(numbered(8, 200));
    for (const other of others) await expect.poll(() => other.text).toBe(numbered(0, 200));
    expect(followers.reading).toBe(1);
    for (const each of [early, ...others]) each.end();
    await expect.poll(() => followers.reading).toBe(0);
  });

  test('goes on over being put aside, without a line lost or told twice', async () => {
    await appendLog(log, 'before\n');
    const following = follow({ tail: 1 });
    await expect.poll(() => following.text).toBe('before\n');
    let number = 0;
    for (let round = 0; round < 4; round++) {
      for (const until = number + 50; number < until; number++) await appendLog(log, `line ${number}\n`);
      await rotateLog(log);
      await appendLog(log, `line ${number++}\n`);
      await sleep(round % 2 === 0 ? 0 : 300);
      await expect.poll(() => following.text.length).toBe(`before\n${numbered(0, number)}`.length);
    }
    expect(following.text).toBe(`before\n${numbered(0, number)}`);
    following.end();
  });

  test('tells of a line also when nothing was written for a while', async () => {
    const following = follow({ tail: 0 });
    await sleep(3000);
    await appendLog(log, 'at last\n');
    await expect.poll(() => following.text).toBe('at last\n');
    following.end();
  });

  test('never tears a character', async () => {
    const following = follow({ tail: 10 });
    await sleep(50);
    for (const byte of Buffer.from('grün ✓ 🚀\n')) {
      await appendLog(log, Buffer.from([byte]));
      await sleep(30);
    }
    await expect.poll(() => following.text).toBe('grün ✓ 🚀\n');
    following.end();
  });

  test('leaves those behind who do not take what they are told, and says so', async () => {
    const ending = new AbortController();
    await appendLog(log, 'first\n');
    const slow = followers.follow(log, { tail: 1 }, ending.signal);
    expect((await slow.next()).value).toBe('first\n');
    const quick = follow({ tail: 1 });
    await expect.poll(() => quick.text).toBe('first\n');
    for (let times = 0; times < 8; times++) {
      await appendLog(log, `${'w'.repeat(600_000)}\n`);
      await expect.poll(() => quick.text.length).toBe('first\n'.length + (times + 1) * 600_001);
    }
    const rest: string[] = [];
    for await (const text of slow) rest.push(text);
    expect(rest.join('')).toMatch(/^w+\n(?:w+\n)*[\sw]*\[This log grew faster than it was read here/);
    expect(rest.join('').length).toBeLessThan(3 * 2 ** 20);
    expect(quick.isOver).toBe(false);
    quick.end();
  });

  test('is over when it is gone, and nowhere where it never was', async () => {
    const following = follow({ tail: 0 });
    await sleep(100);
    await removeLogs(logs);
    await expect.poll(() => following.isOver).toBe(true);
    expect(following.text).toBe('[This log is gone.]\n');
    const nowhere = follow({});
    await expect.poll(() => nowhere.isOver).toBe(true);
    expect(nowhere.text).toBe('[This log is gone.]\n');
    await expect.poll(() => followers.reading).toBe(0);
  });

  test('keeps what stands beside it out of the way', async () => {
    await appendLog(log, 'one\n');
    expect(existsSync(timesOf(log))).toBe(true);
    expect((await listLogs(logs)).map(({ name }) => name)).not.toContain('times');
  });
});
