import { expect, test } from 'vitest';
import { retain, type KeptBackup, type Policy } from './retention.ts';
import { calendarOf, periodStart, slotAt, type Calendar, type Rule } from './schedule.ts';
import { momentOf, wallTime } from '../../kernel/wall-clock.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const yearBegins = Date.parse('2026-01-01T00:00:00Z');
const yearEnds = Date.parse('2027-01-01T00:00:00Z');

const amsterdam: Calendar = { timeZone: 'Europe/Amsterdam', spreadSeconds: 0 };
const iso = (instant: number) => new Date(instant).toISOString();
const localTime = (timeZone: string, instant: number) => new Date(wallTime(timeZone, instant)).toISOString().slice(11, 16);

interface Year {
  policy: Policy | ((now: number) => Policy);
  calendar: Calendar;
  /** Whether a backup can be made at that time; otherwise the platform is down, or the environment is busy. */
  isUp?: (now: number) => boolean;
  /** When somebody makes a backup by hand. */
  manualAt?: readonly number[];
  everyMinutes?: number;
}

/** Simulates a year of the reconcilers: each round starts what is due, and then removes what is too much. */
function live({ policy, calendar, isUp = () => true, manualAt = [], everyMinutes = 180 }: Year) {
  let kept: KeptBackup[] = [];
  let last = yearBegins;
  let before: Policy | undefined;
  const made: number[] = [];
  const sizes: number[] = [];
  const manual = [...manualAt];
  for (let now = yearBegins; now < yearEnds; now += everyMinutes * minute) {
    if (!isUp(now)) continue;
    const holding = typeof policy === 'function' ? policy(now) : policy;
    const slot = slotAt(holding.schedule, calendar, now);
    if (slot !== undefined && slot > last) {
      last = slot;
      made.push(slot);
      kept.push({ id: `automated ${iso(slot)}`, automated: true, at: slot });
    }
    while (manual[0] !== undefined && manual[0] <= now)
      kept.push({ id: `manual ${iso(manual[0])}`, automated: false, at: manual.shift() ?? 0 });
    if (kept.length === sizes.at(-1) && holding === before) continue;
    before = holding;
    const { remove } = retain(holding, calendar, kept);
    expect(remove.length < kept.length || kept.length === 0).toBe(true);
    kept = kept.filter(({ id }) => !remove.includes(id));
    sizes.push(kept.length);
  }
  return { made, kept, sizesMax: Math.max(...sizes) };
}

const policyOf = (schedule: Rule[], changes: Partial<Policy> = {}): Policy => ({ max_backups: 50, manual_count: 2, schedule, ...changes });
const daily = policyOf([{ interval: '1d', count: 2 }]);

