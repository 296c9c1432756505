/**
 * One environment, kept as its current deployment says: containers that are down are started, ones that nobody wants are removed, forgotten ones are
 * thawed, and the edge knows where to go. An environment that an activity is at work on is left to it.
 */
import type { ContainerState } from '../../drivers/runtime/runtime.ts';
import type { Machine } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { appendLog, logFolder } from './app-logs.ts';
import { allInstancesOf, instancesOf, runnablesOf, servicesOf } from './containers.ts';
import { removeContainers, startInstances } from './instances.ts';
import { logsVolume, stackOfContainer } from './names.ts';
import { thawForgotten } from './one-moment.ts';
import { addressesOf, domainsOf, outboundOf } from './outbound.ts';
import { placesOf } from './places.ts';
import { currentlyDeployed, keptStack, type Deployed, type KeptStack } from './queries.ts';
import { startServices } from './services.ts';
import { keepEdgeTold } from './traffic.ts';

/** Of stacks that could not be started: how often in a row, and when to try again. Only so as not to try all the time. */
const failures = new Map<string, { count: number; until: number }>();
const backoffSeconds = (count: number) => Math.min(10 * 2 ** count, 600);

/** What the machine and the edge had when they were looked at. */
export interface Found {
  states: readonly ContainerState[];
  listed: Readonly<Record<string, number>>;
}

export async function keepRunning(platform: Platform, machine: Machine, kept: KeptStack, found: Found): Promise<void> {
  const { db, secrets, log } = platform;
  if (kept.is_busy || kept.stack_id === null) return;
  const now = await keptStack(db, kept.project_id, kept.environment_id);
  const deployed = await currentlyDeployed(db, secrets, kept.project_id, kept.environment_id);
  if (!now || now.is_busy || now.stack_id !== kept.stack_id || deployed?.stack.id !== kept.stack_id) return;
  const states = found.states.filter(({ network }) => network === kept.stack_id);
  try {
    if (now.status === 'active') await keepContainers(platform, machine, deployed, states);
    await keepEdgeTold(machine, deployed, now.status === 'paused' ? 'paused' : 'open', found.listed);
  } catch (error) {
    const count = (failures.get(kept.stack_id)?.count ?? 0) + 1;
    failures.set(kept.stack_id, { count, until: Date.now() + backoffSeconds(count) * 1000 });
    const about = { project: kept.project_id, environment: kept.environment_id };
    log.warn({ ...about, error, count }, 'what should run for an environment could not be started; it is tried again');
  }
}

/** Looks up again where domains are that its apps may reach, and lets them out there. */
export async function keepReaching({ db, secrets, log }: Platform, { runtime }: Machine, kept: KeptStack): Promise<void> {
  if (kept.is_busy || kept.status !== 'active') return;
  const deployed = await currentlyDeployed(db, secrets, kept.project_id, kept.environment_id);
  const domains = deployed ? domainsOf(deployed.stack.model) : [];
  if (!deployed || domains.length === 0) return;
  const addresses = await addressesOf(domains);
  for (const { name, outbound } of allInstancesOf(deployed.stack, deployed.generations)) {
    if (!outbound?.some((rule) => rule.domains.length > 0) || (await runtime.state(name)).status === 'absent') continue;
    await runtime
      .updateOutbound(name, outboundOf(outbound, addresses))
      .catch((error: unknown) => log.warn({ container: name, error }, 'what an app may reach could not be changed; it is tried again'));
  }
}

async function keepContainers(platform: Platform, machine: Machine, deployed: Deployed, states: readonly ContainerState[]) {
  const { stack, generations } = deployed;
  const wanted = [
    ...servicesOf(stack).map(({ container }) => container.name),
    ...allInstancesOf(stack, generations).map(({ name }) => name),
  ];
  const found = new Map(states.map((state) => [state.name, state]));
  const frozen = wanted.filter((name) => found.get(name)?.status === 'paused');
  if (frozen.length > 0) await thaw(platform, machine, stack.id, frozen);
  // Only what deployments make: others may run something of their own in the environment's network.
  const extra = states.map(({ name }) => name).filter((name) => !wanted.includes(name) && stackOfContainer(name) === stack.id);
  if (extra.length > 0) platform.log.warn({ containers: extra }, 'containers that no deployment wants are removed');
  await removeContainers(machine, extra);
  await tellOfRestarts(platform, machine, deployed, found);
  const down = wanted.filter((name) => !['running', 'restarting', 'paused'].includes(found.get(name)?.status ?? 'absent'));
  if (down.length > 0) await startAgain(platform, machine, deployed, down);
}

async function startAgain({ log }: Platform, machine: Machine, deployed: Deployed, down: readonly string[]) {
  const { stack } = deployed;
  if ((failures.get(stack.id)?.until ?? 0) > Date.now()) return;
  log.info({ environment: stack.environment.id, containers: down }, 'what should run is started');
  const places = await placesOf(machine, stack);
  const none = new Set<string>();
  await startServices(machine, places, stack, { changed: none, told: none });
  await startInstances(machine, places, deployed, { fresh: none, resized: none });
  failures.delete(stack.id);
}

async function thaw({ db, log }: Platform, machine: Machine, stackId: string, names: readonly string[]) {
  const thawed = await thawForgotten(db, machine, stackId, names);
  if (thawed.length > 0) log.warn({ containers: thawed }, 'containers that were left frozen go on');
}

/** By container: how often it had been started again when it was last looked at. */
const restartsSeen = new Map<string, number>();

/** Whoever reads the app's log finds out that it does not keep running, and since when. */
async function tellOfRestarts(
  { log }: Platform,
  { volumes }: Machine,
  { stack, generations }: Deployed,
  found: ReadonlyMap<string, ContainerState>,
) {
  for (const runnable of runnablesOf(stack)) {
    for (const { name } of instancesOf(stack, generations, runnable, {})) {
      const { restarts = 0, exit } = found.get(name) ?? {};
      const seen = restartsSeen.get(name) ?? 0;
      restartsSeen.set(name, restarts);
      if (restarts <= seen) continue;
      const reason = exit?.outOfMemory ? 'ran out of memory' : `ended with exit code ${exit?.code ?? 'unknown'}`;
      log.warn({ container: name, restarts, exit }, 'an app does not keep running');
      const logs = await volumes.volume(logsVolume(stack.id));
      const line = `[${new Date().toISOString()}] ${runnable.name} ${reason} and was started again; ${restarts} times so far.\n`;
      if (logs) await appendLog(logFolder(logs.path, runnable.name), 'app.log', line);
    }
  }
}
