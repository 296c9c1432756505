/**
 * Starts all of a stack that does not run, as it was deployed. Where that fails, people find the reason at the environment and in the logs of its apps,
 * and it is tried again later and later.
 */
import { Problem } from '../../../kernel/problem.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { tellInLog } from '../inside/app-logs.ts';
import { startInstances } from '../deploy/instances.ts';
import { locationsOf } from '../stack/stack-locations.ts';
import type { Deployed } from '../queries.ts';
import { startServices } from '../deploy/services.ts';
import { noteStartFailure } from './sleep-queries.ts';

const none: ReadonlySet<string> = new Set();

export async function startStack(machine: Machine, deployed: Deployed, signal?: AbortSignal): Promise<void> {
  const locations = await locationsOf(machine, deployed.stack);
  await startServices(machine, locations, deployed.stack, { changed: none, told: none, haveRun: true }, signal);
  await startInstances(machine, locations, deployed, { fresh: none, resized: none }, signal);
}

/** Stacks that could not be started: how often in a row, and when to try again, so that they are not started all the time. */
const failuresOn = stateOf<Machine, Map<string, { count: number; until: number }>>(() => new Map());
const backoffSeconds = (count: number) => Math.min(10 * 2 ** count, 600);

export const mayTryAgain = (machine: Machine, stackId: string): boolean => (failuresOn(machine).get(stackId)?.until ?? 0) <= Date.now();

const sentenceCharactersMax = 2000;

export async function noteFailure(platform: Platform, machine: Machine, { stack }: Deployed, error: unknown): Promise<void> {
  const failures = failuresOn(machine);
  const count = (failures.get(stack.id)?.count ?? 0) + 1;
  failures.set(stack.id, { count, until: Date.now() + backoffSeconds(count) * 1000 });
  const about = { project: stack.project.id, environment: stack.environment.id };
  platform.log.warn({ ...about, error, count }, 'an environment could not be started; trying again later');
  const words =
    error instanceof Problem ? error.message : 'Something went wrong in the platform; its operator finds the reason in the log.';
  await noteStartFailure(platform.db, about.project, about.environment, words.slice(0, sentenceCharactersMax));
  for (const app of Object.keys(stack.model.applications))
    if (count === 1) await tellInLog(machine, stack, app, 'app', `The environment could not be started: ${words}`).catch(() => {});
}

export async function noteSuccess({ db }: Platform, machine: Machine, { stack }: Deployed): Promise<void> {
  failuresOn(machine).delete(stack.id);
  await noteStartFailure(db, stack.project.id, stack.environment.id, null);
}
