/**
 * The logs of a stack's apps and workers. They belong to the environment, not to the stack: what a first deployment said that failed is still there
 * when nothing else is left of it. Containers see their own and cannot write to them; what they say is added by the runtime.
 */
import { appendLog } from '../../../drivers/logs/append-log.ts';
import { ensureLogs, logFile, logsOf, removeLogs, type LogName } from '../../../drivers/logs/log-folders.ts';
import type { Machine } from '../../../machine.ts';
import { clusterOf } from '../stack/relationships.ts';
import type { Stack } from '../stack/stack.ts';
import { workersIn } from '../stack/workers.ts';

type WithLogs = Pick<Machine, 'logs'>;

export const stackLogs = ({ logs }: WithLogs, stack: Stack): string => logsOf(logs, clusterOf(stack));

/** Makes the logs of all apps, even of those that only have files to serve, because these have visitors, too. */
export const ensureAppLogs = (machine: WithLogs, stack: Stack): Promise<void> =>
  ensureLogs(stackLogs(machine, stack), [
    ...Object.keys(stack.model.applications),
    ...Object.values(workersIn(stack.model)).map(({ name }) => name),
  ]);

/** Adds a line of the platform's own, with the time. */
export const tellInLog = (machine: WithLogs, stack: Stack, app: string, name: LogName, sentence: string): Promise<void> =>
  addToLog(machine, stack, app, name, `[${new Date().toISOString()}] ${sentence}\n`);

/** Errors at which a line is given up, because the disk is full or the environment is being removed; the work that the line is about goes on. */
const bearable = new Set(['ENOSPC', 'EDQUOT', 'ENOENT']);

export async function addToLog(machine: WithLogs, stack: Stack, app: string, name: LogName, text: string): Promise<void> {
  try {
    await appendLog(logFile(stackLogs(machine, stack), app, name), text);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && bearable.has(String(error.code)))) throw error;
  }
}

export const removeEnvironmentLogs = ({ logs }: WithLogs, cluster: string): Promise<void> => removeLogs(logsOf(logs, cluster));

const failedCharactersMax = 1024 * 1024;

/** Keeps the output of a container that never became ready, apart from the output of the app's other containers. Returns where people find it. */
export async function keepFailedStart(
  machine: Pick<Machine, 'logs' | 'runtime'>,
  stack: Stack,
  app: string,
  failed: { container: string; since: Date; reason: string },
): Promise<string> {
  const { container, since, reason } = failed;
  let said = '';
  for await (const { text } of machine.runtime.logs(container, { since })) said = `${said}${text}\n`.slice(-failedCharactersMax);
  await tellInLog(machine, stack, app, 'failed_start', `Deployment ${stack.deployment.number}: ${reason}\n${said}`.trimEnd());
  return `/projects/${stack.project.id}/environments/${encodeURIComponent(stack.environment.id)}/logs/${app}/failed_start`;
}
