/**
 * Closes the days of the account, one after the other. What was measured is kept for thirty days and settings change; what a day was is written down in one transaction, once, and stays. Whoever is
 * killed leaves a day open or closed, and the next look goes on from the first that is open.
 */
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import { dayAfter, endOf } from '../../kernel/days.ts';
import { accountOfDay } from './energy.ts';
import { hourlyUsageOf, type HourlyUsage } from './hourly-usage.ts';
import { methodOf, type Method } from './method.ts';
import { closeDay, firstOpenDay, methodAtEnd, notedMethods, noteMethod } from './queries.ts';

/** What is measured reaches the store within seconds, and later where the store is behind. */
const closedAfterMilliseconds = 3_600_000;

export interface Closing {
  db: Db;
  usage: HourlyUsage;
  method: Method;
}

export async function closeDays({ db, usage, method }: Closing, now: number, signal: AbortSignal): Promise<void> {
  await noteMethod(db, method, now);
  const noted = await notedMethods(db);
  for (let day = await firstOpenDay(db, now); endOf(day) + closedAfterMilliseconds <= now && !signal.aborted; day = dayAfter(day)) {
    const held = methodAtEnd(noted, day);
    if (!held) throw new Error('No method is noted');
    await closeDay(db, day, held, accountOfDay(await usage(day, dayAfter(day)), held.method));
  }
}

export const closeCarbonDays: Reconciler = {
  name: 'close the days of the carbon account',
  everySeconds: 600,
  // The machine is a part of the method, and measurements are kept where it is.
  usesMachine: true,
  run: async ({ db, metrics, config }, signal) => {
    // A store that takes no records may have to take some of yesterday.
    if (metrics.status().trouble !== undefined) return;
    await closeDays({ db, usage: hourlyUsageOf(metrics), method: methodOf(config) }, Date.now(), signal);
  },
};
