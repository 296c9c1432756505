/**
 * Brings the edge to run as it should: started where there is none, left alone where it is the right one, replaced by a successor where it is of another
 * version or has other settings. It gets a session of its own, and so outlives us. A successor is started in the sandbox of the one before; where that must be
 * another, all is ended and started anew.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, constants, globSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EdgeStatus } from '../../../edge/process/control.ts';
import type { EdgeSettings, ListenAddress } from '../../../edge/process/settings.ts';
import { withFileLock } from '../file-lock.ts';
import type { ControlClient } from './control-client.ts';
import { removeEdgeCgroup, wordsToJoin } from './edge-cgroup.ts';
import { type Sandbox, sandboxOf } from './edge-sandbox.ts';

export interface EdgeOptions {
  /** The edge's own folder, for the table, the control socket and its messages. */
  folder: string;
  /** The folder for `<cluster>/<app>/access.log`. */
  logs: string;
  /** Holds all volumes: the files that it serves, and the sockets of applications. */
  volumes: string;
  listeners: ListenAddress[];
  /** How many processes serve requests, side by side. */
  processes: number;
  /** Addresses or ranges whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  /** Value of `X-Platform-Router`. */
  routerName: string;
}

const edgeFolder = resolve(import.meta.dirname, '../../../edge');
const main = join(edgeFolder, 'process/main.ts');
const launcher = join(edgeFolder, 'process/launch.pl');
/** Long enough for two programs to start one after the other (edge/process/processes.ts), on a small or busy machine. */
const startSecondsMax = 180;
const stuckSecondsMax = 20;
/** What a killed edge left may hold a port for a moment. */
const launchSecondsMax = 8;
const launchAgainMilliseconds = 300;
const statusSecondsMax = 10;
const stopSecondsMax = 15;
const killedSecondsMax = 5;
const upgradeSecondsMax = 60;
const pollMilliseconds = 25;
const tailCharactersMax = 2000;

export interface Launch {
  /** Resolves when the edge runs as it should. */
  ensure(): Promise<void>;
  readonly version: string;
}

export function openLaunch(options: EdgeOptions, control: ControlClient, signal: AbortSignal): Launch {
  const settings = settingsOf(options);
  const { folder, logs } = settings;
  const volumes = resolve(options.volumes);
  const sandbox = sandboxOf({ folder, logs, volumes });
  const file = join(folder, `settings-${settings.version}.json`);

  const ensure = async () => {
    writeWhole(file, JSON.stringify(settings));
    // A guard that is there brings back its own edge, which need not be the version that we want.
    if (!(await statusOf(control)) && guardOf(folder) !== undefined) await startEdge(settings, file, sandbox, control);
    const status = await statusOf(control);
    const isInPlace = status !== undefined && sandbox.holds(status.pid);
    if (isInPlace) await sandbox.showTo(status.pid);
    if (isInPlace && status.version === settings.version) return;
    if (isInPlace && sameListeners(status, settings))
      await control.ask('POST', '/upgrade', { node: process.execPath, main, settings: file }, upgradeSecondsMax);
    else {
      if (status) await endEdge(folder, control, stopSecondsMax);
      await startEdge(settings, file, sandbox, control);
    }
    await removeOtherSettings(folder, file);
  };

  return {
    version: settings.version,
    ensure() {
      // What a pool is mounted in lets others pass, as the pool itself has it (volumes/btrfs/pool.ts).
      mkdirSync(dirname(volumes), { recursive: true, mode: 0o711 });
      for (const needed of [folder, logs, volumes]) mkdirSync(needed, { recursive: true, mode: 0o700 });
      return withFileLock(`${folder}.lock`, signal, ensure);
    },
  };
}

/** The version is that of the program, which is all in its folder, of Node and of the settings: with any of them changed, it is another edge. */
function settingsOf({ folder, logs, listeners, processes, trustedProxies, routerName }: EdgeOptions): EdgeSettings {
  const settings = {
    folder: resolve(folder),
    logs: resolve(logs),
    listeners,
    processes,
    trusted_proxies: [...trustedProxies],
    router_name: routerName,
  };
  const hash = createHash('sha256').update(process.version).update(process.execPath).update(JSON.stringify(settings));
  for (const name of globSync('**/*.{ts,pl}', { cwd: edgeFolder }).toSorted()) {
    if (!name.endsWith('.test.ts') && !name.startsWith('testing/')) hash.update(`\0${name}\0`).update(readFileSync(join(edgeFolder, name)));
  }
  return { version: hash.digest('hex').slice(0, 16), ...settings };
}

