/** A runner process for the storm: `node testing/runner.ts <database url>`, until it is killed. Each activity writes down what it does, and when. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { setTimeout as sleep } from 'node:timers/promises';
import { activity } from '../kernel/activity.ts';
import { openLog } from '../kernel/log.ts';
import { openNotices } from '../kernel/notices.ts';
import { startRunner } from '../kernel/runner.ts';
import { openDatabase, openPool } from '../kernel/sql.ts';
import type { Platform } from '../platform.ts';

/** Steps are slowed down by at most this, so that a storm lasts for some kills however fast the machine is. */
const stepMillisecondsMax = 250;

export const stormy = activity({
  type: 'environment.storm',
  queue: 'internal',
  input: Type.Object({ environment: Type.String() }),
  run: async ({ activity: { id }, input: { environment }, record, step, log }) => {
    for (const name of ['first', 'second', 'third']) {
      await record(name, async (tx) => {
        await sql`insert into storm (activity, step, environment) values (${id}, ${name}, ${environment})`.execute(tx);
      });
      log(`did ${name}`);
      await step(`after ${name}`, () => sleep(Math.random() * stepMillisecondsMax));
    }
  },
});

if (import.meta.main) {
  const [, , url = ''] = process.argv;
  const db = openDatabase(openPool(url));
  const log = openLog('fatal');
  const platform = { db, log, notices: await openNotices(url, log) } as Platform;
  startRunner([stormy], platform);
  process.send?.('ready');
}
