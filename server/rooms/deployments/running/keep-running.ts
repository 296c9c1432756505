/**
 * One environment, kept as its current deployment says: containers that are down are started, ones that nobody wants are removed, forgotten ones are
 * thawed, and the edge knows where to go. An environment that an activity is at work on is left to it.
 */
import { isTold } from '../../../drivers/edge/told.ts';
import type { ContainerState } from '../../../drivers/runtime/runtime.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { tellInLog } from '../inside/app-logs.ts';
import { allInstancesOf, instancesOf, runnablesOf, servicesOf } from '../stack/containers.ts';
import { aloneOnStack } from './alone-on-stack.ts';
import { removeContainers, removeStackContainers } from '../deploy/instances.ts';
import { stackOfContainer } from '../stack/names.ts';
import { thawForgotten } from '../deploy/freeze-volumes.ts';
import { addressesOf, domainsOf, outboundOf } from '../stack/outbound.ts';
import { isToRun, keptStack, type KeptStack } from './kept-stacks.ts';
import { currentlyDeployed, type Deployed } from '../queries.ts';
import { markWaking, markWoken } from './sleep-queries.ts';
import { mayTryAgain, noteFailure, noteSuccess, startStack } from './start-stack.ts';
import { keepEdgeTold, tellEdge } from '../deploy/traffic.ts';
import { environmentLife } from '../../environments/life-cycle.ts';

/** What the machine and the edge had when the reconciler looked at them. */
export interface Found {
  states: readonly ContainerState[];
  listed: Readonly<Record<string, number>>;
}

export async function keepRunning(platform: Platform, machine: Machine, kept: KeptStack, found: Found): Promise<void> {
  const { stack_id } = kept;
  if (kept.is_busy || stack_id === null) return;
  const states = found.states.filter(({ network }) => network === stack_id);
  // A sleeping environment needs nothing done, so that many of them cost nothing.
  if (kept.is_sleeping && !kept.is_production && states.length === 0 && isTold(machine.edge, clusterAt(kept), 'sleeping', found.listed))
    return;
  await aloneOnStack(machine, stack_id, (signal) => keepAsDeployed(platform, machine, { ...kept, stack_id }, { ...found, states }, signal));
}

export const clusterAt = ({ project_id, machine_name }: KeptStack) => `${project_id}-${machine_name}`;

async function keepAsDeployed(
  platform: Platform,
  machine: Machine,
  kept: KeptStack & { stack_id: string },
  { states, listed }: Found,
  signal: AbortSignal,
) {
  const { db, secrets } = platform;
  const now = await keptStack(db, kept.project_id, kept.environment_id);
  const deployed = await currentlyDeployed(db, secrets, kept.project_id, kept.environment_id);
  if (!now || now.is_busy || now.stack_id !== kept.stack_id || deployed?.stack.id !== kept.stack_id) return;
  const isSleeping = now.is_sleeping && !now.is_production;
  if (now.is_sleeping && !isSleeping) await markWaking(db, kept.project_id, kept.environment_id);
  try {
    if (isSleeping) await keepAsleep(machine, deployed, states);
    const isUp =
      !isSleeping && environmentLife.possible(now.status, 'serve') && (await keepContainers(platform, machine, deployed, states, signal));
    await keepEdgeTold(
      machine,
      deployed,
      environmentLife.possible(now.status, 'resume') ? 'paused' : isSleeping ? 'sleeping' : 'open',
      listed,
    );
    if (isUp && now.has_failed) await noteSuccess(platform, machine, deployed);
  } catch (error) {
    if (signal.aborted) return;
    await noteFailure(platform, machine, deployed, error);
  }
  if (!isSleeping && (now.is_waking || now.is_sleeping)) await markWoken(db, kept.project_id, kept.environment_id);
}

/** Finishes sending an environment to sleep where that was interrupted. As always, the edge holds visitors first. */
async function keepAsleep(machine: Machine, deployed: Deployed, states: readonly ContainerState[]) {
  if (states.length === 0) return;
  await tellEdge(machine, deployed, 'sleeping');
  await removeStackContainers(machine, deployed.stack.id);
}

