/** Lines as journald wants them, where they end up there: with the level in front, so that `journalctl --priority` finds what matters. */
import { fstatSync } from 'node:fs';

/** Our log levels as syslog numbers them. */
const priorities: Record<string, number> = { fatal: 2, error: 3, warn: 4, info: 6, debug: 7, trace: 7 };

/** systemd says which file the journal is; standard error may have been led elsewhere. */
export function isJournal(descriptor: number, env = process.env): boolean {
  const { dev, ino } = fstatSync(descriptor);
  return env['JOURNAL_STREAM'] === `${dev}:${ino}`;
}

export const journalLine = (level: string, line: string): string => `<${priorities[level] ?? priorities['info']}>${line}`;

/** The level of a line of our log. */
export const levelOf = (line: string): string => /^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info';
