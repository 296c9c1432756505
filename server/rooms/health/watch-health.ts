/**
 * Looks at environments, decides what is wrong with them, and has that told. What is decided and what was told are both written down, each on its own: whoever is
 * killed between the two finds, at the next look, what has still to be told.
 *
 * A regular look costs eight statements for all environments together, and two questions to the store of measurements for each that is watched, one after the other; a
 * look for failures, which follows each deployment and each backup, costs three statements. Each change costs one more, and a transaction for each integration that is told.
 */
import { isTooMuch } from '../../drivers/metrics/metrics.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { changeAlert, endUnwatched, forgetEnded, knownAlerts, openAlert, type Alert } from './alerts.ts';
import { checkNames, checks, type CheckName } from './checks/checks.ts';
import type { Reading } from './checks/check.ts';
import { judge } from './judge.ts';
import { measuredSeconds, type Sources } from './sources.ts';
import { tellReceivers } from './tell-receivers.ts';
import {
  recentIncidents,
  refusedCertificates,
  servedCertificates,
  watchedEnvironments,
  type WatchedEnvironment,
} from './watched-environments.ts';

export const watchHealth: Reconciler = {
  name: 'watch health',
  everySeconds: 60,
  run: (platform, signal) => watchHealthAt(platform, new Date(), signal),
};

export const noticeFailures: Reconciler = {
  name: 'notice failures',
  everySeconds: 60,
  run: async (platform, signal) => {
    await look(platform, new Date(), async (environment) => failuresOf(environment), signal);
    await tellReceivers(platform, signal);
  },
};

export async function watchHealthAt(platform: Platform, now: Date, signal?: AbortSignal): Promise<void> {
  const { db } = platform;
  const recorded = await recordedOf(platform, now);
  await look(platform, now, (environment) => sourcesOf(platform, environment, recorded, now), signal);
  await endUnwatched(db, now);
  await tellReceivers(platform, signal);
  await forgetEnded(db, now);
}

async function look(
  platform: Platform,
  now: Date,
  sourcesFor: (environment: WatchedEnvironment) => Promise<Sources>,
  signal?: AbortSignal,
): Promise<void> {
  const { db, log } = platform;
  const [environments, alerts] = [await watchedEnvironments(db), await knownAlerts(db)];
  const known = Map.groupBy(alerts, ({ project_id, environment_id }) => keyOf(project_id, environment_id));
  for (const environment of environments) {
    if (signal?.aborted) return;
    const { project_id, id } = environment;
    await judgeAll(platform, environment, known.get(keyOf(project_id, id)) ?? [], await sourcesFor(environment), now).catch(
      (error: unknown) => log.error({ error, project: project_id, environment: id }, 'the health of an environment could not be judged'),
    );
  }
}

const keyOf = (...words: readonly string[]) => JSON.stringify(words);

async function judgeAll(
  platform: Platform,
  environment: WatchedEnvironment,
  alerts: readonly Alert[],
  sources: Sources,
  now: Date,
): Promise<void> {
  for (const name of checkNames) {
    const found = checks[name].readings(sources);
    if (!found) continue;
    const readings = new Map(found.map((reading) => [reading.subject, reading]));
    const own = new Map(alerts.filter(({ check_name }) => check_name === name).map((alert) => [alert.subject, alert]));
    for (const subject of new Set([...readings.keys(), ...own.keys()]))
      await judgeOne(platform, environment, { name, subject, alert: own.get(subject), reading: readings.get(subject) }, now);
  }
}

interface Case {
  name: CheckName;
  subject: string;
  alert: Alert | undefined;
  reading: Reading | undefined;
}

async function judgeOne({ db, log }: Platform, { project_id, id }: WatchedEnvironment, { name, subject, alert, reading }: Case, now: Date) {
  const verdict = judge(alert, reading, checks[name].quietSeconds, now.getTime() / 1000);
  if (!verdict) return;
  if (verdict.kind === 'open' && reading) {
    const place = { project_id, environment_id: id, check_name: name, subject };
    await openAlert(db, place, reading, verdict.severity, verdict.returns, now);
  } else if (verdict.kind !== 'open' && alert) await changeAlert(db, alert.id, verdict.kind, reading, now);
  log.info({ project: project_id, environment: id, check: name, subject, verdict: verdict.kind }, 'the health of an environment changed');
}

const failuresOf = ({ last_deployment, backups }: WatchedEnvironment): Sources => ({
  deployment: { last: last_deployment },
  backups: backups ?? [],
});

type Recorded = Required<Pick<Sources, 'incidents' | 'certificates' | 'refusals'>>;

/** What the database knows of all environments: each list once for all of them. */
async function recordedOf({ db }: Platform, now: Date): Promise<(environment: WatchedEnvironment) => Recorded> {
  const incidents = grouped(await recentIncidents(db, now));
  const certificates = grouped(await servedCertificates(db, now));
  const refusals = grouped(await refusedCertificates(db));
  return ({ project_id, id, machine_name }) => ({
    incidents: incidents.get(keyOf(project_id, machine_name)) ?? [],
    certificates: certificates.get(keyOf(project_id, id)) ?? [],
    refusals: refusals.get(keyOf(project_id, id)) ?? [],
  });
}

const grouped = <T extends { project_id: string; environment: string }>(all: readonly T[]) =>
  Map.groupBy(all, ({ project_id, environment }) => keyOf(project_id, environment));

/** Of an environment that nothing runs for there is nothing to measure, which is no trouble by itself. */
async function sourcesOf(
  platform: Platform,
  environment: WatchedEnvironment,
  recorded: (environment: WatchedEnvironment) => Recorded,
  now: Date,
): Promise<Sources> {
  const { is_serving, start_failure } = environment;
  if (!is_serving) return { ...nothingRuns, ...failuresOf(environment) };
  return {
    ...(await measuredOf(platform, environment, now)),
    ...recorded(environment),
    ...failuresOf(environment),
    start: { failure: start_failure },
  };
}

const nothingRuns: Sources = {
  resources: [],
  traffic: { timeline: [] },
  incidents: [],
  certificates: [],
  refusals: [],
  start: { failure: null },
};

/** A store that does not answer says nothing about the environment. */
async function measuredOf(
  { metrics, log }: Platform,
  { project_id, machine_name }: WatchedEnvironment,
  now: Date,
): Promise<Pick<Sources, 'resources' | 'traffic'>> {
  const to = Math.ceil(now.getTime() / 1000);
  const asked = { project: project_id, environment: machine_name, from: to - measuredSeconds, to };
  try {
    const [resources, traffic] = await Promise.all([
      metrics.resources({ ...asked, byInstance: true }),
      metrics.traffic({ ...asked, by: 'url', grain: measuredSeconds, limit: 1, topHits: 1, filters: {} }),
    ]);
    return { ...(!isTooMuch(resources) && { resources }), ...(!isTooMuch(traffic) && { traffic }) };
  } catch (error) {
    log.warn({ error, project: project_id, environment: machine_name }, 'measurements could not be had for the health of an environment');
    return {};
  }
}
