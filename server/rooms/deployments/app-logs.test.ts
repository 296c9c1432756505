import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { appendLog, linesSince, logBytes, logFolder, shortenLogs } from './app-logs.ts';

let logs: string;
let folder: string;
beforeEach(() => {
  logs = mkdtempSync(join(tmpdir(), 'offshoot-logs-'));
  folder = logFolder(logs, 'app');
  mkdirSync(folder);
});
afterEach(() => rmSync(logs, { recursive: true }));

// Files are given to the user of apps, which takes root.
describe.runIf(process.getuid?.() === 0)('logs of apps (needs root)', () => {
  test('grow at their end, and are read from where one looked before', async () => {
    await appendLog(folder, 'app.log', 'before\n');
    const since = await logBytes(folder, 'app.log');
    await appendLog(folder, 'app.log', 'one\ntwo\nthree\n');
    expect(await linesSince(folder, 'app.log', since, 2)).toEqual(['two', 'three']);
    expect(await linesSince(folder, 'app.log', since, 100)).toEqual(['one', 'two', 'three']);
    expect(await linesSince(folder, 'missing.log', 0, 100)).toEqual([]);
  });

  test('keep their last lines when they have become too long', async () => {
    const line = `${'x'.repeat(99)}\n`;
    writeFileSync(join(folder, 'app.log'), line.repeat(100_000));
    writeFileSync(join(folder, 'deploy.log'), 'short\n');
    await appendLog(folder, 'app.log', 'the last line\n');
    await shortenLogs(logs);
    expect(statSync(join(folder, 'app.log')).size).toBeLessThan(2.1 * 2 ** 20);
    expect(readFileSync(join(folder, 'app.log'), 'utf8')).toMatch(/^x{99}\n[x\n]+the last line\n$/);
    expect(readFileSync(join(folder, 'deploy.log'), 'utf8')).toBe('short\n');
  });

  test('that an app has put something else in the place of are left alone', async () => {
    const elsewhere = join(logs, 'elsewhere');
    writeFileSync(elsewhere, 'not a log\n'.repeat(1_000_000));
    const before = statSync(elsewhere).size;
    symlinkSync(elsewhere, join(folder, 'app.log'));
    execFileSync('mkfifo', [join(folder, 'deploy.log')]);
    mkdirSync(join(folder, 'cron.log'));
    for (const file of ['app.log', 'deploy.log', 'cron.log']) {
      await appendLog(folder, file, 'planted\n');
      expect([await linesSince(folder, file, 0, 10), await logBytes(folder, file)]).toEqual([[], 0]);
    }
    await shortenLogs(logs);
    expect(statSync(elsewhere).size).toBe(before);
  });
});
