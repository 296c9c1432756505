/** A runner with commands to run, in a process of its own, to be killed: `node test-lasting-runner.ts <asked>`, until somebody does. */
import { join } from 'node:path';
import { Type } from 'typebox';
import { startExecution } from '../../../drivers/runtime/runc/exec.ts';
import { openRuntimeFolders } from '../../../drivers/runtime/runc/runtime-folders.ts';
import { stateOf } from '../../../drivers/runtime/runc/state.ts';
import type { Runtime } from '../../../drivers/runtime/runtime.ts';
import { activity } from '../../../kernel/activity.ts';
import { openLog } from '../../../kernel/log.ts';
import { openNotices } from '../../../kernel/notices.ts';
import { startRunner } from '../../../kernel/runner.ts';
import { openDatabase, openPool } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import type { Deployed } from '../queries.ts';
import { runLasting, type LastingRun } from './run-lasting.ts';

export interface Asked {
  databaseUrl: string;
  /** Of the machine. */
  folder: string;
  logs: string;
  deployed: Deployed;
}

/** Runs what its input says in what is deployed. */
export const lastingActivity = (deployed: () => Deployed) =>
  activity({
    type: 'test.command',
    queue: 'cron',
    input: Type.Unsafe<Omit<LastingRun, 'deployed'>>({ type: 'object' }),
    run: async (work, platform) => {
      const code = await runLasting(work, platform, { ...work.input, deployed: deployed() });
      work.log(`It ended with ${code}`);
    },
  });

/** What another process has open; this one only looks into containers. */
function runtimeInside(folder: string): Runtime {
  const folders = openRuntimeFolders(join(folder, 'runtime'), { runFolder: join(folder, 'run') });
  const inside: Pick<Runtime, 'exec' | 'state'> = {
    exec: async (name, command) => startExecution(folders, name, command),
    state: async (name) => stateOf(folders, name),
  };
  return inside as Runtime;
}

if (import.meta.main) {
  const { databaseUrl, folder, logs, deployed } = JSON.parse(process.argv[2] ?? '') as Asked;
  const log = openLog('fatal');
  const machine = { runtime: runtimeInside(folder), logs } as Machine;
  const db = openDatabase(openPool(databaseUrl));
  const platform = { db, log, notices: await openNotices(databaseUrl, log), machine: async () => machine } as Partial<Platform> as Platform;
  startRunner([lastingActivity(() => deployed)], platform, { leaseSeconds: 2 });
}
