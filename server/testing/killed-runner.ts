/** Runners in processes of their own, to be killed, on a machine that outlives them: `node testing/killed-runner.ts <asked>`, once it is told to go. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { blobsFolder, openBlobs } from '../drivers/blobs/open-blobs.ts';
import { openEdge, type EdgeOptions } from '../drivers/edge/open-edge.ts';
import { openGit } from '../drivers/git/open-git.ts';
import { openRuncRuntime } from '../drivers/runtime/runc/runc.ts';
import { openPoolVolumes } from '../drivers/volumes/btrfs/btrfs.ts';
import { startActivity } from '../kernel/activity.ts';
import { openLog } from '../kernel/log.ts';
import { openNotices } from '../kernel/notices.ts';
import { activitiesOf } from '../kernel/room.ts';
import { startRunner } from '../kernel/runner.ts';
import { openSecrets } from '../kernel/secrets.ts';
import { openDatabase, openPool } from '../kernel/sql.ts';
import { logsFolder } from '../machine.ts';
import type { Platform } from '../platform.ts';
import { rooms } from '../rooms.ts';
import { pushActivity } from '../rooms/environments/work.ts';
import { openTestImages, testEnvironment } from './images.ts';
import { openMemoryEdge } from './memory-edge.ts';

export interface Asked {
  /** The folder of the machine. */
  folder: string;
  data: string;
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
  /** An edge that runs; where it is absent, each process has one that only remembers what it is told. */
  edge?: EdgeOptions;
}

/** A machine of its own for what a test platform has in its database and its repositories; what is sealed here can be opened there. */
export function makeMachine({ platform, databaseUrl }: { platform: Platform; databaseUrl: string }): Asked {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-killed-'));
  // The mode of a data folder: users of containers have to pass through it.
  chmodSync(folder, 0o711);
  const key = randomBytes(32);
  platform.secrets = openSecrets([key]);
  return { folder, data: platform.config.data, databaseUrl, key: key.toString('hex') };
}

const leaseSeconds = 2;

/** As much of a platform as activities need, on a machine that may have been another process's before. */
export async function openRunning({ folder, data, databaseUrl, key, edge: running }: Asked) {
  const config = readConfig({ OFFSHOOT_DATA: data, OFFSHOOT_IMAGES_AHEAD: 'none', OFFSHOOT_TLS: 'off' });
  const log = openLog('fatal');
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), runFolder: join(folder, 'run'), volumes, env: testEnvironment });
  const images = openTestImages();
  const edge = running ? await openEdge(running, log) : openMemoryEdge();
  const machine = { runtime, volumes, images, edge, logs: logsFolder(config) };
  const db = openDatabase(openPool(databaseUrl));
  const notices = await openNotices(databaseUrl, log);
  const git = await openGit(join(data, 'repositories'), config);
  const secrets = openSecrets([Buffer.from(key, 'hex')]);
  const blobs = openBlobs({ folder: blobsFolder(data), places: config.backups, secrets });
  const platform = { config, db, log, notices, git, secrets, blobs, machine: async () => machine } as unknown as Platform;
  /** Closes everything except for what runs on the machine. */
  const leave = async () => {
    await runtime.close();
    await volumes.close();
    await edge.close();
    await git.close();
    await notices.close();
    await db.destroy();
  };
  return { platform, machine, leave };
}

/** Records a first push to main; answers with the activity that is to deploy it. */
export async function beginPush({ db }: Platform, project_id: string, commit: string): Promise<{ id: string }> {
  await db.updateTable('environments').set({ head_commit: commit }).where('project_id', '=', project_id).execute();
  const input = { from: null, to: commit, activate: true, deploying: {} };
  const environments = [{ id: 'main', type: 'production' }];
  return db.transaction().execute((tx) => startActivity(tx, pushActivity, { project_id, environments, input }));
}

/** Removes the machine and all that is on it, in whatever state it was left. */
export async function removeMachine({ folder }: Asked) {
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), runFolder: join(folder, 'run'), volumes, env: testEnvironment });
  for (const { name } of await runtime.list()) await runtime.remove(name);
  await runtime.removeLeftovers(new Set());
  await runtime.close();
  await volumes.close();
  await volumes.unmount();
  rmSync(folder, { recursive: true, force: true });
}

/** The same cache as the platform's: a process that lives for seconds spends half of its time compiling. */
const compileCache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'node');

/** Loads a runner ahead of time, so that it begins at once when it is told to go. */
export function loadRunner(asked: Asked) {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(asked)], { stdio: 'pipe', env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stdin.on('error', () => {});
  const ended = once(child, 'exit');
  return {
    go: () => void child.stdin.write('go\n'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    /** Answers with what the runner printed, which is nothing if all was well. */
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
      return said;
    },
  };
}

if (import.meta.main) {
  // When the parent process ends, this one ends, too.
  process.stdin.once('end', () => process.exit());
  // Node usually writes its compile cache at exit, which this process will not live to see.
  flushCompileCache();
  await once(process.stdin, 'data');
  const { platform } = await openRunning(JSON.parse(process.argv[2] ?? '') as Asked);
  startRunner(activitiesOf(rooms), platform, { leaseSeconds });
}
