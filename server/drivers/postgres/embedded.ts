/**
 * A real PostgreSQL of our own, in a folder of ours, for those who do not bring one.
 *
 * It listens on a unix socket that only we can reach, and lets in only the user we run as. It never runs as root, and it shuts itself down
 * when our process dies. When it ends without having been asked to, it is started again in its place, a few times. Whatever was killed at whatever moment, the next open recovers: the cluster appears whole, by a rename, or not at
 * all, and what still runs from before is stopped first. The caller holds the lock of the data folder, so that can only be an orphan.
 *
 *     <folder>/cluster     PostgreSQL's data; only its user can enter
 *     <folder>/socket      the socket; only its user and we can enter
 *     <folder>/url         where it listens while it runs, for operator commands
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { installedPostgres } from './binaries.ts';
import { ensureServerFolder, roleName, statusOf } from './server-folder.ts';
import { type Launcher, findLauncher } from './launcher.ts';
import { BoundedLog } from './log.ts';
import { stopProcesses } from './processes.ts';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Settles only if PostgreSQL ends without having been asked to, again and again, or does not come back; with a sentence that says how. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

const readySecondsMax = 300;
/** Where PostgreSQL ends more often than that within so long, something is wrong that another start does not put right. */
const returnsMax = 3;
const returnsSeconds = 600;
const fastShutdownSecondsMax = 30;
const readyPollMilliseconds = 5;
const closeMillisecondsMax = 500;
const connectMillisecondsMax = 10_000;
const socketPathBytesMax = 107;
const port = 5432;
const databaseName = 'offshoot';

