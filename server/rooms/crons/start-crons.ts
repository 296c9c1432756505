/**
 * Starts crons when their time has come: each slot once, whoever else looks, and over kills, because the slot moves on in the transaction that starts the
 * activity. However long nobody looked, it is one run that is made up for. Where nothing runs that a cron could run in, its slots pass.
 */
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { actorById } from '../activities/public.ts';
import { cronSettingsOf } from '../projects/public.ts';
import {
  dueCrons,
  heedSlot,
  passSlots,
  markScheduled,
  removeCron,
  replaceCrons,
  unscheduledDeployments,
  type DueCron,
  type NewCron,
  type Unscheduled,
} from './queries.ts';
import { nextRun, type Cadence } from './schedule.ts';
import { startRun } from './start-run.ts';

const atOnceMax = 200;
/** The next slot of a cron whose times never come. */
const never = new Date('9999-01-01T00:00:00Z');

export const startCrons: Reconciler = {
  name: 'start crons',
  everySeconds: 5,
  run: (platform, signal) => startCronsAt(platform, new Date(), signal),
};

/** Deployments come first: the slots of a new one begin now, and a cron that it does not have any more does not run. */
export async function startCronsAt(platform: Platform, now: Date, signal?: AbortSignal): Promise<void> {
  const { db } = platform;
  await inBatches(
    () => unscheduledDeployments(db, atOnceMax),
    (found) => eachOf(platform, found, (deployment) => schedule(platform, deployment, now), signal),
  );
  await inBatches(
    () => dueCrons(db, now, atOnceMax),
    async (found) => {
      await pass(platform, found.filter(passes), now);
      return eachOf(
        platform,
        found.filter((cron) => !passes(cron)),
        (cron) => heed(platform, cron, now),
        signal,
      );
    },
  );
}

/** `work` answers whether there may be more to do. */
async function inBatches<T>(find: () => Promise<T[]>, work: (found: T[]) => Promise<boolean>) {
  for (let isMore = true; isMore;) {
    const found = await find();
    isMore = (await work(found)) && found.length === atOnceMax;
  }
}

/** One that fails is found again in the next round, and does not keep the others from their turn. */
async function eachOf<T extends { environment_id: string }>(
  { log }: Platform,
  all: readonly T[],
  work: (one: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  let isWell = true;
  for (const one of all) {
    if (signal?.aborted) return false;
    await work(one).catch((error: unknown) => {
      isWell = false;
      log.error({ error, environment: one.environment_id }, 'crons of an environment could not be started');
    });
  }
  return isWell;
}

interface Owner {
  project_id: string;
  environment_id: string;
  app: string;
  name: string;
}

function cadenceOf(
  { project_id, environment_id, app, name }: Owner,
  spec: string,
  zone: string,
  settings: Record<string, unknown>,
): Cadence {
  const { intervalMinutesMin, jitterMinutesMax } = cronSettingsOf(settings);
  return { spec, zone, key: [project_id, environment_id, app, name].join('\n'), intervalMinutesMin, jitterMinutesMax };
}

const schedule = ({ db }: Platform, deployment: Unscheduled, now: Date) =>
  db.transaction().execute(async (tx) => {
    const { id, project_id, environment_id } = deployment;
    if (!(await markScheduled(tx, id))) return;
    const crons = deployment.crons.map(({ app, name, spec, timezone }): NewCron => {
      const zone = timezone ?? 'UTC';
      const cadence = cadenceOf({ project_id, environment_id, app, name }, spec, zone, deployment.settings);
      return { app, name, spec, timezone, next_at: (nextRun(cadence, now) ?? never).toISOString() };
    });
    await replaceCrons(tx, project_id, environment_id, crons);
  });

const nextOf = (cron: DueCron, now: Date): Date =>
  nextRun(cadenceOf(cron, cron.spec, cron.zone, cron.settings), now, new Date(cron.next_at)) ?? never;

/** The slot passes without a run, because nothing runs that the cron could run in. */
const passes = ({ can_run, is_deployed }: DueCron) => is_deployed && !can_run;

async function pass({ db }: Platform, crons: readonly DueCron[], now: Date) {
  const slotOf = (cron: DueCron) => {
    const { project_id, environment_id, app, name, next_at } = cron;
    return { project_id, environment_id, app, name, next_at, next: nextOf(cron, now).toISOString() };
  };
  if (crons.length > 0) await passSlots(db, crons.map(slotOf));
}

/** At most one run of a cron waits; further slots are left out. */
const heed = (platform: Platform, cron: DueCron, now: Date) =>
  platform.db.transaction().execute(async (tx) => {
    if (cron.definition === null) return void (await removeCron(tx, cron));
    const heeding = cron.is_last_waiting ? 'waits' : 'runs';
    if ((await heedSlot(tx, cron, nextOf(cron, now), heeding)) && heeding === 'runs')
      await startRun(tx, platform, cron, cron.definition, { actor: await actorById(tx, null), isOwed: true });
  });
