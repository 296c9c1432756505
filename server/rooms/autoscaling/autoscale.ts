/**
 * Looks at every environment that is scaled by load, decides, and starts what follows. The decision, its alert and the activity that carries it out are one
 * transaction, which nobody else can repeat: each decision is told and carried out once, whoever is killed meanwhile.
 */
import { isTooMuch, type Scope } from '../../drivers/metrics/metrics.ts';
import type { TimeRange } from '../../drivers/metrics/breakdown.ts';
import { noteActivity } from '../../kernel/note-activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { actorById } from '../activities/public.ts';
import { refuseScalingEarly } from '../deployments/work.ts';
import { environmentById, environmentSummary, instancesMaxOf, type Environment } from '../environments/public.ts';
import { startScaling } from '../environments/work.ts';
import { decide, minuteSeconds, type Decision, type ScaledService } from './decide.ts';
import { latenciesOf, minutesOf, rangeFor, type Latencies } from './measurements.ts';
import { forgetFuture, markDecided, scalableEnvironments, type Scalable } from './queries.ts';
import { settingsFrom } from './settings.ts';
import { account, done, plainSentence, seen } from './words.ts';

/** Minutes decide, so looking more often finds nothing new; half a minute is the longest that anything waits to be seen. */
export const autoscale: Reconciler = {
  name: 'autoscale',
  everySeconds: 30,
  run: (platform, signal) => autoscaleAt(platform, new Date(), signal),
};

/** Costs two statements of the database, and one question to the store of measurements for each environment that is scaled by load and runs, and one for each app whose latency counts. */
export async function autoscaleAt(platform: Platform, now: Date, signal?: AbortSignal): Promise<void> {
  const { db, log } = platform;
  await forgetFuture(db, now);
  for (const found of await scalableEnvironments(db)) {
    if (signal?.aborted) return;
    await scaleIfNeeded(platform, found, now).catch((error: unknown) =>
      log.error({ error, environment: found.environment_id }, 'an environment could not be scaled; it is looked at again at the next turn'),
    );
  }
}

async function scaleIfNeeded(platform: Platform, found: Scalable, now: Date) {
  const seconds = now.getTime() / 1000;
  const services = await measured(platform, found, seconds);
  const decisions = decide({ services, lastAt: found.last_at ?? undefined, now: seconds });
  if (decisions.length > 0) await platform.db.transaction().execute((tx) => carryOut(tx, platform, found, decisions, now));
}

async function measured(platform: Platform, found: Scalable, now: number): Promise<ScaledService[]> {
  const { metrics, log } = platform;
  const { project_id: project, machine_name: environment, said, counts } = found;
  const services = Object.entries(said).flatMap(([name, settings]) => {
    const count = counts[name];
    return count === undefined ? [] : [{ name, count, settings: settingsFrom(settings, instancesMaxOf(found)) }];
  });
  if (services.length === 0) return [];
  const names = services.map(({ name }) => name);
  const [scope, range] = [{ project, environment }, rangeFor(services, now)];
  const answer = await metrics.resources({
    ...scope,
    ...range,
    grain: minuteSeconds,
    byInstance: false,
    services: { values: names, mode: 'additive' },
  });
  if (isTooMuch(answer)) log.warn({ environment, ...answer.tooMuch }, 'too much was measured to scale an environment by it');
  const latencies = await latenciesIn(platform, scope, range, services);
  const minutes = minutesOf(isTooMuch(answer) ? [] : answer, latencies);
  return services.map((service) => ({ ...service, minutes: minutes.get(service.name) ?? [] }));
}

/** By the name of each app whose latency counts. An app of which too much was measured is not scaled by it. */
async function latenciesIn(
  { metrics, log }: Platform,
  scope: Scope,
  range: TimeRange,
  services: readonly Omit<ScaledService, 'minutes'>[],
) {
  const latencies = new Map<string, Latencies>();
  for (const { name, settings } of services) {
    if (!settings.triggers.latency.enabled) continue;
    const filters = { applications: { values: [name], mode: 'additive' } } as const;
    const answer = await metrics.traffic({ ...scope, ...range, by: 'user_agent', grain: minuteSeconds, limit: 1, topHits: 1, filters });
    if (isTooMuch(answer)) log.warn({ ...scope, ...answer.tooMuch }, 'too many requests were measured to scale an app by their latency');
    else latencies.set(name, latenciesOf(answer.timeline));
  }
  return latencies;
}

async function carryOut(tx: Tx, platform: Platform, found: Scalable, decisions: readonly Decision[], now: Date) {
  const { project_id, environment_id } = found;
  if (!(await markDecided(tx, found, now))) return;
  const environment = await environmentById(tx, platform.config.domain, project_id, environment_id);
  if (!environment) return;
  const refusal = await refusalOf(tx, platform, environment, decisions);
  for (const decision of decisions) await tell(tx, environment, decision, decision.to > decision.from ? refusal : undefined);
  const possible = refusal === undefined ? decisions : decisions.filter(({ from, to }) => to < from);
  if (possible.length > 0) await startScaling(tx, environment, countsOf(possible), plainSentence(done(possible)));
}

const countsOf = (decisions: readonly Decision[]) => Object.fromEntries(decisions.map(({ service, to }) => [service, to]));

/** What is full; undefined where there is room for all of it. */
async function refusalOf(tx: Tx, platform: Platform, environment: Environment, decisions: readonly Decision[]) {
  try {
    await refuseScalingEarly(tx, platform, environment, countsOf(decisions));
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

const alertKeptDays = 30;

/** A bound that somebody set is no news, unless there is no room for it. */
async function tell(tx: Tx, environment: Environment, decision: Decision, refusal: string | undefined) {
  const { reason, service } = decision;
  if (reason.kind === 'bound' && refusal === undefined) return;
  const actor = await actorById(tx, null);
  const text = refusal === undefined ? seen(decision) : `${seen(decision)}, but there is no room: ${refusal}`;
  await noteActivity(tx, {
    project_id: environment.project_id,
    environment,
    type: 'environment.alert',
    sentence: plainSentence(text),
    parameters: { user: actor.id, environment: environment.id, service, ...reason },
    payload: { user: actor, environment: environmentSummary(environment) },
    log: account(decision, refusal),
    keptDays: alertKeptDays,
  });
}
