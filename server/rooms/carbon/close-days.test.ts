/** A year of the account, with settings that change and a platform that is killed, stopped for weeks, and run twice. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../config.ts';
import type { Usage } from '../../drivers/metrics/metrics.ts';
import { openDatabase, openPool, type Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { cloneDatabase } from '../../testing/platform.ts';
import { seededRandom } from '../../testing/walk.ts';
import { added, chargesOf, nothing } from './account.ts';
import { closeDays } from './close-days.ts';
import { dayAfter, dayAt, daysBetween, startOf, type Day } from '../../kernel/days.ts';
import { accountOfDay, type Charge } from './energy.ts';
import { methodOf, type Method } from './method.ts';
import { firstOpenDay } from './queries.ts';
import { intervals, readTimeFrame } from './time-frame.ts';

const dayMilliseconds = 86_400_000;
const firstDay = '2025-01-01';
const projects = ['shop', 'blog', 'gone'];

let db: Db;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await cloneDatabase();
  const pool = openPool(database.url);
  db = openDatabase(pool);
  drop = async () => {
    await db.destroy();
    await database.drop();
  };
});
afterAll(() => drop());

/** The same for a day however often it is asked for. */
function usageOn(day: Day): Usage[] {
  const random = seededRandom(startOf(day) / dayMilliseconds);
  const some = Array.from({ length: random(8) }, () => ({
    project: projects[random(projects.length)] ?? '',
    environment: ['main-abc', 'next-def'][random(2)] ?? '',
    hour: startOf(day) / 1000 + random(24) * 3600,
    transactions: 0,
    requests: random(100),
    requestBytes: random(1e6),
    responseBytes: random(1e9),
    cpuSeconds: random(1e6) / 77,
    memoryByteSeconds: random(1e13) / 3,
    diskByteSeconds: random(1e14) / 7,
    storedByteSeconds: 0,
    receivedBytes: 0,
    sentBytes: 0,
  }));
  return [...new Map(some.map((each) => [`${each.project} ${each.environment} ${each.hour}`, each])).values()];
}

const usageBetween = (from: Day, to: Day) => daysBetween(from, to).flatMap(usageOn);

/** Every tenth row of an account breaks the transaction that it is written in, as a kill would. */
const breakTransactions = () =>
  sql`create sequence rows_written;
    create function break_now_and_then() returns trigger language plpgsql as
      'begin if nextval(''rows_written'') % 10 = 0 then raise exception ''killed''; end if; return new; end';
    create trigger break_now_and_then before insert on carbon_days for each row execute function break_now_and_then()`.execute(db);

const rowsBefore = async (day: Day) => {
  const { rows } = await sql<
    Record<string, string>
  >`select * from carbon_days where day < ${day}::date order by project_id, day, environment`.execute(db);
  return rows;
};

interface Noted {
  since: number;
  method: Method;
}