/** Looks up again the domains that apps may reach, and lets them reach the addresses found. */
export async function keepReaching({ db, secrets, log }: Platform, machine: Machine, kept: KeptStack): Promise<void> {
  const { runtime } = machine;
  if (kept.is_busy || !isToRun(kept)) return;
  const deployed = await currentlyDeployed(db, secrets, kept.project_id, kept.environment_id);
  const domains = deployed ? domainsOf(deployed.stack.model) : [];
  if (!deployed || domains.length === 0) return;
  const addresses = await addressesOf(machine, domains);
  for (const { name, outbound } of allInstancesOf(deployed.stack, deployed.generations)) {
    if (!outbound?.some((rule) => rule.domains.length > 0) || (await runtime.state(name)).status === 'absent') continue;
    await runtime
      .updateOutbound(name, outboundOf(outbound, addresses))
      .catch((error: unknown) =>
        log.warn({ container: name, error }, 'the addresses that an app may reach could not be updated; trying again later'),
      );
  }
}

/** Returns false where something does not run and it is not yet time to try again. */
async function keepContainers(
  platform: Platform,
  machine: Machine,
  deployed: Deployed,
  states: readonly ContainerState[],
  signal: AbortSignal,
) {
  const { stack, generations } = deployed;
  const wanted = [
    ...servicesOf(stack).map(({ container }) => container.name),
    ...allInstancesOf(stack, generations).map(({ name }) => name),
  ];
  const found = new Map(states.map((state) => [state.name, state]));
  const frozen = wanted.filter((name) => found.get(name)?.status === 'paused');
  if (frozen.length > 0) await thaw(platform, machine, stack.id, frozen);
  // Only containers that deployments make are removed: others may run something of their own in the environment's network.
  const extra = states.map(({ name }) => name).filter((name) => !wanted.includes(name) && stackOfContainer(name) === stack.id);
  if (extra.length > 0) platform.log.warn({ containers: extra }, 'containers that no deployment wants are removed');
  await removeContainers(machine, extra);
  await tellOfRestarts(platform, machine, deployed, found);
  const down = wanted.filter((name) => !['running', 'restarting', 'paused'].includes(found.get(name)?.status ?? 'absent'));
  return down.length === 0 || startAgain(platform, machine, deployed, down, signal);
}

async function startAgain(platform: Platform, machine: Machine, deployed: Deployed, down: readonly string[], signal: AbortSignal) {
  const { stack } = deployed;
  if (!mayTryAgain(machine, stack.id)) return false;
  platform.log.info({ environment: stack.environment.id, containers: down }, 'containers that should run and do not are started');
  await startStack(machine, deployed, signal);
  return true;
}

async function thaw({ db, log }: Platform, machine: Machine, stackId: string, names: readonly string[]) {
  const thawed = await thawForgotten(db, machine, stackId, names);
  if (thawed.length > 0) log.warn({ containers: thawed }, 'containers that were left frozen were thawed');
}

/** How often each container had been restarted at the last look. */
const restartsSeenOn = stateOf<Machine, Map<string, number>>(() => new Map());

/** Tells readers of the app's log that the app does not keep running, and since when. */
async function tellOfRestarts(
  { log }: Platform,
  machine: Machine,
  { stack, generations }: Deployed,
  found: ReadonlyMap<string, ContainerState>,
) {
  const restartsSeen = restartsSeenOn(machine);
  for (const runnable of runnablesOf(stack)) {
    for (const { name } of instancesOf(stack, generations, runnable, {})) {
      const { restarts = 0, exit } = found.get(name) ?? {};
      const seen = restartsSeen.get(name) ?? 0;
      restartsSeen.set(name, restarts);
      if (restarts <= seen) continue;
      const reason = exit?.outOfMemory ? 'ran out of memory' : `ended with exit code ${exit?.code ?? 'unknown'}`;
      if (restarts === 1) log.info({ container: name, exit }, 'an app ended and was started again');
      else log.warn({ container: name, restarts, exit }, 'an app does not keep running');
      const times = restarts === 1 ? 'for the first time' : `(${restarts} times so far)`;
      const sentence = `${runnable.name} ${reason} and was started again ${times}.`;
      await tellInLog(machine, stack, runnable.name, 'app', sentence);
    }
  }
}
