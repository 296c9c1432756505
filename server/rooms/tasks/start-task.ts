/** Writes down that a task is to run. Runs of one task come one after the other; other tasks, crons and operations go on beside it. */
import { startActivity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, strong } from '../activities/public.ts';
import { environmentById, environmentSummary } from '../environments/public.ts';
import { checkedVariables, sealGiven, type GivenVariables } from '../variables/public.ts';
import { runTaskActivity, runOf } from './run-task.ts';
import type { Task } from './task.ts';
import { environmentLife } from '../environments/life-cycle.ts';

export async function startTask(
  { db, config, secrets }: Platform,
  task: Task,
  { variables: given }: { variables?: GivenVariables },
  caller: Caller,
): Promise<Changed<Task>> {
  const variables = checkedVariables(given);
  const { project_id, id, organization_id } = task.environment;
  const actor = actorOf(caller.user);
  const activity = await db.transaction().execute(async (tx) => {
    const environment = await environmentById(tx, config.domain, project_id, id);
    if (!environment || !environmentLife.possible(environment.status, 'runTask'))
      throw new Problem('conflict', 'The environment is not active any more.');
    return startActivity(tx, runTaskActivity, {
      project_id,
      environments: [environment],
      beside: `task ${task.name}`,
      input: {
        environment: id,
        task: task.name,
        variables_sealed: sealGiven(secrets, runOf(project_id, id, task.name), variables),
      },
      parameters: { user: actor.id, environment: id, task: task.name, variables: namesOf(given) },
      payload: { user: actor, environment: environmentSummary(environment), task: task.name },
      sentence: sentence`${person(actor)} ran the task ${strong(task.name)} on ${named(environment)}`,
    });
  });
  return changed(task, organization_id, activity);
}

const namesOf = (given: GivenVariables = {}) =>
  Object.fromEntries(Object.entries(given).map(([prefix, values]) => [prefix, Object.keys(values)]));
