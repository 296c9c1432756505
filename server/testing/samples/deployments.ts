/** What was deployed in an environment, and what comes of that. */
import { appendLog } from '../../drivers/logs/append-log.ts';
import { ensureLogs, logFile, logsOf } from '../../drivers/logs/log-folders.ts';
import { ulid } from '../../kernel/id.ts';
import { logsFolder } from '../../machine.ts';
import { insertBackup, makeRestorable } from '../../rooms/backups/public.ts';
import { startCronsAt } from '../../rooms/crons/work.ts';
import { machineName } from '../../rooms/environments/public.ts';
import { deploySample } from '../deployment.ts';
import type { Person } from '../platform.ts';
import { app, shop, task } from '../stack.ts';
import { sampleEnvironment } from './projects.ts';

/** The deployment of a staging environment, with a route by its name. */
export async function sampleDeployment(owner: Person) {
  const environment = await sampleEnvironment(owner);
  await deploySample(owner.home.platform, environment);
  return { ...environment, deploymentId: 'current', routeId: 'front' };
}

/** A backup of a staging environment. There is only its row: nothing is in the store. */
export async function sampleBackup(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { db, secrets } = owner.home.platform;
  const stack = await deploySample(owner.home.platform, environment);
  const id = ulid();
  const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
  await db.transaction().execute(async (tx) => {
    await insertBackup(tx, secrets, { id, stack, safe: true, slot: null, activity_id: null });
    await makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 512, size_used: 1, taken_at: new Date().toISOString() });
  });
  return { ...environment, backupId: id };
}

/** A task of an active staging environment. */
export async function sampleTask(owner: Person) {
  const environment = await sampleEnvironment(owner);
  await deploySample(owner.home.platform, environment, { model: { ...shop(), tasks: { report: task('report') } } });
  return { ...environment, taskId: 'report' };
}

/** A cron of an app in a staging environment, with its next time. */
export async function sampleCron(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const crons = { tidy: { spec: '0 3 * * *', commands: { start: 'echo tidy', stop: null }, shutdown_timeout: 10, timeout: 60 } };
  const { platform } = owner.home;
  await deploySample(platform, environment, { model: { ...shop(), applications: { app: app('app', { crons }) } } });
  await startCronsAt(platform, new Date());
  return { ...environment, app: 'app', name: 'tidy' };
}

/** A log of an app in a staging environment, with a line in it. */
export async function sampleLog(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { projectId, environmentId } = environment;
  const logs = logsOf(logsFolder(owner.home.platform.config), `${projectId}-${machineName(environmentId, projectId)}`);
  await ensureLogs(logs, ['app']);
  await appendLog(logFile(logs, 'app', 'app'), 'hello\n');
  return { ...environment, app: 'app', name: 'app' };
}
