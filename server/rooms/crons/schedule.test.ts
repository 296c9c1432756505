import { describe, expect, test } from 'vitest';
import { nextRun, type Cadence } from './schedule.ts';
import { minuteMilliseconds, wallTime } from '../../kernel/wall-clock.ts';

const exact = { key: 'project\nmain\napp\ncron', intervalMinutesMin: 5, jitterMinutesMax: 0 };
const usual = { ...exact, jitterMinutesMax: 20 };
const dayMilliseconds = 24 * 60 * minuteMilliseconds;

function runsBetween(cadence: Cadence, from: string, until: string): Date[] {
  const runs: Date[] = [];
  for (let at = nextRun(cadence, new Date(from)); at && at < new Date(until); at = nextRun(cadence, at, at)) runs.push(at);
  return runs;
}
const iso = (runs: readonly Date[]) => runs.map((at) => at.toISOString().replace(':00.000Z', ''));
const local = (zone: string, at: Date) => new Date(wallTime(zone, at.getTime())).toISOString().slice(0, 16);

describe('a simulated year', () => {
  // The last two columns: when the run comes in spring, as clocks are put forward, and in autumn, where the first of two such times counts.
  test.for([
    ['Europe/Berlin', '30 2 * * *', '2026-03-29T01:00', '2026-10-25T00:30'],
    ['America/New_York', '30 2 * * *', '2026-03-08T07:00', '2026-11-01T07:30'],
    ['America/New_York', '30 1 * * *', '2026-03-08T06:30', '2026-11-01T05:30'],
  ] as const)('in %s %s comes once on every day, whatever is done to the clock', ([zone, spec, forward, back]) => {
    const runs = runsBetween({ ...exact, zone, spec }, '2025-12-31T12:00:00Z', '2027-01-02T12:00:00Z');
    const days = runs.map((at) => local(zone, at).slice(0, 10)).filter((day) => day.startsWith('2026'));
    expect(days).toEqual(Array.from({ length: 365 }, (_, day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10)));
    expect(iso(runs)).toEqual(expect.arrayContaining([forward, back]));
    const atAnotherTime = runs.filter((at) => local(zone, at).slice(11) !== `0${spec.split(' ')[1]}:30`);
    expect(iso(atAnotherTime)).toEqual(spec === '30 2 * * *' ? [forward] : []);
  });

  test('what runs in every hour of the day keeps its distance while clocks are changed', () => {
    for (const [zone, from, until] of [
      ['Europe/Berlin', '2026-03-28T00:00:00Z', '2026-03-31T00:00:00Z'],
      ['Europe/Berlin', '2026-10-24T00:00:00Z', '2026-10-27T00:00:00Z'],
      ['America/New_York', '2026-11-01T00:00:00Z', '2026-11-03T00:00:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T00:00:00Z', '2026-04-06T00:00:00Z'],
    ] as const) {
      const runs = runsBetween({ ...exact, zone, spec: '*/15 * * * *' }, from, until);
      const gaps = runs.slice(1).map((at, index) => (at.getTime() - (runs[index]?.getTime() ?? 0)) / minuteMilliseconds);
      expect([zone, new Set(gaps)]).toEqual([zone, new Set([15])]);
    }
  });
});

/** A slow reference that is easy to believe: looks at the clock in every minute. */
function lookedAtEachMinute(hour: number, minutes: readonly number[], walls: readonly { at: number; wall: number }[]): string[] {
  const runs: Date[] = [];
  let shown = (walls[0]?.wall ?? 0) - minuteMilliseconds;
  for (const { at, wall } of walls) {
    // The times that the clock shows for the first time: one minute, several where it skipped some, none while it repeats an hour.
    const news = Array.from(
      { length: Math.max(0, (wall - shown) / minuteMilliseconds) },
      (_, n) => new Date(wall - n * minuteMilliseconds),
    );
    if (news.some((date) => date.getUTCHours() === hour && minutes.includes(date.getUTCMinutes()))) runs.push(new Date(at));
    shown = Math.max(wall, shown);
  }
  return iso(runs);
}

test.for(['Europe/Berlin', 'America/New_York', 'America/Santiago', 'Australia/Lord_Howe'])(
  'in %s it is the same as looking at the clock every minute, on days on which clocks are changed',
  (zone) => {
    for (const day of ['2026-03-07', '2026-03-28', '2026-04-04', '2026-09-05', '2026-10-03', '2026-10-24', '2026-10-31']) {
      const from = Date.parse(`${day}T09:00Z`);
      const walls = Array.from({ length: 36 * 60 }, (_, n) => from + n * minuteMilliseconds).map((at) => ({
        at,
        wall: wallTime(zone, at),
      }));
      for (const [hour, minutes] of Object.entries({ 0: [0, 30], 1: [15], 2: [0, 20, 59], 3: [0], 23: [45] })) {
        const spec = `${minutes.join(',')} ${hour} * * *`;
        const found = runsBetween(
          { ...exact, zone, spec },
          new Date(from - 1).toISOString(),
          new Date(from + 36 * 60 * minuteMilliseconds).toISOString(),
        );
        expect([day, spec, iso(found)]).toEqual([day, spec, lookedAtEachMinute(Number(hour), minutes, walls)]);
      }
    }
  },
);

