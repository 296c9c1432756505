/** Whether all that a deployment should run does: only then has it succeeded, whatever its steps were told, and only then is one that failed undone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerState } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { instancesOf, isWorker, runnablesOf, servicesOf } from '../stack/containers.ts';
import { isToRun, keptStack } from '../running/kept-stacks.ts';
import { currentlyDeployed, type Deployed } from '../queries.ts';

/** How long to wait for a container that has just ended, for example because of its deploy hook, and is being restarted. */
const startAgainMillisecondsMax = 15_000;
const lookMilliseconds = 100;

interface Wanted {
  /** What people call the container. */
  title: string;
  container: string;
}

const wantedOf = ({ stack, generations }: Deployed): Wanted[] => [
  ...servicesOf(stack).map(({ name, container }) => ({ title: `Service '${name}'`, container: container.name })),
  ...runnablesOf(stack).flatMap((runnable) =>
    instancesOf(stack, generations, runnable, {}).map(({ name }) => ({
      title: `${isWorker(runnable) ? 'Worker' : 'Application'} '${runnable.name}'`,
      container: name,
    })),
  ),
];

/** A sentence for each container that does not run. */
async function whatDoesNotRun({ runtime }: Pick<Machine, 'runtime'>, deployed: Deployed): Promise<string[]> {
  const found = await Promise.all(
    wantedOf(deployed).map(async ({ title, container }) => {
      const state = await runtime.state(container);
      return ['running', 'paused'].includes(state.status) ? [] : `${title} does not run${endOf(state)}.`;
    }),
  );
  return found.flat();
}

function endOf({ exit }: ContainerState): string {
  if (!exit) return '';
  return exit.outOfMemory ? ': it ran out of memory' : `: it ended with exit code ${exit.code}`;
}

/** Throws a Problem that says what does not run. */
export async function waitUntilAllRun(machine: Pick<Machine, 'runtime'>, deployed: Deployed): Promise<void> {
  const until = performance.now() + startAgainMillisecondsMax;
  for (;;) {
    const missing = await whatDoesNotRun(machine, deployed);
    if (missing.length === 0) return;
    if (performance.now() > until) throw new Problem('unavailable', missing.join('\n'));
    await sleep(lookMilliseconds);
  }
}

/** For the log: what an environment runs after a deployment failed and was taken back. */
export async function foundAfterFailure(platform: Platform, projectId: string, environment: string): Promise<string> {
  const { db, secrets, log } = platform;
  try {
    const kept = await keptStack(db, projectId, environment);
    const deployed = await currentlyDeployed(db, secrets, projectId, environment);
    const missing = deployed && kept && isToRun(kept) ? await whatDoesNotRun(await platform.machine(), deployed) : [];
    if (missing.length === 0) return `${environment} is as it was.`;
    const remedy = 'The platform goes on trying to start what is missing; if that does not help, redeploy the environment.';
    return [`${environment} is not as it was:`, ...missing.map((sentence) => `  ${sentence}`), remedy].join('\n');
  } catch (error) {
    log.warn({ error, project: projectId, environment }, 'what runs after a failed deployment could not be determined');
    return `whether ${environment} is as it was could not be determined; check it, and redeploy it if something is missing.`;
  }
}