test(
  'a year is closed day by day, each day once and by the settings of its end, whatever happens on the way',
  { timeout: 120_000 },
  async () => {
    const random = seededRandom(46);
    let method: Method = { ...methodOf(readConfig({})), processors: 8, memoryBytes: 32e9 };
    let now = startOf(firstDay) + 3_600_000;
    const noted: Noted[] = [];
    await sql`insert into installation (created_at) values (${new Date(now).toISOString()}::timestamptz)`.execute(db);
    await breakTransactions();

    let kills = 0;
    const look = async () => {
      if (JSON.stringify(noted.at(-1)?.method) !== JSON.stringify(method)) noted.push({ since: now, method });
      const stop = new AbortController();
      const usage = async (from: Day, to: Day) => {
        if (random(8) === 0) throw new Error('killed');
        if (random(20) === 0) stop.abort();
        return usageBetween(from, to);
      };
      await closeDays({ db, usage, method }, now, stop.signal).catch((error: Error) => {
        if (error.message !== 'killed') throw error;
        kills += 1;
      });
    };
    let middle: { day: Day; rows: unknown[] } | undefined;
    while (dayAt(now) < '2026-01-02') {
      // Mostly some days; now and then the platform was off for weeks.
      now += random(40) === 0 ? 20 * dayMilliseconds : (6 + random(110)) * 3_600_000;
      if (random(15) === 0)
        method = Object.assign(structuredClone(method), { carbonIntensity: 20 + random(900), full: 2 + random(400) / 100 });
      await (random(4) === 0 ? Promise.all([look(), look()]) : look());
      const open = await firstOpenDay(db, now);
      if (!middle && open > '2025-06-01') middle = { day: open, rows: await rowsBefore(open) };
    }
    for (let tries = 0; tries < 500 && (await firstOpenDay(db, now)) < dayAt(now - 3_600_000); tries += 1) await look();

    const until = await firstOpenDay(db, now);
    expect(until >= '2026-01-01').toBe(true);
    expect(kills).toBeGreaterThan(20);
    expect(noted.length).toBeGreaterThan(5);
    const heldAt = (day: Day) => noted.findLast(({ since }) => since < startOf(dayAfter(day))) ?? noted[0];
    const expected = daysBetween(firstDay, until).flatMap((day) =>
      accountOfDay(usageOn(day), heldAt(day)?.method ?? method).environments.map(({ project, environment, energy, emissions }) =>
        [project, day, environment, ...Object.values(energy), emissions].join(' '),
      ),
    );
    const written = (await rowsBefore('2999-01-01')).map((row) => Object.values(row).join(' '));
    expect(written.toSorted()).toEqual(expected.toSorted());
    const closings = await db.selectFrom('carbon_closings').select('day').orderBy('day').execute();
    expect(closings.map(({ day }) => day)).toEqual(daysBetween(firstDay, until));
    expect(await rowsBefore(middle?.day ?? '')).toEqual(middle?.rows);
    // Some days later, nobody having closed them.
    await expectSums(now + 3 * dayMilliseconds, until);
  },
);

/** Days add up to months and years, and environments to projects, also where the last days are still open. */
async function expectSums(now: number, until: Day) {
  const metrics = { usage: async ({ from, to }: { from: number; to: number }) => usageBetween(dayAt(from * 1000), dayAt(to * 1000)) };
  const platform = { db, metrics, config: readConfig({}) } as unknown as Platform;
  expect(usageBetween(until, dayAfter(dayAt(now))).length).toBeGreaterThan(0);
  const total = async (query: object, environment?: string): Promise<Charge> => {
    const frame = readTimeFrame(query, now);
    const charges = await chargesOf(platform, { projects, environment }, frame, now);
    const all = [...charges.values()].flatMap((ofProject) => [...ofProject]);
    expect(all.every(([start]) => frame.starts.includes(start))).toBe(true);
    return all.map(([, charge]) => charge).reduce(added, nothing);
  };
  const wholeYears = { from: '2025-01-01', to: '2027-01-01' };
  const [days, months, years] = await Promise.all([
    Promise.all(['2025', '2026'].map((year) => total({ from: `${year}-01-01`, to: `${Number(year) + 1}-01-01` }))),
    total({ ...wholeYears, interval: 'month' }),
    total({ ...wholeYears, interval: 'year' }),
  ]);
  expect(days.reduce(added, nothing)).toEqual(years);
  expect(months).toEqual(years);
  const environments = await Promise.all(
    ['main-abc', 'next-def'].map((environment) => total({ ...wholeYears, interval: 'year' }, environment)),
  );
  expect(environments.reduce(added, nothing)).toEqual(years);
  expect(years.emissions > 0n).toBe(true);
  for (const interval of intervals)
    expect(await total({ from: '2025-03-10', to: '2025-03-10T23:00:00Z', interval }).catch(String)).toMatch(/later than from/);
}
