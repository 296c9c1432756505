import { mkdtempDisposable, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rotatedLogOf, timesOf } from '../../../edge/logs/rotate-log.ts';
import { openTimedLog, type LogTimes } from './timed-lines.ts';

const noon = Date.UTC(2026, 0, 31, 12);

/** What is read of a log, and how many bytes that took. */
async function readOf(log: string, times: Partial<LogTimes> = {}) {
  const timed = await openTimedLog(log, { since: 0, until: Number.POSITIVE_INFINITY, ...times });
  try {
    const lines: unknown[] = [];
    for await (const { line, time, nth } of timed.lines()) lines.push([String(line).trimEnd(), (time - noon) / 1000, nth]);
    return { bytes: timed.bytes, lines };
  } finally {
    await timed.close();
  }
}

test('lines have the times that were noted beside the log, also over its rotation, and only what was written around a time is read', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'offshoot-logs-'));
  const log = join(folder.path, 'app.log');
  const earlier = rotatedLogOf(log, 1);
  await writeFile(earlier, 'one\ntwo\n');
  await writeFile(timesOf(earlier), `0 ${noon}\n4 ${noon + 5000}\n`);
  await utimes(earlier, noon / 1000 + 5, noon / 1000 + 5);
  await writeFile(log, 'three\nfour\nfive\n');
  await writeFile(timesOf(log), `0 ${noon + 60_000}\n11 ${noon + 61_000}\n`);
  const [one, two] = [
    ['one', 0, 0],
    ['two', 5, 0],
  ];
  const later = [
    ['three', 60, 0],
    ['four', 60, 1],
    ['five', 61, 0],
  ];
  expect(await readOf(log)).toEqual({ bytes: 24, lines: [one, two, ...later] });
  expect(await readOf(log, { since: noon + 60_000 })).toEqual({ bytes: 16, lines: later });
  expect(await readOf(log, { since: noon + 61_000 })).toEqual({ bytes: 16, lines: later.slice(2) });
  expect(await readOf(log, { until: noon + 5000 })).toEqual({ bytes: 8, lines: [one] });
  expect(await readOf(join(folder.path, 'absent.log'))).toEqual({ bytes: 0, lines: [] });
});

test('lines of the edge tell their time themselves, and what has none belongs to the line before it', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'offshoot-logs-'));
  const log = join(folder.path, 'access.log');
  const visit = (second: string) => `192.0.2.1 - - [31/Jan/2026:12:00:${second} +0000] "GET / HTTP/1.1" 200`;
  await writeFile(log, `torn\n${visit('01')}\nmore\n${visit('02')}\n`);
  expect((await readOf(log, { since: noon })).lines).toEqual([
    [visit('01'), 1, 0],
    ['more', 1, 1],
    [visit('02'), 2, 0],
  ]);
  expect((await readOf(log, { until: noon + 2000, since: noon })).lines.length).toBe(2);
});