test.for([
  ['0 12 15 * mon', '2026-02-02T12:00 2026-02-09T12:00 2026-02-15T12:00 2026-02-16T12:00 2026-02-23T12:00'],
  ['0 12 * feb fri', '2026-02-06T12:00 2026-02-13T12:00 2026-02-20T12:00 2026-02-27T12:00'],
  ['0 0 31 * *', ''],
  ['0 */6 28 2-3 *', '2026-02-28T00:00 2026-02-28T06:00 2026-02-28T12:00 2026-02-28T18:00'],
] as const)('in February, %s is %s', ([spec, expected]) => {
  const runs = runsBetween({ ...exact, zone: 'UTC', spec }, '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z');
  expect(iso(runs).join(' ')).toBe(expected);
});

test('a 29th of February is found over a century without one; what never comes is not searched for ever', () => {
  const cadence = { ...exact, zone: 'UTC', spec: '0 0 29 2 *' };
  expect(nextRun(cadence, new Date('2096-03-01T00:00:00Z'))?.toISOString()).toBe('2104-02-29T00:00:00.000Z');
  expect(nextRun({ ...cadence, spec: 'whenever' }, new Date('2026-01-01T00:00:00Z'))).toBeUndefined();
  const elsewhere = { ...exact, zone: 'Mars/Olympus', spec: '0 3 * * *' };
  expect(nextRun(elsewhere, new Date('2026-01-01T00:00:00Z'))?.toISOString()).toBe('2026-01-01T03:00:00.000Z');
});

test('what wants to run more often than every five minutes runs every five minutes', () => {
  const minutesOf = (spec: string) => iso(runsBetween({ ...exact, zone: 'UTC', spec }, '2026-01-01T10:00:00Z', '2026-01-01T11:30:00Z'));
  expect(
    minutesOf('* * * * *')
      .slice(0, 4)
      .map((at) => at.slice(14)),
  ).toEqual(['01', '06', '11', '16']);
  expect(minutesOf('58,2 * * * *')).toEqual(['2026-01-01T10:02', '2026-01-01T10:58']);
});

describe('slots', () => {
  const keys = Array.from({ length: 300 }, (_, n) => `project\nbranch-${n}\napp\nnightly`);
  const first = (spec: string, key: string) => nextRun({ ...usual, zone: 'UTC', spec, key }, new Date('2026-01-01T00:00:00Z'));
  const minutes = (spec: string) => keys.map((key) => first(spec, key)?.getUTCMinutes() ?? -1);

  test('H is chosen once for each cron, within what it may be, and not the same for all', () => {
    expect(minutes('H 3 * * *')).toEqual(minutes('H 3 * * *'));
    expect(new Set(minutes('H 3 * * *')).size).toBeGreaterThan(50);
    expect(Math.max(...minutes('H(0-29) 3 * * *'))).toBe(29);
    expect(Math.max(...minutes('H/15 3 * * *'))).toBe(14);
    expect(keys.filter((key) => first('H H * * *', key)?.getUTCHours() === first('H H * * *', key)?.getUTCMinutes()).length).toBeLessThan(
      30,
    );
    const quarters = runsBetween({ ...usual, zone: 'UTC', spec: 'H/15 * * * *' }, '2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z');
    expect(quarters).toHaveLength(8);
    // No jitter is added, so the run comes exactly at its minute: `H` has spread the crons already.
    expect(keys.every((key) => first('H 3 * * *', key)?.getUTCSeconds() === 0)).toBe(true);
  });

  test.for([
    ['0 3 * * *', 20],
    ['0 * * * *', 20],
    ['*/5 * * * *', 5],
  ] as const)('%s is delayed by the same amount each time, which is less than its interval and than twenty minutes', ([spec, most]) => {
    const delays = keys.map((key) => ((first(spec, key)?.getTime() ?? 0) / minuteMilliseconds) % (most === 5 ? 5 : 60));
    expect(Math.max(...delays)).toBeLessThan(most);
    expect(new Set(delays).size).toBeGreaterThan(100);
    const [one, other] = runsBetween({ ...usual, zone: 'UTC', spec: '0 3 * * *' }, '2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z');
    expect(Number(other) - Number(one)).toBe(dayMilliseconds);
  });
});
