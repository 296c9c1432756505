/**
 * Where the logs of environments are, for all who write and read them: `<folder>/<environment>/<app>/<name>.log`, a folder for each app and worker,
 * which it sees as `/var/log` and cannot write to. Of every log a bounded number of bytes is kept (edge/logs/rotate-log.ts), and there are so many
 * names and no more, so that an environment's logs are bounded, too.
 *
 * `access` and `error` are written by the edge, the others by the process that has the machine.
 */
import { chmod, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { rotatedLogOf, logBytesMax, rotatedLogsMax } from '../../../edge/logs/rotate-log.ts';

/** What an app finds in `/var/log` from its first moment on. */
export const usualLogs = ['access', 'app', 'cron', 'deploy', 'error', 'post_deploy'] as const;
/** Logs that exist only once there is something in them. */
export const rareLogs = ['failed_start', 'mail', 'sanitize'] as const;
export type LogName = (typeof usualLogs)[number] | (typeof rareLogs)[number];

const allLogs: readonly string[] = [...usualLogs, ...rareLogs];
/** For one app or worker: each log, its rotated parts, and the copy that is made while it is rotated. */
export const appLogsBytesMax = allLogs.length * (rotatedLogsMax + 2) * logBytesMax;

/** Names that apps and workers can have, and the name that the edge uses for what belongs to no app. */
const folderName = /^@?[a-z0-9][a-z0-9_-]{0,199}$/;
const foldersMax = 1000;

export const logsOf = (folder: string, environment: string) => join(folder, environment);
export const logFile = (logs: string, app: string, name: LogName) => join(logs, app, `${name}.log`);

/** The folder of all environments' logs is for the platform alone; each app can read its own folder in it. */
export async function ensureLogsFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
}

/** Does nothing where the folder is there already, so that it can be called before every start. */
export async function ensureLogs(logs: string, apps: readonly string[]): Promise<void> {
  for (const app of apps) {
    if (!folderName.test(app)) throw new Error(`${app} cannot be the name of a folder`);
    const folder = join(logs, app);
    if ((await mkdir(folder, { recursive: true })) !== undefined) await chmod(folder, 0o755);
    for (const name of usualLogs) await makeFile(logFile(logs, app, name));
  }
}

/** Makes a file that apps can read, whatever the umask of this process is. */
async function makeFile(path: string) {
  const file = await open(path, 'ax').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await file?.chmod(0o644);
  await file?.close();
}

/** Removes all logs of one environment. */
export const removeLogs = (logs: string): Promise<void> => rm(logs, { recursive: true, force: true });

export interface FoundLog {
  app: string;
  name: LogName;
  /** The size of the log with its rotated parts. */
  bytes: number;
  changedAt: Date;
}

const isLogName = (name: string): name is LogName => allLogs.includes(name);

/** Undefined: there is none. */
export async function findLog(logs: string, app: string, name: string): Promise<FoundLog | undefined> {
  if (!folderName.test(app) || !isLogName(name)) return undefined;
  const ages = Array.from({ length: rotatedLogsMax + 1 }, (_, age) => rotatedLogOf(logFile(logs, app, name), age));
  const [first, ...aside] = await Promise.all(ages.map((file) => stat(file).catch(ignoreMissing)));
  if (!first?.isFile()) return undefined;
  const bytes = [first, ...aside].reduce((sum, file) => sum + (file?.size ?? 0), 0);
  return { app, name, bytes, changedAt: first.mtime };
}

export async function listLogs(logs: string): Promise<FoundLog[]> {
  const apps = ((await readdir(logs).catch(ignoreMissing)) ?? []).slice(0, foldersMax).toSorted();
  const found = await Promise.all(apps.flatMap((app) => allLogs.map((name) => findLog(logs, app, name))));
  return found.filter((log) => log !== undefined);
}

/** The environments that have logs. */
export const environmentsWithLogs = async (folder: string): Promise<string[]> => (await readdir(folder).catch(ignoreMissing)) ?? [];

function ignoreMissing(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
  return undefined;
}
