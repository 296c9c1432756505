/**
 * When automated backups are due: at the beginning of each period of a rule such as `1d`. Days, weeks, months and years are those of the project's time
 * zone, with whatever its clocks do in spring and autumn; hours are hours that pass. Everything is a pure function of the moment, so that whoever was away
 * for days finds one backup due, and two who ask find the same one.
 *
 * So that not all environments of an installation begin at midnight, each begins its periods a while later: `spreadSeconds`, its own.
 */
import { createHash } from 'node:crypto';
import { momentOf, wallTime } from '../../kernel/wall-clock.ts';

export interface Rule {
  /** A number and `h`, `d`, `w`, `M` or `y`. */
  interval: string;
  /** How many of its periods keep a backup. */
  count: number;
}

export interface Calendar {
  timeZone: string;
  spreadSeconds: number;
}

const hour = 3_600_000;
const day = 24 * hour;
/** Automated backups are spread over the first hours of the night. */
const spreadHoursMax = 4;
/** The first day of the epoch was a Thursday. */
const mondayDays = 4;
const epochYear = 1970;

export function calendarOf(timeZone: string, projectId: string, environmentId: string): Calendar {
  const digest = createHash('sha256').update(`${projectId} ${environmentId}`).digest();
  return { timeZone, spreadSeconds: digest.readUInt32BE() % (spreadHoursMax * 3600) };
}

/** When the newest period of all rules began: a backup is due unless one was begun since. Undefined where there are no rules. */
export function slotAt(rules: readonly Rule[], calendar: Calendar, now: number): number | undefined {
  return rules.length === 0 ? undefined : Math.max(...rules.map(({ interval }) => periodStart(interval, calendar, now)));
}

/** When the period began that the moment is in. */
export const periodStart = (interval: string, calendar: Calendar, now: number): number => periodAfter(interval, calendar, now, 0);

/** When the period begins that comes so many periods after the one that the moment is in. */
export function periodAfter(interval: string, calendar: Calendar, now: number, periods: number): number {
  const { number, unit } = parseInterval(interval);
  if (unit === 'h') {
    const [length, spread] = [number * hour, (calendar.spreadSeconds * 1000) % hour];
    return (Math.floor((now - spread) / length) + periods) * length + spread;
  }
  const { timeZone, spreadSeconds } = calendar;
  const startOf = (index: number) => momentOf(timeZone, beginningOf[unit](index * number) + spreadSeconds * 1000);
  const wall = wallTime(timeZone, now) - spreadSeconds * 1000;
  const about = Math.floor(countOf[unit](wall) / number);
  // Where clocks are put back or forward, the local time alone does not tell which period it is.
  const index = [about + 1, about].find((each) => startOf(each) <= now) ?? about - 1;
  return startOf(index + periods);
}

type LongUnit = 'd' | 'w' | 'M' | 'y';

/** How many units have passed at this local time, counted as if clocks were never changed. */
const countOf: Record<LongUnit, (wall: number) => number> = {
  d: (wall) => Math.floor(wall / day),
  w: (wall) => Math.floor((wall / day - mondayDays) / 7),
  M: (wall) => (new Date(wall).getUTCFullYear() - epochYear) * 12 + new Date(wall).getUTCMonth(),
  y: (wall) => new Date(wall).getUTCFullYear() - epochYear,
};

const beginningOf: Record<LongUnit, (count: number) => number> = {
  d: (count) => count * day,
  w: (count) => (count * 7 + mondayDays) * day,
  M: (count) => Date.UTC(epochYear, count),
  y: (count) => Date.UTC(epochYear + count, 0),
};

function parseInterval(interval: string): { number: number; unit: LongUnit | 'h' } {
  const [, number, unit] = /^([1-9]\d{0,3})([hdwMy])$/.exec(interval) ?? [];
  if (unit !== 'h' && unit !== 'd' && unit !== 'w' && unit !== 'M' && unit !== 'y') throw new Error(`${interval} is no interval`);
  return { number: Number(number), unit };
}
