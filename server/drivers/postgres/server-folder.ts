/**
 * The folder of PostgreSQL's data, whole or absent. It is made in a scratch folder beside its place, flushed to disk, and renamed; a kill
 * in between leaves trash that the next call removes. Nothing of an earlier run is alive or in the way when this returns.
 */
import { execFile } from 'node:child_process';
import { chownSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Launcher, isRoot } from './launcher.ts';
import { stopProcesses } from './processes.ts';

/** The superuser of this private server. */
export const roleName = 'offshoot';

const scratchName = 'cluster-in-the-making';
const initdbMillisecondsMax = 300_000;
/** An orphan that was in the middle of recovering from a crash may never answer. */
const orphanSecondsMax = 3;
const run = promisify(execFile);

export async function ensureServerFolder(home: string, launcher: Launcher): Promise<string> {
  const serverFolder = join(home, 'cluster');
  await removeScratch(join(home, scratchName));
  if (existsSync(serverFolder)) await clearLeftovers(serverFolder, launcher);
  else await createServerFolder(serverFolder, join(home, scratchName), launcher);
  return serverFolder;
}

async function removeScratch(scratch: string) {
  if (!existsSync(scratch)) return;
  await stopProcesses(scratch, undefined, 0);
  rmSync(scratch, { recursive: true, force: true });
}

async function createServerFolder(serverFolder: string, scratch: string, launcher: Launcher) {
  mkdirSync(scratch, { mode: 0o700 });
  chownSync(scratch, launcher.uid, launcher.gid);
  const [command, ...args] = launcher.command('KILL', [
    join(launcher.native, 'bin', 'initdb'),
    `--pgdata=${join(launcher.home, basename(scratch))}`,
    `--username=${roleName}`,
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--auth-local=peer',
    '--auth-host=reject',
    '--no-instructions',
  ]);
  try {
    await run(command, args, { cwd: scratch, env: launcher.env, timeout: initdbMillisecondsMax });
  } catch (cause) {
    await removeScratch(scratch);
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new Error(`PostgreSQL could not set up its folder ${serverFolder}: ${said}`, { cause });
  }
  renameSync(scratch, serverFolder);
  flushFolder(join(serverFolder, '..'));
}

/**
 * Lock files are removed once we have seen that nobody runs there: PostgreSQL would believe one whose process number now belongs to an
 * unrelated process of the same user. Its own check of shared memory still guards the cluster.
 */
async function clearLeftovers(serverFolder: string, launcher: Launcher) {
  const owner = statSync(serverFolder).uid;
  if (owner !== launcher.uid && !isRoot())
    throw new Error(`${serverFolder} belongs to another user (${owner}): run Offshoot as that user, or as root.`);
  await stopProcesses(serverFolder, recordedPostmaster(serverFolder), orphanSecondsMax);
  rmSync(lockFile(serverFolder), { force: true });
  // The folder was restored from another machine, or Offshoot did not run as root before.
  if (owner !== launcher.uid)
    await run('chown', ['--recursive', '--no-dereference', `${launcher.uid}:${launcher.gid}`, '--', serverFolder]);
}

/** PostgreSQL's lock file: the first line is the process number, the eighth how far the start has come. */
const lockFile = (serverFolder: string) => join(serverFolder, 'postmaster.pid');
const lockLines = (serverFolder: string) =>
  existsSync(lockFile(serverFolder)) ? readFileSync(lockFile(serverFolder), 'utf8').split('\n') : [];
const recordedPostmaster = (serverFolder: string) => Number.parseInt(lockLines(serverFolder)[0] ?? '', 10);
export const statusOf = (serverFolder: string) => lockLines(serverFolder)[7]?.trim();

function flushFolder(folder: string) {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
