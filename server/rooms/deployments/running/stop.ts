/** Stopping what runs for an environment: for a while, keeping its data, or for good. */
import { forget } from '../../../drivers/edge/told.ts';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { removeEnvironmentLogs } from '../inside/app-logs.ts';
import { releaseHosts } from '../deploy/claim-hosts.ts';
import { allInstancesOf } from '../stack/containers.ts';
import { deployStack } from '../deploy/deploy.ts';
import { whenLeftAlone } from './alone-on-stack.ts';
import { removeStackContainers } from '../deploy/instances.ts';
import { changeState, currentlyDeployed, environmentsWithStacks, forgetStack, subjectOf, type Deployed } from '../queries.ts';
import { clusterOf } from '../stack/relationships.ts';
import { removeStackVolumes } from '../deploy/stack-volumes.ts';
import { startStack } from './start-stack.ts';
import { drainInstances, tellEdge } from '../deploy/traffic.ts';

/** Stops the environment's containers and keeps its data; its status becomes `paused`. */
export async function pauseStack(work: Work<unknown>, platform: Platform, environment: string): Promise<void> {
  const { db } = platform;
  const { project_id } = work.activity;
  const machine = await platform.machine();
  const deployed = await foundDeployed(work, platform, environment);
  await work.record(
    'pause',
    (tx) => changeState(tx, project_id, environment, 'pause').then(() => {}),
    async () => {
      await db.transaction().execute((tx) => changeState(tx, project_id, environment, 'resume'));
    },
  );
  await work.step(
    'close environment',
    async () => {
      work.log(`Pausing environment ${environment}: its containers stop, its data stays`);
      await whenLeftAlone(machine, deployed.stack.id);
      await tellEdge(machine, deployed, 'paused');
      await drainInstances(machine, clusterOf(deployed.stack), instanceNames(deployed));
      await removeStackContainers(machine, deployed.stack.id);
    },
    () => runAgain(machine, deployed),
  );
}

const instanceNames = ({ stack, generations }: Deployed) => allInstancesOf(stack, generations).map(({ name }) => name);

async function foundDeployed({ activity }: Work<unknown>, { db, secrets }: Platform, environment: string): Promise<Deployed> {
  const deployed = await currentlyDeployed(db, secrets, activity.project_id, environment);
  if (!deployed) throw new Problem('conflict', `Nothing is deployed in ${environment}; activate it first.`);
  return deployed;
}

async function runAgain(machine: Machine, deployed: Deployed) {
  await startStack(machine, deployed);
  await tellEdge(machine, deployed, 'open');
}

/** Runs the environment's current deployment again; its status becomes `active`. */
export async function resumeStack(work: Work<unknown>, platform: Platform, environment: string): Promise<void> {
  const { stack } = await foundDeployed(work, platform, environment);
  const { deployment, commit } = await work.step('choose deployment', async () => ({
    deployment: stack.deployment.id,
    commit: stack.commit_id,
  }));
  await deployStack(work, platform, {
    kind: 'again',
    environment,
    commit,
    deployment,
    strategy: 'stopstart',
    restart: 'nothing',
    rebuilds: false,
  });
}

/** Removes all that runs for the environment, and destroys its data. Its status becomes `inactive`, unless it is `deleting`. */
export const removeStack = (work: Work<unknown>, platform: Platform, environment: string): Promise<void> =>
  removeStacks(work, platform, async () => [environment]);

/** Removes all that runs for the environments of the project, and destroys their data. */
export const removeAllStacks = (work: Work<unknown>, platform: Platform): Promise<void> =>
  removeStacks(work, platform, (tx) => environmentsWithStacks(tx, work.activity.project_id));

async function removeStacks(work: Work<unknown>, platform: Platform, which: (tx: Tx) => Promise<string[]>) {
  const { project_id } = work.activity;
  // From here on the stacks belong to nobody, so a reconciler collects what a failure leaves of them.
  const forgotten = await work.record('forget stacks', async (tx) => {
    const all: Forgotten[] = [];
    for (const environment of await which(tx)) {
      const subject = await subjectOf(tx, project_id, environment);
      const stack = await forgetStack(tx, project_id, environment);
      await releaseHosts(tx, project_id, environment);
      if (subject && stack !== null) all.push({ environment, stack, cluster: `${project_id}-${subject.machine_name}` });
    }
    return all;
  });
  if (forgotten.length === 0) return;
  await work.step('remove containers', async () => {
    const machine = await platform.machine();
    for (const { environment, stack, cluster } of forgotten) {
      work.log(`Removing what runs for ${environment}`);
      await whenLeftAlone(machine, stack);
      await forget(machine.edge, cluster);
      await removeStackContainers(machine, stack);
    }
  });
  await work.step('destroy data', async () => {
    const machine = await platform.machine();
    for (const { environment, stack, cluster } of forgotten) {
      work.log(`Destroying the data of ${environment}`);
      await removeStackVolumes(machine, stack);
      await removeEnvironmentLogs(machine, cluster);
    }
  });
}

interface Forgotten {
  environment: string;
  stack: string;
  cluster: string;
}
