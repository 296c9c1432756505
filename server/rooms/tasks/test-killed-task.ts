/** A runner in a process of its own, to be killed: `node test-killed-task.ts <asked>`, until somebody does. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../config.ts';
import { openGit } from '../../drivers/git/open-git.ts';
import { openImages } from '../../drivers/images/cached-images.ts';
import { catalogue } from '../../drivers/images/catalogue.ts';
import { openRuncRuntime } from '../../drivers/runtime/runc/runc.ts';
import { openPoolVolumes } from '../../drivers/volumes/btrfs/btrfs.ts';
import { openLog } from '../../kernel/log.ts';
import { openNotices } from '../../kernel/notices.ts';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import { logsFolder } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { rooms } from '../../rooms.ts';
import { testImagesFolder } from '../../test-images.ts';
import { openMemoryEdge } from '../../test-memory-edge.ts';

export interface Asked {
  /** Of the machine. */
  folder: string;
  data: string;
  databaseUrl: string;
  /** In hexadecimal. */
  key: string;
}

export const leaseSeconds = 2;

/** As much of a platform as activities need, on a machine that may have been another process's before. */
export async function openRunning({ folder, data, databaseUrl, key }: Asked) {
  const config = readConfig({ OFFSHOOT_DATA: data });
  const log = openLog('fatal');
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), runFolder: join(folder, 'run'), volumes });
  const images = openImages(testImagesFolder, catalogue);
  const machine = { runtime, volumes, images, edge: openMemoryEdge(), logs: logsFolder(config) };
  const db = openDatabase(openPool(databaseUrl));
  const notices = await openNotices(databaseUrl, log);
  const git = await openGit(join(data, 'repositories'), config);
  const secrets = openSecrets([Buffer.from(key, 'hex')]);
  const platform = { config, db, log, notices, git, secrets, machine: async () => machine } as unknown as Platform;
  /** What runs stays. */
  const leave = async () => {
    await runtime.close();
    await volumes.close();
    await git.close();
    await notices.close();
    await db.destroy();
  };
  return { platform, machine, leave };
}

/** With all that is on it, however it was left. */
export async function removeMachine({ folder }: Asked) {
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), runFolder: join(folder, 'run'), volumes });
  for (const { name } of await runtime.list()) await runtime.remove(name);
  await runtime.removeLeftovers(new Set());
  await runtime.close();
  await volumes.close();
  await volumes.unmount();
  rmSync(folder, { recursive: true, force: true });
}

if (import.meta.main) {
  const { platform } = await openRunning(JSON.parse(process.argv[2] ?? '') as Asked);
  startRunner(activitiesOf(rooms), platform, { leaseSeconds });
}
