/**
 * Which backups an environment keeps. Of automated ones each rule keeps the first of each of its newest periods that have one: so it keeps what it
 * promises also where backups failed, or the environment was paused. Of manual ones the newest are kept, and of all together no more than a number.
 * The newest of all is never given up. Pure functions of what there is.
 */
import { periodAfter, periodStart, type Calendar, type Rule } from './schedule.ts';

export interface Policy {
  /** The limit for automated backups and manual ones together. */
  max_backups: number;
  manual_count: number;
  schedule: readonly Rule[];
}

/** A backup that can be restored. */
export interface KeptBackup {
  id: string;
  automated: boolean;
  /** When it was due, or was made. */
  at: number;
}

export interface Retained {
  /** The ids of backups that nobody needs any more. */
  remove: string[];
  /** When newer backups take the place of automated ones that stay. Without a rule, none does. */
  expiresAt: Map<string, number>;
}

export function retain({ max_backups, manual_count, schedule }: Policy, calendar: Calendar, backups: readonly KeptBackup[]): Retained {
  const newestFirst = backups.toSorted((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1));
  const automated = newestFirst.filter((backup) => backup.automated);
  const expiresAt = new Map<string, number>();
  for (const rule of schedule)
    for (const { id, at } of keptBy(rule, calendar, automated))
      expiresAt.set(id, Math.max(expiresAt.get(id) ?? 0, periodAfter(rule.interval, calendar, at, rule.count)));
  const isWanted = ({ id }: KeptBackup) => schedule.length === 0 || expiresAt.has(id);
  const manual = new Set(newestFirst.filter((backup) => !backup.automated).slice(0, manual_count));
  const wanted = newestFirst.filter((backup, n) => n === 0 || (backup.automated ? isWanted(backup) : manual.has(backup)));
  const kept = new Set(withinLimit(wanted, max_backups).map(({ id }) => id));
  return {
    remove: newestFirst.filter(({ id }) => !kept.has(id)).map(({ id }) => id),
    expiresAt: new Map([...expiresAt].filter(([id]) => kept.has(id))),
  };
}

/** The first backup of each period, for the newest periods. */
function keptBy({ interval, count }: Rule, calendar: Calendar, newestFirst: readonly KeptBackup[]): KeptBackup[] {
  const firsts = new Map<number, KeptBackup>();
  for (const backup of newestFirst) {
    const period = periodStart(interval, calendar, backup.at);
    if (firsts.size === count && !firsts.has(period)) break;
    firsts.set(period, backup);
  }
  return [...firsts.values()];
}

/** The newest backup takes the place of the oldest one of its own kind, or of the other kind where it is the only one of its own. */
function withinLimit(newestFirst: readonly KeptBackup[], most: number): KeptBackup[] {
  const [newest, ...older] = newestFirst;
  if (!newest) return [];
  const [same, other] = [older.filter(isLike(newest)), older.filter((backup) => !isLike(newest)(backup))];
  const room = Math.max(most - 1, 0);
  const kept = new Set([...other.slice(0, room), ...same.slice(0, Math.max(room - other.length, 0))]);
  return [newest, ...older.filter((backup) => kept.has(backup))];
}

const isLike =
  ({ automated }: KeptBackup) =>
  (backup: KeptBackup) =>
    backup.automated === automated;