test.for(['UTC', 'Europe/Amsterdam', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia', 'America/St_Johns'])(
  'a year of days in %s has one backup for each day, always at the same time by the clock on the wall',
  (timeZone) => {
    const calendar = calendarOf(timeZone, 'project', 'main');
    const { made, kept, sizesMax } = live({ policy: daily, calendar });
    expect(made.length).toBeGreaterThanOrEqual(364);
    expect(made.length).toBeLessThanOrEqual(366);
    const days = made.map((slot) => Math.floor((wallTime(timeZone, slot) - calendar.spreadSeconds * 1000) / day));
    expect(new Set(days).size).toBe(days.length);
    expect(days).toEqual(days.map((_, n) => (days[0] ?? 0) + n));
    const times = Map.groupBy(made, (slot) => localTime(timeZone, slot));
    // Where the hour of the backup is skipped in spring, the backup is made later by as much.
    expect([...times.values()].filter((slots) => slots.length > 1)).toHaveLength(1);
    expect(times.size).toBeLessThanOrEqual(2);
    expect([kept.length, sizesMax]).toEqual([2, 2]);
  },
);

test('clocks that are put forward or back lose no backup and make none twice', () => {
  const night: Calendar = { ...amsterdam, spreadSeconds: 2.5 * 3600 };
  // 02:30 does not exist on 29 March, and exists twice on 25 October.
  expect(iso(periodStart('1d', night, Date.parse('2026-03-29T12:00:00Z')))).toBe('2026-03-29T01:00:00.000Z');
  expect(iso(periodStart('1d', night, Date.parse('2026-03-29T00:59:59Z')))).toBe('2026-03-28T01:30:00.000Z');
  const autumn = '2026-10-25T00:30:00.000Z';
  for (const now of ['2026-10-25T00:30:00Z', '2026-10-25T01:10:00Z', '2026-10-25T01:30:00Z', '2026-10-25T12:00:00Z'])
    expect(iso(periodStart('1d', night, Date.parse(now)))).toBe(autumn);
  const slots = new Set<number>();
  for (let now = Date.parse('2026-10-24T00:00:00Z'); now < Date.parse('2026-10-27T00:00:00Z'); now += minute)
    slots.add(periodStart('1d', night, now));
  expect([...slots].map(iso)).toEqual(['2026-10-23T00:30:00.000Z', '2026-10-24T00:30:00.000Z', autumn, '2026-10-26T01:30:00.000Z']);
});

test('hours are hours that pass; weeks begin on Monday, months and years on their first day', () => {
  const at = (interval: string, now: string) => iso(periodStart(interval, amsterdam, Date.parse(now)));
  const { made } = live({ policy: policyOf([{ interval: '1h', count: 3 }]), calendar: amsterdam, everyMinutes: 60 });
  expect(made).toHaveLength(365 * 24 - 1);
  expect(at('6h', '2026-07-01T13:00:00Z')).toBe('2026-07-01T12:00:00.000Z');
  expect(at('1w', '2026-11-15T22:59:00Z')).toBe('2026-11-08T23:00:00.000Z');
  expect(at('1w', '2026-11-15T23:00:00Z')).toBe('2026-11-15T23:00:00.000Z');
  expect(new Date(periodStart('2w', { timeZone: 'UTC', spreadSeconds: 0 }, yearBegins)).getUTCDay()).toBe(1);
  expect(at('1M', '2026-06-30T22:00:00Z')).toBe('2026-06-30T22:00:00.000Z');
  expect(at('3M', '2026-06-30T21:59:59Z')).toBe('2026-03-31T22:00:00.000Z');
  expect(at('1y', '2026-12-31T23:00:00Z')).toBe('2026-12-31T23:00:00.000Z');
  expect(at('2y', '2027-05-01T00:00:00Z')).toBe('2025-12-31T23:00:00.000Z');
  expect(() => at('0d', '2026-01-01T00:00:00Z')).toThrow('no interval');
});

test('what clocks show and when they show it agree, for every hour of the year', () => {
  for (const timeZone of ['Europe/Amsterdam', 'Australia/Lord_Howe', 'America/St_Johns'])
    for (let now = yearBegins; now < yearEnds; now += hour) {
      const instant = momentOf(timeZone, wallTime(timeZone, now));
      expect(now - instant === 0 || now - instant === hour || now - instant === hour / 2).toBe(true);
    }
});

test('after days of downtime one backup is made, and what was kept before is still there', () => {
  const outage = { from: Date.parse('2026-05-01T12:00:00Z'), to: Date.parse('2026-05-09T15:00:00Z') };
  const calendar = calendarOf('Europe/Amsterdam', 'project', 'main');
  const isUp = (now: number) => now < outage.from || now >= outage.to;
  const { made } = live({ policy: daily, calendar, isUp });
  expect(made.filter((slot) => slot > outage.from && slot <= outage.to)).toEqual([periodStart('1d', calendar, outage.to)]);
  expect(made.length).toBeGreaterThan(350);
  const upTo = live({ policy: daily, calendar, isUp: (now) => isUp(now) && now < outage.to + hour });
  expect(upTo.kept.map(({ at }) => at)).toEqual(upTo.made.slice(-2));
});

test('several rules share backups: one a day serves the week and the month as well', () => {
  const rules = [
    { interval: '1d', count: 7 },
    { interval: '1w', count: 4 },
    { interval: '1M', count: 12 },
  ];
  const calendar = calendarOf('America/New_York', 'project', 'main');
  const { made, kept, sizesMax } = live({ policy: policyOf(rules), calendar });
  expect(new Set(made).size).toBe(made.length);
  expect(made.length).toBeLessThanOrEqual(366);
  expect(sizesMax).toBeLessThanOrEqual(7 + 4 + 12);
  const starts = kept.map(({ at }) => new Date(wallTime(calendar.timeZone, at)));
  expect(starts.filter((start) => start.getUTCDate() === 1).length).toBe(12);
  expect(starts.filter((start) => start.getUTCDay() === 1).length).toBeGreaterThanOrEqual(4);
});

test('another policy holds from the moment it is set: it lets go, or keeps more from then on', () => {
  const july = Date.parse('2026-07-01T00:00:00Z');
  const calendar = calendarOf('UTC', 'project', 'main');
  const [often, hourly] = [policyOf([{ interval: '6h', count: 20 }]), policyOf([{ interval: '1h', count: 30 }])];
  const [five, never] = [policyOf([{ interval: '1d', count: 5 }]), policyOf([])];
  const fewer = live({ policy: (now) => (now < july ? often : daily), calendar });
  expect(fewer.sizesMax).toBe(20);
  expect(fewer.kept).toHaveLength(2);
  const more = live({ policy: (now) => (now < july ? daily : hourly), calendar, everyMinutes: 60 });
  expect(more.kept).toHaveLength(30);
  // Turning automated backups off removes none that were made.
  const none = live({ policy: (now) => (now < july ? five : never), calendar });
  expect([none.kept.length, none.made.length < 190]).toEqual([5, true]);
});

test('a manual backup beyond its number takes the place of the oldest manual one, never of an automated one that is wanted', () => {
  const manualAt = [1, 2, 3, 4, 5].map((month) => Date.UTC(2026, month, 15));
  const { kept } = live({ policy: daily, calendar: amsterdam, manualAt });
  expect(kept.filter(({ automated }) => automated)).toHaveLength(2);
  expect(kept.filter(({ automated }) => !automated).map(({ at }) => at)).toEqual(manualAt.slice(-2));
});

test('no more are kept than max_backups; the newest takes the place of the oldest of its kind', () => {
  const policy = policyOf([{ interval: '1d', count: 10 }], { max_backups: 5, manual_count: 4 });
  const manual = (n: number): KeptBackup => ({ id: `m${n}`, automated: false, at: yearBegins + n * day });
  const automated = (n: number): KeptBackup => ({ id: `a${n}`, automated: true, at: yearBegins + n * day });
  const utc: Calendar = { timeZone: 'UTC', spreadSeconds: 0 };
  const kinds = (backups: KeptBackup[]) => retain(policy, utc, backups).remove;
  expect(kinds([automated(1), automated(2), manual(3), manual(4), manual(5)])).toEqual([]);
  expect(kinds([automated(1), automated(2), manual(3), manual(4), manual(5), manual(6)])).toEqual(['m3']);
  expect(kinds([automated(1), automated(2), manual(3), manual(4), manual(5), automated(6)])).toEqual(['a1']);
  expect(kinds([manual(1), automated(2), automated(3), automated(4), automated(5), automated(6), automated(7)])).toEqual(['a3', 'a2']);
  expect(kinds([automated(2), automated(3), automated(4), automated(5), automated(6), manual(7)])).toEqual(['a2']);
});

test('the newest is kept whatever the policy says, and each tells when newer ones take its place', () => {
  const utc: Calendar = { timeZone: 'UTC', spreadSeconds: 3600 };
  const one = retain(policyOf([{ interval: '1d', count: 1 }], { max_backups: 1 }), utc, [{ id: 'old', automated: true, at: yearBegins }]);
  expect(one).toEqual({ remove: [], expiresAt: new Map([['old', yearBegins + hour]]) });
  const rules = [
    { interval: '1d', count: 2 },
    { interval: '1w', count: 3 },
  ];
  const monday = Date.parse('2026-11-16T01:00:00Z');
  const { expiresAt, remove } = retain(policyOf(rules), utc, [
    { id: 'monday', automated: true, at: monday },
    { id: 'tuesday', automated: true, at: monday + day },
    { id: 'by hand', automated: false, at: monday + 2 * day },
  ]);
  expect(remove).toEqual([]);
  expect([...expiresAt].map(([id, at]) => [id, iso(at)])).toEqual([
    ['tuesday', '2026-11-19T01:00:00.000Z'],
    ['monday', '2026-12-07T01:00:00.000Z'],
  ]);
});
