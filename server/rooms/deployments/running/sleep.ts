/**
 * Previews that nobody visits sleep, where somebody wants that: no process is left of them, and their data stays. The edge keeps their visitors waiting
 * and has them woken (wake-when-visited.ts). That they are asleep is written down first; what is left undone by a kill is finished by what keeps stacks running.
 */
import type { LastVisits } from '../../../drivers/edge/edge.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { allInstancesOf } from '../stack/containers.ts';
import { aloneOnStack } from './alone-on-stack.ts';
import { removeStackContainers } from '../deploy/instances.ts';
import { currentlyDeployed } from '../queries.ts';
import { clusterOf } from '../stack/relationships.ts';
import { markAsleep, markWaking, markWoken, previewsThatMaySleep, type AwakePreview } from './sleep-queries.ts';
import { tellEdge } from '../deploy/traffic.ts';

export const sendIdleToSleep: Reconciler = {
  name: 'send idle previews to sleep',
  everySeconds: 5,
  usesMachine: true,
  run: async (platform, signal) => {
    const previews = await previewsThatMaySleep(platform.db, platform.config.previews.sleepAfterSeconds);
    if (previews.length === 0) return;
    const machine = await platform.machine();
    const visits = await machine.edge.visits();
    for (const preview of previews) {
      if (signal.aborted) return;
      if (isIdle(preview, visits))
        await fallAsleep(platform, machine, preview).catch((error: unknown) =>
          platform.log.warn({ ...preview, error }, 'an environment did not fall asleep completely; the next pass finishes it'),
        );
    }
  },
};

const isIdle = ({ project_id, machine_name, sleep_after_seconds }: AwakePreview, { known_seconds, seconds_ago }: LastVisits) =>
  (seconds_ago[`${project_id}-${machine_name}`] ?? known_seconds) >= sleep_after_seconds;

/** How long to wait for requests that came at the last moment; if one of them takes longer, the environment is opened again. */
const lastVisitSecondsMax = 1;

export const fallAsleep = (platform: Platform, machine: Machine, preview: AwakePreview): Promise<void> =>
  aloneOnStack(machine, preview.stack_id, async () => {
    const { db, secrets, log } = platform;
    const { project_id, environment_id } = preview;
    if (!(await markAsleep(db, preview))) return;
    const deployed = await currentlyDeployed(db, secrets, project_id, environment_id);
    if (!deployed) return;
    await tellEdge(machine, deployed, 'sleeping');
    const names = allInstancesOf(deployed.stack, deployed.generations).map(({ name }) => name);
    const left = await Promise.all(names.map((name) => machine.edge.drain(clusterOf(deployed.stack), name, lastVisitSecondsMax)));
    if (left.some((visits) => visits > 0)) {
      await markWaking(db, project_id, environment_id);
      await tellEdge(machine, deployed, 'open');
      return void (await markWoken(db, project_id, environment_id));
    }
    await removeStackContainers(machine, preview.stack_id);
    log.info({ project: project_id, environment: environment_id }, 'an environment sleeps: nobody has visited it for a while');
  });
