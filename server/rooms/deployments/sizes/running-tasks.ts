/** Tasks count among what the machine has given out only while they run: sizes of tasks are many, and few of them run at once. */
import { sql } from 'kysely';
import { Problem } from '../../../kernel/problem.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Config } from '../../../config.ts';
import type { Task } from '../../builds/public.ts';
import { endTask, noteAllocated, taskSubject } from '../../metering/public.ts';
import type { Amounts } from './amounts.ts';
import { holdCapacity, refuseMoreThanThereIs } from './capacity.ts';
import { subjectOf } from '../queries.ts';
import { taskLimits } from './sizes.ts';
import type { Stack } from '../stack/stack.ts';
import { deploymentLife } from '../life-cycle.ts';

const megabyte = 2 ** 20;

export interface TaskRun {
  /** The id of the activity. */
  id: string;
  stack: Stack;
  task: Task;
}

/** Gives the task its share of the machine until `releaseTask`. Throws a Problem that says which quota, or what of the machine, is full. */
export async function reserveForTask(tx: Tx, { overcommit }: Pick<Config, 'overcommit'>, run: TaskRun, there: Amounts): Promise<void> {
  const { project, environment } = run.stack;
  const { cpu, memoryBytes } = taskLimits(run.task, sizeOfTask(run.stack, run.task));
  const memory = memoryBytes / megabyte;
  await holdCapacity(tx);
  const subject = await subjectOf(tx, project.id, environment.id);
  if (!subject) throw new Problem('conflict', `The environment ${environment.id} is gone.`);
  const has = await amountsWithTasks(tx, run.id, project.id, environment.id);
  const wanted = { cpu: has.cpu + cpu, memory: has.memory + memory, disk: has.disk };
  try {
    await refuseMoreThanThereIs(tx, { overcommit }, subject, wanted, there);
  } catch (error) {
    throw error instanceof Problem ? new Problem(error.kind, `The task '${run.task.name}' cannot run now: ${error.message}`) : error;
  }
  await sql`insert into running_tasks (activity_id, project_id, environment_id, cpu, memory)
    values (${run.id}, ${project.id}, ${environment.id}, ${cpu}, ${memory})`.execute(tx);
  const holder = { projectId: project.id, environment: subject.machine_name, subject: taskSubject(run.id) };
  await noteAllocated(tx, { ...holder, version: run.id, amounts: [{ service: run.task.name, kind: 'task', cpu, memory, disk: 0 }] });
}

export async function releaseTask(db: Db | Tx, activityId: string): Promise<void> {
  await sql`delete from running_tasks where activity_id = ${activityId}`.execute(db);
  await endTask(db, activityId);
}

/** A task that has no size or slug was deployed before tasks were built. */
export function sizeOfTask({ sizes, slugs }: Stack, { name }: Task) {
  const size = Object.hasOwn(sizes.tasks, name) ? sizes.tasks[name] : undefined;
  if (!size || !Object.hasOwn(slugs, name))
    throw new Problem('conflict', `The task '${name}' was not built with what is deployed; push the code again, then run the task.`);
  return size;
}

/** What the environment has: its deployment's amounts, and those of its other running tasks. */
async function amountsWithTasks(tx: Tx, activityId: string, projectId: string, environmentId: string): Promise<Amounts> {
  const { rows } = await sql<Amounts>`
    select deployments.cpu + coalesce(tasks.cpu, 0) as cpu, deployments.memory + coalesce(tasks.memory, 0) as memory, deployments.disk
    from deployments left join lateral (
      select sum(cpu) as cpu, sum(memory) as memory from running_tasks
      where (running_tasks.project_id, running_tasks.environment_id) = (deployments.project_id, deployments.environment_id)
        and activity_id <> ${activityId}) as tasks on true
    where (deployments.project_id, deployments.environment_id) = (${projectId}, ${environmentId})
      and ${deploymentLife.sqlPossible('status', 'run')}`.execute(tx);
  return rows[0] ?? { cpu: 0, memory: 0, disk: 0 };
}
