/**
 * The durable work of one run. The task is the first process of a container of its own, which outlives this process: its monitor keeps what it says and
 * how it ends. So after a kill it is found by name and followed from where that ended. It is never started a second time: a container that is there
 * has begun, or it is not known whether it has, and then the run fails.
 *
 * Everything else that happens to the environment waits for it, or comes before it; whoever does not want to wait cancels it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { activity, CommandFailed, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Machine } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { amountsThere, currentStack, taskContainer } from '../deployments/public.ts';
import { containerForTask, releaseTask, reserveForTask, taskStopSeconds, wakeForActivity, type TaskRun } from '../deployments/work.ts';
import { environmentById } from '../environments/public.ts';
import { projectById } from '../projects/public.ts';
import { openGiven, withGiven } from '../variables/public.ts';
import { followTask, type Outcome } from './follow-task.ts';
import { isThere, markOf } from './task-output.ts';
import { environmentLife } from '../environments/life-cycle.ts';

const Input = Type.Object({ environment: Type.String(), task: Type.String(), variables_sealed: Type.String() });
type Running = Work<Static<typeof Input>>;

/** The purpose that the variables of a run are sealed for. */
export const runOf = (projectId: string, environment: string, task: string) => `of task ${projectId} ${environment} ${task}`;

const script = readFileSync(join(import.meta.dirname, 'run-task.sh'), 'utf8');

export const runTaskActivity = activity({
  type: 'environment.task',
  queue: 'task',
  usesMachine: true,
  isPatient: true,
  input: Input,
  run: async (work, platform) => {
    const { db, config } = platform;
    const run = await whatToRun(work, platform);
    const machine = await platform.machine();
    const container = taskContainer(run.stack.id, run.id);
    await work.record(
      'reserve resources',
      async (tx) => reserveForTask(tx, config, run, await amountsThere(machine)),
      () => releaseTask(db, run.id),
    );
    await work.step(
      'start container',
      (signal) => start(work, platform, machine, run, signal),
      () => machine.runtime.remove(container),
    );
    const outcome = await work.step('run', (signal) => followTask(work, machine, run, signal));
    await work.step('remove container', () => machine.runtime.remove(container));
    await work.record('release resources', (tx) => releaseTask(tx, run.id));
    refuseFailure(run, outcome);
  },
});

/** The task as it is deployed now, with the variables given for this run among those of the stack. */
async function whatToRun({ activity: { id, project_id }, input }: Running, { db, config, secrets }: Platform): Promise<TaskRun> {
  const environment = await environmentById(db, config.domain, project_id, input.environment);
  const stack = await currentStack(db, secrets, project_id, input.environment);
  if (!environment || !environmentLife.possible(environment.status, 'runTask') || !stack)
    throw new Problem('conflict', `The environment ${input.environment} is not active any more.`);
  const task = Object.hasOwn(stack.model.tasks, input.task) ? stack.model.tasks[input.task] : undefined;
  if (!task) throw new Problem('conflict', `There is no task '${input.task}' in what is deployed now.`);
  const given = openGiven(secrets, runOf(project_id, input.environment, task.name), input.variables_sealed);
  return { id, stack: { ...stack, secrets: { ...stack.secrets, variables: withGiven(stack.secrets.variables, given) } }, task };
}

async function start(work: Running, platform: Platform, machine: Machine, run: TaskRun, signal: AbortSignal): Promise<void> {
  const { stack, task } = run;
  const { runtime } = machine;
  if ((await runtime.state(taskContainer(stack.id, run.id))).status !== 'absent') return;
  await wakeForActivity(work, platform, stack.environment.id);
  const project = await projectById(platform.db, stack.project.id);
  const words = [markOf(run.id), task.run.timeout, taskStopSeconds, isThere(task.hooks.deploy) ? task.hooks.deploy : '', task.run.command];
  const command = {
    argv: ['dash', '-c', script, 'task', ...words.map(String)] as const,
    timezone: project?.timezone ?? 'UTC',
  };
  const container = await containerForTask(machine, run, command, signal);
  const { cpu, memoryBytes } = container.limits;
  work.log(`Running task '${task.name}' (type: ${task.type}, cpu: ${cpu}, memory: ${memoryBytes / megabyte})`);
  await runtime.ensure(container).catch((error: unknown) => {
    throw error instanceof Problem ? inItsName(error, container.name, task.name) : error;
  });
}

/** Users do not know containers by name, so messages speak of the task. */
const inItsName = ({ kind, message, internal }: Problem, container: string, task: string) =>
  new Problem(kind, message.replaceAll(container, `Task '${task}'`), internal === undefined ? {} : { internal });

const megabyte = 2 ** 20;

function refuseFailure({ stack, task: { name, run } }: TaskRun, { exit_code, part, is_late, is_out_of_memory }: Outcome) {
  if (exit_code === 0) return;
  const what = part === 'deploy' ? `The deploy hook of task '${name}'` : `Task '${name}'`;
  const size = stack.sizes.tasks[name]?.profile_size;
  if (is_late) throw new CommandFailed(`${what} did not end within ${run.timeout} seconds, which is its run.timeout, and was stopped.`);
  if (is_out_of_memory) throw new CommandFailed(`${what} needs more memory than it has with size ${size}; choose a larger one.`);
  throw new CommandFailed(`${what} ended with exit code ${exit_code}.`);
}
