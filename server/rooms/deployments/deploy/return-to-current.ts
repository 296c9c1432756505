/** Makes the machine what the current deployment says, whatever a deployment that failed has done so far. */
import { forget } from '../../../drivers/edge/told.ts';
import { replacesData } from './deploy-request.ts';
import type { OngoingDeployment } from './ongoing-deployment.ts';
import { removeContainers, removeStackContainers, startInstances } from './instances.ts';
import { locationsOf } from '../stack/stack-locations.ts';
import { changedServices } from '../stack/plan.ts';
import { serviceContainer } from '../stack/names.ts';
import { clusterOf } from '../stack/relationships.ts';
import { startServices } from './services.ts';
import { bringBackBefore, forgetBefore } from './stack-volumes.ts';
import { tellEdge } from './traffic.ts';

export async function returnToCurrent(deploying: OngoingDeployment): Promise<void> {
  const { machine, wanted, current, wasPaused, request } = deploying;
  if (!current) {
    await forget(machine.edge, clusterOf(wanted.stack));
    return removeStackContainers(machine, wanted.stack.id);
  }
  if (wasPaused || replacesData(request)) await removeStackContainers(machine, wanted.stack.id);
  if (replacesData(request)) await bringBackData(deploying);
  if (wasPaused) return tellEdge(machine, current, 'paused');
  await restart(deploying, current);
}

async function bringBackData({ machine, clonings }: OngoingDeployment) {
  await bringBackBefore(machine, clonings);
  await forgetBefore(machine, clonings);
}

async function restart({ machine, plan }: OngoingDeployment, current: NonNullable<OngoingDeployment['current']>) {
  const locations = await locationsOf(machine, current.stack);
  await removeContainers(machine, plan.containers.start);
  await removeContainers(machine, newServices(plan, current.stack.id));
  const resized = new Set(plan.containers.resize);
  await startServices(machine, locations, current.stack, {
    changed: changedServices(plan),
    resized,
    told: new Set(Object.keys(current.stack.model.services)),
  });
  await startInstances(machine, locations, current, { fresh: new Set(plan.containers.stop), resized });
  await tellEdge(machine, current, 'open');
}

const newServices = ({ services }: OngoingDeployment['plan'], stackId: string) =>
  services.filter(({ action }) => action === 'start').map(({ name }) => serviceContainer(stackId, name));
