import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readLogs } from './logs.ts';
import { openRuntimeFolders, type RuntimeFolders } from './runtime-folders.ts';

let folders: RuntimeFolders;
let log: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-logs-'));
  folders = openRuntimeFolders(folder, { runFolder: join(folder, 'run'), instance: 'abcdef' });
  log = join(folders.containers, 'web', 'log');
  mkdirSync(join(folders.containers, 'web'), { recursive: true });
});
afterEach(() => rmSync(folders.folder, { recursive: true }));

/** As the monitor of the container writes it down. */
const say = (text: string) => appendFileSync(log, `2026-01-01T00:00:00.000000000+00:00 stdout F ${text}\n`);

describe('who follows a log until the container has ended', () => {
  /** Everything up to the end of the log was read, and the next look is not taken yet. */
  async function followedUpToNow() {
    const ending = new AbortController();
    say('first');
    const lines = readLogs(folders, 'web', { tail: 1, follow: ending.signal });
    expect((await lines.next()).value).toMatchObject({ text: 'first' });
    const rest = async () => {
      const said: string[] = [];
      for await (const { text } of lines) said.push(text);
      return said;
    };
    return { ending, rest };
  }

  test('hears what was said between the last look and the end', async () => {
    const { ending, rest } = await followedUpToNow();
    say('last');
    ending.abort();
    expect(await rest()).toEqual(['last']);
  });

  test('hears what was said then before and after another log was begun', async () => {
    const { ending, rest } = await followedUpToNow();
    say('in the old one');
    renameSync(log, `${log}.1`);
    say('in the new one');
    ending.abort();
    expect(await rest()).toEqual(['in the old one', 'in the new one']);
  });

  test('waits for nothing more', async () => {
    const { ending, rest } = await followedUpToNow();
    ending.abort();
    expect(await rest()).toEqual([]);
  });
});