/** Text of statements and details of errors stay out of the log: they may hold secrets, and whoever sent the statement gets them anyway. */
const defaultSettings = {
  shared_buffers: '128MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

export async function openEmbeddedPostgres(
  folder: string,
  settings: Record<string, string> = {},
  onReturn: (sentence: string) => void = () => {},
): Promise<EmbeddedPostgres> {
  const home = resolve(folder);
  mkdirSync(home, { recursive: true });
  chmodSync(home, 0o711);
  const launcher = await findLauncher(home, installedPostgres());
  const serverFolder = await ensureServerFolder(home, launcher);
  removeSocketFolder(home, launcher);
  const socketFolder = createSocketFolder(home, launcher);
  writeAccessRules(home);
  const url = urlOf(socketFolder, databaseName);
  writeFileSync(urlFile(home), url, { mode: 0o600 });

  const log = new BoundedLog(join(home, 'postgres.log'));
  const all = { ...defaultSettings, ...settings, ...fixedSettings(launcher, home, socketFolder) };
  const start = () => spawnServer(serverFolder, launcher, all, log);
  let server = start();
  let stopping = false;
  let returning: Promise<void> = Promise.resolve();
  const end = async () => {
    await returning;
    await stopProcesses(serverFolder, server.pid, fastShutdownSecondsMax);
    removeSocketFolder(home, launcher);
  };
  let stopped: Promise<void> | undefined;
  /** Stops only once: whoever works in the folder after that is not ours to stop. */
  const stop = () => {
    stopping = true;
    return (stopped ??= end());
  };
  try {
    await untilReady(server, serverFolder, log);
    await ensureDatabase(socketFolder);
  } catch (error) {
    await stop();
    throw error;
  }
  const { promise: exited, resolve: exit } = Promise.withResolvers<string>();
  const mayReturn = boundedReturns();
  const onEnd = async () => {
    if (stopping) return;
    const sentence = `PostgreSQL has ended by itself (${ending(server)}). The end of ${log.path}:\n${log.tail()}`;
    if (!mayReturn()) return exit(sentence);
    onReturn(sentence);
    try {
      await stopProcesses(serverFolder, undefined, fastShutdownSecondsMax);
      if (stopping) return;
      server = start();
      await untilReady(server, serverFolder, log);
      watch();
    } catch (error) {
      exit(`${sentence}\nIt does not come back: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const watch = () => {
    const bringBack = () => void (returning = onEnd());
    server.once('exit', bringBack);
    if (hasEnded(server)) bringBack();
  };
  watch();
  return { url, exited, stop };
}

/** False: it has come back too often of late. */
function boundedReturns(): () => boolean {
  let times: number[] = [];
  return () => {
    const now = performance.now();
    times = [...times.filter((time) => now - time < returnsSeconds * 1000), now];
    return times.length <= returnsMax;
  };
}

/** Where the PostgreSQL of this folder listens, if it runs; for a process beside the one that opened it. After a kill it may be stale. */
export function runningEmbeddedPostgresUrl(folder: string): string | undefined {
  const file = urlFile(resolve(folder));
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** The URL of a PostgreSQL that must be running; throws a sentence for the operator where it is not. */
export function sharedPostgresUrl(folder: string): string {
  const url = runningEmbeddedPostgresUrl(folder);
  if (url === undefined) throw new Error('The embedded PostgreSQL is not running; start the whole platform first, or set DATABASE_URL.');
  return url;
}

const urlFile = (home: string) => join(home, 'url');
const urlOf = (socketFolder: string, database: string) =>
  `postgresql://${roleName}@localhost:${port}/${database}?host=${encodeURIComponent(socketFolder)}`;

/**
 * The socket lives beside the cluster, unless that path is longer than a socket's may be: then in a new folder with a random name under the
 * temporary folder, which nobody can have prepared for us.
 */
function createSocketFolder(home: string, launcher: Launcher): string {
  const socketFolder = fits(besideCluster(home)) ? besideCluster(home) : mkdtempSync(join(shortTemporaryFolder(home), strayPrefix(home)));
  mkdirSync(socketFolder, { recursive: true });
  chmodSync(socketFolder, 0o700);
  chownSync(socketFolder, launcher.uid, launcher.gid);
  return socketFolder;
}

const socketName = `.s.PGSQL.${port}`;
const besideCluster = (home: string) => join(home, 'socket');
/** The inode tells our folder from a copy of it, which must not remove the socket of the original. */
const strayPrefix = (home: string) => `offshoot-postgres-${statSync(home).ino}-`;
const fits = (socketFolder: string) => Buffer.byteLength(join(socketFolder, socketName)) <= socketPathBytesMax;
const shortTemporaryFolder = (home: string) => (fits(join(tmpdir(), `${strayPrefix(home)}XXXXXX`)) ? tmpdir() : '/tmp');

/** Removes what the last run left. A folder outside ours may belong to someone else by now; then it is not touched. */
function removeSocketFolder(home: string, launcher: Launcher) {
  const url = runningEmbeddedPostgresUrl(home);
  const recorded = url && new URL(url).searchParams.get('host');
  const isStray = (path: string) =>
    basename(path).startsWith(strayPrefix(home)) && lstatSync(path, { throwIfNoEntry: false })?.uid === launcher.uid;
  const socketFolder = recorded && isStray(recorded) ? recorded : besideCluster(home);
  if (existsSync(socketFolder)) {
    for (const name of [socketName, `${socketName}.lock`]) rmSync(join(socketFolder, name), { force: true });
    rmdirSync(socketFolder);
  }
  rmSync(urlFile(home), { force: true });
}

/** Only the user this process runs as may connect, and only as the one role. */
function writeAccessRules(home: string) {
  const rules = {
    'pg_hba.conf': `local all ${roleName} peer map=owner\n`,
    'pg_ident.conf': `owner "${userInfo().username}" ${roleName}\n`,
  };
  for (const [name, text] of Object.entries(rules)) {
    writeFileSync(join(home, name), text);
    chmodSync(join(home, name), 0o644);
  }
}

/** Paths as PostgreSQL sees them. The socket folder is beside the cluster or, outside of our own folder, the same for everyone. */
const fixedSettings = (launcher: Launcher, home: string, socketFolder: string) => ({
  listen_addresses: '',
  port: String(port),
  unix_socket_directories: quotedDirectory(socketFolder === besideCluster(home) ? besideCluster(launcher.home) : socketFolder),
  unix_socket_permissions: '0700',
  hba_file: join(launcher.home, 'pg_hba.conf'),
  ident_file: join(launcher.home, 'pg_ident.conf'),
  logging_collector: 'off',
  log_destination: 'stderr',
});

/** The setting is a list; quotes keep a comma or a space in a path from splitting it. */
const quotedDirectory = (path: string) => `"${path.replaceAll('"', '""')}"`;

/**
 * In a session of its own: Ctrl-C in a terminal is for us, who then stop PostgreSQL last. When we die it ends at once and recovers on its next
 * start: a fast shutdown could wait for ever if it comes while PostgreSQL recovers from a crash of its own.
 */
function spawnServer(serverFolder: string, launcher: Launcher, settings: Record<string, string>, log: BoundedLog): ChildProcess {
  const [command, ...args] = launcher.command('QUIT', [
    join(launcher.native, 'bin', 'postgres'),
    '-D',
    join(launcher.home, basename(serverFolder)),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const server = spawn(command, args, { cwd: serverFolder, detached: true, env: launcher.env, stdio: ['ignore', 'pipe', 'pipe'] });
  server.stdout.on('data', (chunk: Buffer) => log.write(chunk));
  server.stderr.on('data', (chunk: Buffer) => log.write(chunk));
  return server;
}

/** The server says in its lock file when it takes connections; after a crash it first brings its data in order. */
async function untilReady(server: ChildProcess, serverFolder: string, log: BoundedLog) {
  const deadline = Date.now() + readySecondsMax * 1000;
  while (statusOf(serverFolder) !== 'ready') {
    if (hasEnded(server)) {
      await Promise.race([once(server, 'close'), sleep(closeMillisecondsMax)]);
      throw new Error(`PostgreSQL did not start (${ending(server)}). The end of ${log.path}:\n${log.tail()}`);
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL was not ready after ${readySecondsMax} seconds. The end of ${log.path}:\n${log.tail()}`);
    await sleep(readyPollMilliseconds);
  }
}

async function ensureDatabase(socketFolder: string) {
  try {
    await run(urlOf(socketFolder, databaseName), 'select 1');
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === databaseMissing)) throw error;
    await run(urlOf(socketFolder, 'postgres'), `create database ${databaseName}`);
  }
}

const databaseMissing = '3D000';

async function run(url: string, statement: string) {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectMillisecondsMax });
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const hasEnded = (server: ChildProcess) => server.exitCode !== null || server.signalCode !== null;
const ending = (server: ChildProcess) => (server.signalCode === null ? `exit code ${server.exitCode}` : `signal ${server.signalCode}`);
