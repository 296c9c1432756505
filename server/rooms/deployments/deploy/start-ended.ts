/**
 * A deployment that goes on after the machine was shut down, or lost its power: steps that are done are not done again, but what they had started has ended with
 * the machine. Nobody else starts it while the deployment is under way.
 */
import type { OngoingDeployment } from './ongoing-deployment.ts';
import { startInstances } from './instances.ts';
import { startServices } from './services.ts';
import { tellEdge } from './traffic.ts';
import { instancesOf, runnablesOf, servicesOf } from '../stack/containers.ts';
import { locationsOf } from '../stack/stack-locations.ts';
import type { Deployed } from '../queries.ts';
import type { Machine } from '../../../machine.ts';

const none: ReadonlySet<string> = new Set();

/** Each starts again by itself when it ends, as long as the machine is up. */
const hasEnded = async ({ runtime }: Machine, names: readonly string[]): Promise<boolean> => {
  const states = await Promise.all(names.map((name) => runtime.state(name)));
  return states.some(({ status }) => status === 'absent' || status === 'stopped');
};

const instanceNames = ({ stack, generations }: Deployed): string[] =>
  runnablesOf(stack).flatMap((runnable) => instancesOf(stack, generations, runnable, {}).map(({ name }) => name));

export async function startEndedServices({ machine, wanted: { stack }, current }: OngoingDeployment, signal?: AbortSignal): Promise<void> {
  const names = servicesOf(stack).map(({ container }) => container.name);
  if (!(await hasEnded(machine, names))) return;
  const locations = await locationsOf(machine, stack);
  await startServices(machine, locations, stack, { changed: none, told: none, haveRun: true, keeping: current?.stack }, signal);
}

/** Services as well. Answers whether there was something to start. */
export async function startEnded(deploying: OngoingDeployment, signal?: AbortSignal): Promise<boolean> {
  const { machine, wanted } = deploying;
  await startEndedServices(deploying, signal);
  if (!(await hasEnded(machine, instanceNames(wanted)))) return false;
  await startInstances(machine, await locationsOf(machine, wanted.stack), wanted, { fresh: none, resized: none }, signal);
  return true;
}

/** Visitors, who have waited since the machine came back, wait for nothing that is done after the deployment is current. */
export async function serveAgain(deploying: OngoingDeployment, signal?: AbortSignal): Promise<void> {
  if (await startEnded(deploying, signal)) await tellEdge(deploying.machine, deploying.wanted, 'open');
}

/** The same of what serves until the new instances do. */
export async function serveAsBefore({ machine, current, isRolling }: OngoingDeployment, signal?: AbortSignal): Promise<void> {
  if (!current || !isRolling || !(await hasEnded(machine, instanceNames(current)))) return;
  await startInstances(machine, await locationsOf(machine, current.stack), current, { fresh: none, resized: none }, signal);
  await tellEdge(machine, current, 'open');
}