const sameListeners = (one: Pick<EdgeSettings, 'listeners'>, other: Pick<EdgeSettings, 'listeners'>) =>
  JSON.stringify(one.listeners) === JSON.stringify(other.listeners);

/** A guard that is there starts the edge again by itself; it is in the way only if its edge does not answer for long. */
async function startEdge(settings: EdgeSettings, file: string, sandbox: Sandbox, control: ControlClient) {
  const startedAt = performance.now();
  const found = guardOf(settings.folder);
  let launching = false;
  while (!(await statusOf(control))) {
    const seconds = (performance.now() - startedAt) / 1000;
    const guard = guardOf(settings.folder);
    // A launch that is under way may take long; launches that fail at once are not repeated for ever.
    if (seconds > (guard === undefined && !launching ? launchSecondsMax : startSecondsMax)) {
      if (guard !== undefined) killGroup(guard);
      throw new Error(`The edge does not start; its last words:\n${tailOf(settings)}`);
    }
    if (guard === undefined && !launching) {
      launching = true;
      void launchGuard(settings, file, sandbox).then(() => (launching = false));
    } else if (guard !== undefined && guard === found && seconds > stuckSecondsMax) killGroup(guard);
    await sleep(pollMilliseconds);
  }
}

function guardOf(folder: string): number | undefined {
  try {
    const guard = Number(readFileSync(join(folder, 'guard-process'), 'utf8'));
    return readFileSync(`/proc/${guard}/cmdline`, 'latin1').includes(`\0guard\0${folder}\0`) ? guard : undefined;
  } catch {
    return undefined;
  }
}

/** The guard leads the group of all processes of its edge. */
const killGroup = (guard: number) => kill(-guard);

function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

const statusOf = (control: ControlClient) => control.tryOnce('GET', '/status', statusSecondsMax) as Promise<EdgeStatus | undefined>;

/** Resolves when the guard has ended, and it is time to try again. */
async function launchGuard(settings: EdgeSettings, file: string, sandbox: Sandbox) {
  const { folder, listeners } = settings;
  const ports = listeners.flatMap(({ host, port }) => [host, String(port)]);
  const guarded = ['perl', launcher, 'guard', folder, '0', process.execPath, main, file];
  const output = openSync(logFileOf(settings), constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  const opened = ['perl', launcher, 'open', folder, String(listeners.length), ...ports, ...sandbox.enter, ...guarded];
  const [program = '', ...words] = [...wordsToJoin(folder), ...opened];
  const guard = spawn(program, words, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', output, output],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', NODE_COMPILE_CACHE: join(folder, 'compile-cache') },
  });
  closeSync(output);
  guard.unref();
  await new Promise((resolve) => guard.once('exit', resolve).once('error', resolve));
  await sleep(launchAgainMilliseconds);
}

const logFileOf = ({ folder }: EdgeSettings) => join(folder, 'edge.log');
const tailOf = (settings: EdgeSettings) => readFileSync(logFileOf(settings), 'utf8').slice(-tailCharactersMax);

/** Lets requests finish; whoever does not answer, or takes too long, is killed. */
export async function endEdge(folder: string, control: ControlClient, secondsMax: number) {
  const guard = guardOf(folder);
  const status = await statusOf(control);
  if (status) await control.ask('POST', '/stop', { seconds_max: secondsMax });
  else if (guard !== undefined) killGroup(guard);
  if (!(await isGoneWithin(folder, secondsMax + stopSecondsMax))) {
    for (const pid of processesIn(folder)) kill(pid);
    if (!(await isGoneWithin(folder, killedSecondsMax))) throw new Error(`The edge in ${folder} does not end.`);
  }
  removeEdgeCgroup(folder);
}

async function isGoneWithin(folder: string, seconds: number): Promise<boolean> {
  const deadline = performance.now() + seconds * 1000;
  while (processesIn(folder).length > 0) {
    if (performance.now() > deadline) return false;
    await sleep(pollMilliseconds);
  }
  return true;
}

/** All processes of the edge, also those that still finish requests after their guard was killed. Those that only wait to be reaped have no command line any more. */
function processesIn(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1');
      return command.includes(`\0guard\0${folder}\0`) || command.includes(`\0${folder}/settings-`) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

async function removeOtherSettings(folder: string, file: string) {
  const others = globSync('settings-*.json', { cwd: folder })
    .map((name) => join(folder, name))
    .filter((other) => other !== file);
  await Promise.all(others.map((other) => rm(other, { force: true })));
}

/** The edge can write to its folder, and might have put a link there: it is not to choose what we write to. */
function writeWhole(file: string, text: string) {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
  renameSync(`${file}.new`, file);
}
