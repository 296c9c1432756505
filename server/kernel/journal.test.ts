import { closeSync, fstatSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isJournal, journalLine, levelOf } from './journal.ts';

test('lines of the log carry their level for journald', () => {
  const line = '{"level":"error","time":"2026-01-01T00:00:00.000Z","msg":"\\"level\\":\\"info\\""}\n';
  expect(journalLine(levelOf(line), line)).toBe(`<3>${line}`);
  expect(journalLine(levelOf('Offshoot is ready'), 'Offshoot is ready')).toBe('<6>Offshoot is ready');
});

test('a file is the journal only if systemd says that it is this one', () => {
  const file = openSync('/dev/null', 'r');
  const { dev, ino } = fstatSync(file);
  expect([isJournal(file, {}), isJournal(file, { JOURNAL_STREAM: '8:1' }), isJournal(file, { JOURNAL_STREAM: `${dev}:${ino}` })]).toEqual([
    false,
    false,
    true,
  ]);
  closeSync(file);
});
