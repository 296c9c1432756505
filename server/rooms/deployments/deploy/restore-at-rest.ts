/**
 * A restore after which nothing runs: for what was paused or asleep when its machine was lost. The data of the backup is there, with what was built, and what
 * ran then is what runs once somebody resumes or visits it. No hook runs: those of this code ran on this data before the backup was made.
 */
import type { Work } from '../../../kernel/activity.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import type { DeploymentAtRest, Rest } from './deploy-request.ts';
import { prepareDeployment } from './ongoing-deployment.ts';
import { withProgress } from './deployment-progress.ts';
import { fetchData, makeData, replaceData, takenData } from './deployment-steps.ts';
import { changeState, makeCurrent, noteTakenData } from '../queries.ts';
import { checkRestoring, findBackedUp } from './restoring.ts';
import { markRestoredAsleep } from '../running/sleep-queries.ts';
import type { Stack } from '../stack/stack.ts';
import { tellEdge } from './traffic.ts';

/** Restores an environment that has nothing on the machine. */
export async function restoreAtRest(given: Work<unknown>, platform: Platform, request: DeploymentAtRest): Promise<void> {
  const work = withProgress(given);
  const { environment, restoring, rest } = request;
  await checkRestoring(work, platform, environment, restoring);
  const built = await findBackedUp(work, platform, restoring, async () => {});
  const deploying = await prepareDeployment(work, platform, request, built);
  await fetchData(deploying);
  await makeData(deploying, new Set());
  const taken = takenData(deploying, await replaceData(deploying));
  const { machine, wanted } = deploying;
  await work.record('make current', async (tx) => {
    await makeCurrent(tx, wanted.stack);
    if (taken) await noteTakenData(tx, wanted.stack.project.id, wanted.stack.environment.id, taken);
    await putToRest[rest](tx, wanted.stack);
  });
  await work.step('tell edge', () => tellEdge(machine, wanted, edgeTold[rest]));
}

/** The state that the edge is told for each kind of rest. */
const edgeTold = { paused: 'paused', asleep: 'sleeping' } as const;

const putToRest: Record<Rest, (tx: Tx, stack: Stack) => Promise<unknown>> = {
  paused: (tx, { project, environment }) => changeState(tx, project.id, environment.id, 'pause'),
  asleep: (tx, { project, environment }) => markRestoredAsleep(tx, project.id, environment.id),
};
