/**
 * When a cron runs. Pure: whoever asks brings the time.
 *
 * Times of the configuration are those of a clock on the wall. One that the clock skips in spring comes when it is put forward; one that it shows twice in
 * autumn comes the first time. What runs in every hour of the day is not about the clock but about how often, and goes on through both.
 *
 * So that not all begin at the same second, each comes a little later, always by as much: `H` in its times has that said already.
 */
import { createHash } from 'node:crypto';
import { intervalMinutes, parseCron, type CronTimes } from '../builds/public.ts';
import { dayMilliseconds, minuteMilliseconds, momentOf, offsetAt, wallTime } from '../../kernel/wall-clock.ts';

export interface Cadence {
  spec: string;
  zone: string;
  /** Names the cron. `H` and the jitter are derived from it, so they never change for one cron and differ between crons. */
  key: string;
  intervalMinutesMin: number;
  jitterMinutesMax: number;
}

/** There are eight years between one 29th of February and the next around a century that has no leap year. */
const searchedDaysMax = 8 * 366 + 1;
const hoursOfDay = 24;

/** The first run after `after`; undefined where there is none. `last` is when the cron was due before, if it ever was. */
export function nextRun(cadence: Cadence, after: Date, last?: Date): Date | undefined {
  const times = parseCron(cadence.spec, slotsOf(cadence.key));
  if (typeof times === 'string') return undefined;
  const jitter = jitterOf(cadence, times);
  const soonest = (last?.getTime() ?? Number.NEGATIVE_INFINITY) + cadence.intervalMinutesMin * minuteMilliseconds;
  const from = Math.max(after.getTime(), soonest - 1) - jitter;
  const next = times.hours.length === hoursOfDay ? nextByInterval(times, cadence.zone, from) : nextByClock(times, cadence.zone, from);
  return next === undefined ? undefined : new Date(next + jitter);
}

const hashOf = (text: string) => createHash('sha256').update(text).digest().readUIntBE(0, 6);

/** Each `H` in the times of a cron is chosen by itself. */
function slotsOf(key: string) {
  let count = 0;
  return (first: number, last: number) => first + (hashOf(`${key} ${count++}`) % (last - first + 1));
}

function jitterOf({ spec, key, intervalMinutesMin, jitterMinutesMax }: Cadence, times: CronTimes): number {
  if (/(?:^|[\s,])H/i.test(spec)) return 0;
  const minutes = Math.min(jitterMinutesMax, Math.max(intervalMinutesMin, intervalMinutes(times)));
  return minutes === 0 ? 0 : (hashOf(`${key} jitter`) % (minutes * 60)) * 1000;
}

function nextByClock({ minutes, hours, ...days }: CronTimes, zone: string, after: number): number | undefined {
  const now = wallTime(zone, after);
  const today = Math.floor(now / dayMilliseconds) * dayMilliseconds;
  for (let count = 0; count < searchedDaysMax; count++) {
    const day = today + count * dayMilliseconds;
    if (!isDay(days, day)) continue;
    for (const hour of hours) {
      for (const minute of minutes) {
        const wall = day + (hour * 60 + minute) * minuteMilliseconds;
        const moment = wall < now - minuteMilliseconds ? undefined : momentOf(zone, wall);
        if (moment !== undefined && moment > after) return moment;
      }
    }
  }
  return undefined;
}

/** Goes minute by minute where it must, else skips the rest of an hour or of a day at once. */
function nextByInterval({ minutes, ...days }: CronTimes, zone: string, after: number): number | undefined {
  const until = after + searchedDaysMax * dayMilliseconds;
  for (let moment = (Math.floor(after / minuteMilliseconds) + 1) * minuteMilliseconds; moment < until;) {
    const wall = wallTime(zone, moment);
    if (!isDay(days, wall)) {
      moment = Math.max(moment + minuteMilliseconds, momentOf(zone, (Math.floor(wall / dayMilliseconds) + 1) * dayMilliseconds));
      continue;
    }
    const now = Math.floor(wall / minuteMilliseconds) % 60;
    const minute = minutes.find((minute) => minute >= now);
    if (minute === now) return moment;
    const next = moment + ((minute ?? 60) - now) * minuteMilliseconds;
    moment = offsetAt(zone, next) === wall - moment ? next : moment + minuteMilliseconds;
  }
  return undefined;
}

function isDay({ days, months, weekdays, anyDay, anyWeekday }: Omit<CronTimes, 'minutes' | 'hours'>, wall: number): boolean {
  const date = new Date(wall);
  if (!months.includes(date.getUTCMonth() + 1)) return false;
  const [byDay, byWeekday] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())];
  if (anyDay) return anyWeekday || byWeekday;
  return byDay || (!anyWeekday && byWeekday);
}
