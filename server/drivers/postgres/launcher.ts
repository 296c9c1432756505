/**
 * As whom, and seeing which paths, PostgreSQL's programs run.
 *
 * PostgreSQL refuses to run as root, so root starts it as the system user `offshoot`; anyone else starts it as themselves. That user may
 * not be able to enter the folders above ours (a clone in /root, a folder made by mktemp). Root then gives PostgreSQL a private view of
 * the file system in which our two folders are also mounted under /run/offshoot. Either way it is signalled when our process dies.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unshareMounts } from '../mounts.ts';

export interface Launcher {
  readonly uid: number;
  readonly gid: number;
  /** The folder of the server, and that of PostgreSQL's files, as PostgreSQL sees them. */
  readonly home: string;
  readonly native: string;
  readonly env: Record<string, string>;
  command(signalWhenWeDie: 'QUIT' | 'KILL', program: string[]): [string, ...string[]];
}

const systemUser = 'offshoot';
const mounted = { home: '/run/offshoot/postgres', native: '/run/offshoot/postgres-files' };
const checkMillisecondsMax = 20_000;
const run = promisify(execFile);

/** The first way to run PostgreSQL that works on this machine. */
export async function findLauncher(home: string, native: string): Promise<Launcher> {
  if (!isRoot()) return checked(direct(home, native, { uid: process.getuid!(), gid: process.getgid!() }, []));
  const user = await findSystemUser();
  const become = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  try {
    return await checked(direct(home, native, user, become));
  } catch {
    return await checked(inPrivateView(home, native, user, become));
  }
}

export const isRoot = () => process.getuid?.() === 0;

interface User {
  uid: number;
  gid: number;
}

async function findSystemUser(): Promise<User> {
  try {
    const { stdout } = await run('getent', ['passwd', '--', systemUser]);
    const [, , uid, gid] = stdout.split(':');
    return { uid: Number(uid), gid: Number(gid) };
  } catch (cause) {
    throw new Error(
      `PostgreSQL does not run as root, and the user it would run as is missing: useradd --system --no-create-home --shell /usr/sbin/nologin ${systemUser}`,
      { cause },
    );
  }
}

function direct(home: string, native: string, user: User, become: string[]): Launcher {
  return {
    ...user,
    home,
    native,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' },
    command: (signal, program) => ['setpriv', ...become, '--no-new-privs', `--pdeathsig=${signal}`, '--', ...program],
  };
}

/** Nothing is mounted for anyone else: the mounts live and die with the process that sees them. */
const mountAndRun = 'mount --bind -- "$1" "$2" && mount --bind -- "$3" "$4" && shift 4 && exec "$@"';

function inPrivateView(home: string, native: string, user: User, become: string[]): Launcher {
  for (const folder of ['/run/offshoot', mounted.home, mounted.native]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o711);
  }
  const inside = direct(mounted.home, mounted.native, user, become);
  const mounts = [home, mounted.home, native, mounted.native];
  return {
    ...inside,
    command: (signal, program) => [...unshareMounts, '--', 'sh', '-c', mountAndRun, 'sh', ...mounts, ...inside.command(signal, program)],
  };
}

/** Runs PostgreSQL far enough to know that its user can enter both folders and that its libraries load. */
async function checked(launcher: Launcher): Promise<Launcher> {
  const enterAndAsk = ['sh', '-c', 'cd -- "$1" && exec "$2" --version', 'sh', launcher.home, join(launcher.native, 'bin', 'postgres')];
  const [command, ...args] = launcher.command('KILL', enterAndAsk);
  try {
    await run(command, args, { cwd: '/', env: launcher.env, timeout: checkMillisecondsMax });
    return launcher;
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new Error(
      `PostgreSQL cannot run here as user ${launcher.uid} (${said}). Let that user enter the folders above the data folder and above ` +
        'node_modules (chmod o+x), or set OFFSHOOT_DATA to another folder, or DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    );
  }
}
