/**
 * What durable work costs. From the commit that starts an activity to its first step, at rest; short activities carried out by one runner, beside
 * the same number of bare inserts and updates; and a page of the list in a project with a million activities, beside one with a thousand.
 */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { setTimeout as sleep } from 'node:timers/promises';
import { activity, startActivity } from '../server/kernel/activity.ts';
import { startRunner } from '../server/kernel/runner.ts';
import { activitiesWith } from '../server/rooms/activities/public.ts';
import { median, openMeasuredPlatform } from './harness/platform.ts';

const startMillisecondsMax = 50;
const perSecondMin = 200;
const [latencies, shortOnes, environments] = [50, 2000, 100];
const [many, few] = [1_000_000, 1000];
const listRatioMax = 2;
const partRows = 100_000;
const lanesEach = 20;

const { api, db, headers, platform, close } = await openMeasuredPlatform();
const { id: organization_id } = (await api.inject({ method: 'POST', url: '/organizations', headers, payload: { label: 'Bench' } })).json();
for (const id of ['busy', 'small', 'large'])
  await db.insertInto('projects').values({ id, organization_id, region: 'bench', status: 'active' }).execute();

const seen = { began: 0, ended: 0 };
const short = activity({
  type: 'bench.short',
  queue: 'internal',
  input: Type.Object({}),
  run: async ({ step, record }) => {
    await step('first', async () => void (seen.began = performance.now()));
    await record('second', async (tx) => void (await sql`update projects set updated_at = now() where id = 'small'`.execute(tx)));
    seen.ended += 1;
  },
});

const runner = startRunner([short], platform);
const start = (n: number) =>
  db
    .transaction()
    .execute((tx) =>
      startActivity(tx, short, { project_id: 'busy', environments: [{ id: `e${n % environments}`, type: 'development' }], input: {} }),
    );

const verdict = (isGood: boolean) => {
  if (!isGood) process.exitCode = 1;
  return isGood ? 'ok' : 'TOO SLOW';
};

const waits: number[] = [];
for (let n = 0; n < latencies; n += 1) {
  const at = performance.now();
  await start(n);
  while (seen.ended <= n) await sleep(1);
  waits.push(seen.began - at);
  await sleep(20);
}
console.log(
  `start to first step   ${median(waits).toFixed(1)} ms at rest (at most ${startMillisecondsMax}): ${verdict(median(waits) <= startMillisecondsMax)}`,
);

seen.ended = 0;
const since = performance.now();
for (let n = 0; n < shortOnes; n += 50) await Promise.all(Array.from({ length: 50 }, (_, m) => start(n + m)));
while (seen.ended < shortOnes) await sleep(2);
const perSecond = shortOnes / ((performance.now() - since) / 1000);
const bareSince = performance.now();
for (let n = 0; n < shortOnes; n += 8)
  await Promise.all(
    Array.from({ length: 8 }, () =>
      db.transaction().execute((tx) => sql`update projects set updated_at = now() where id = 'large'`.execute(tx)),
    ),
  );
const barePerSecond = shortOnes / ((performance.now() - bareSince) / 1000);
console.log(
  `short activities      ${perSecond.toFixed(0)}/s started and carried out (at least ${perSecondMin}), ` +
    `${(barePerSecond / perSecond).toFixed(1)} bare transactions each: ${verdict(perSecond >= perSecondMin)}`,
);
await runner.close();

for (const [project, count] of [
  ['small', few],
  ['large', many],
] as const) {
  /** Inserted in parts, each within the time that a statement has. */
  for (let from = 0; from < count; from += partRows)
    await sql`insert into activities (id, project_id, type, queue, environments, environment_types, state, result, completion_percent, created_at)
    select ${project} || n, ${project}, (array['environment.push', 'environment.cron', 'environment.backup'])[1 + n % 3], 'default',
      array['e' || n % ${lanesEach}::int], '{development}', 'complete', 'success', 100, now() - n * interval '1 second' from generate_series(${from + 1}::int, ${Math.min(from + partRows, count)}::int) n`.execute(
      db,
    );
  for (let lane = 0; lane < lanesEach; lane += 1)
    await sql`insert into activity_lanes (activity_id, project_id, lane, position, created_at, is_open)
    select id, project_id, environments[1], position, created_at, false from activities where project_id = ${project} and environments[1] = ${`e${lane}`}`.execute(
      db,
    );
}
await sql`vacuum analyze`.execute(db);

const page = (project_id: string, environment?: string) =>
  activitiesWith(db, {
    project_id,
    organization_id,
    ...(environment !== undefined && { environment }),
    visible: ['development', 'staging', 'production'],
    types: undefined,
    states: undefined,
    results: undefined,
    until: undefined,
    count: 25,
  });
for (const environment of [undefined, 'e7']) {
  const times: Record<string, number[]> = { small: [], large: [] };
  for (let n = 0; n < 200; n += 1) {
    for (const project of ['small', 'large']) {
      const at = performance.now();
      if ((await page(project, environment)).length !== 25) throw new Error('A page has 25 activities');
      times[project]?.push(performance.now() - at);
    }
  }
  const [small, large] = [median(times['small'] ?? []), median(times['large'] ?? [])];
  console.log(
    `list of ${environment === undefined ? 'a project    ' : 'an environment'} ${large.toFixed(2)} ms among ${many}, ${small.toFixed(2)} ms among ${few}: ` +
      `${(large / small).toFixed(2)} (at most ${listRatioMax}): ${verdict(large / small <= listRatioMax)}`,
  );
}
await close();
