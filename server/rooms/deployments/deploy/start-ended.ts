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

/** Containers that end are restarted by the runtime as long as the machine is up, so one that is stopped has ended with the machine. */
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

/** Starts services and instances that have ended. Returns whether any instance had to be started. */
export async function startEnded(deploying: OngoingDeployment, signal?: AbortSignal): Promise<boolean> {
  const { machine, wanted } = deploying;
  await startEndedServices(deploying, signal);
  if (!(await hasEnded(machine, instanceNames(wanted)))) return false;
  await startInstances(machine, await locationsOf(machine, wanted.stack), wanted, { fresh: none, resized: none }, signal);
  return true;
}

/** Opens the environment as soon as it runs again: visitors have waited since the machine came back, and need not wait for the steps after the deployment is current. */
export async function serveAgain(deploying: OngoingDeployment, signal?: AbortSignal): Promise<void> {
  if (await startEnded(deploying, signal)) await tellEdge(deploying.machine, deploying.wanted, 'open');
}

/** In a rolling deployment, starts the old instances again if they have ended: they serve until the new ones do. */
export async function serveAsBefore({ machine, current, isRolling }: OngoingDeployment, signal?: AbortSignal): Promise<void> {
  if (!current || !isRolling || !(await hasEnded(machine, instanceNames(current)))) return;
  await startInstances(machine, await locationsOf(machine, current.stack), current, { fresh: none, resized: none }, signal);
  await tellEdge(machine, current, 'open');
}
