/**
 * How a main process makes place for its successor, which may be of another version, without refusing a connection or losing a change:
 *
 * 1. The main process starts the successor and lets it inherit the listening sockets.
 * 2. The successor loads the table from the disk, and starts its processes. They do not accept yet.
 * 3. It asks to `take_over`: from here on the main process takes no changes, and says what has changed since step 1.
 * 4. It reads that again from the disk, takes the control socket, lets its processes accept, and says that it has `taken_over`.
 * 5. The main process lets its processes finish what they have, and ends. Until then the successor passes every change on to it, as requests that are
 *    held there wait for them.
 *
 * Whatever goes wrong before step 5, the successor is killed and the main process goes on.
 */
import { spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from './control.ts';
import { openChannel, type Asks, type Channel } from './messages.ts';
import { firstDescriptor, mainProcessFileOf, type EdgeSettings } from './settings.ts';
import type { TableKeeper } from '../routing/table-keeper.ts';
import type { CertificateKeeper } from '../tls/certificate-keeper.ts';

const takeOverSecondsMax = 30;

export interface Successor {
  pid: number;
  channel: Channel;
  /** Settles with its exit code. */
  ended: Promise<unknown>;
}

/** What a predecessor does for its successor. */
export interface Relay {
  put(ask: Asks['put']['ask']): Promise<undefined>;
  remove(ask: Asks['remove']['ask']): Promise<undefined>;
  drain(ask: Asks['drain']['ask']): Promise<number>;
  visits(ask: Asks['visits']['ask']): Promise<Asks['visits']['answer']>;
  wantRecords(wanted: boolean): void;
}

/** What a successor reads from the disk, once nobody changes it. */
export interface Keepers {
  table: TableKeeper;
  certificates: CertificateKeeper;
}

/** Resolves when the successor has taken over. */
export async function startSuccessor(program: Program, settings: EdgeSettings, keepers: Keepers, relay: Relay): Promise<Successor> {
  const { table, certificates } = keepers;
  const from = table.position;
  const sockets = settings.listeners.map((_, index) => firstDescriptor + index);
  const child = spawn(program.node, [program.main, program.settings], {
    stdio: ['ignore', 'inherit', 'inherit', ...sockets, 'ipc'],
    serialization: 'advanced',
  });
  const { promise: takenOver, resolve, reject } = Promise.withResolvers<undefined>();
  const ended = new Promise((end) => child.once('exit', end).once('error', end));
  void ended.then(() => reject(new Error('The successor ended before it had taken over; its words are in the log')));
  const timer = setTimeout(
    () => reject(new Error(`The successor did not take over in ${takeOverSecondsMax} seconds`)),
    takeOverSecondsMax * 1000,
  );
  const channel = openChannel(
    child,
    {
      ...relay,
      async take_over() {
        await certificates.handOver();
        return { changed: await table.handOver(from) };
      },
    },
    { taken_over: () => resolve(undefined), records_wanted: ({ wanted }) => relay.wantRecords(wanted) },
  );
  try {
    await takenOver;
    return { pid: child.pid ?? 0, channel, ended };
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    table.goOn();
    certificates.goOn();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Tells the guard who the main process is, and how to start it again. */
export const announceMainProcess = (settings: EdgeSettings) =>
  announce(settings, [String(process.pid), process.execPath, ...process.execArgv, ...process.argv.slice(1)]);

/** Tells the guard that there is to be none. */
export const announceStop = (settings: EdgeSettings) => announce(settings, ['stopped']);

function announce({ folder }: EdgeSettings, words: string[]) {
  const file = mainProcessFileOf(folder);
  writeFileSync(`${file}.${process.pid}`, `${words.join('\n')}\n`, { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
}

/** Has the guard become that of our version, once this process is its child: a moment after our parent has let go of us. */
export async function renewGuard() {
  for (let look = 0; look < guardLooksMax; look++) {
    if (isGuard(process.ppid)) return process.kill(process.ppid, 'SIGHUP');
    await sleep(guardLookMilliseconds);
  }
  return false;
}

const guardLooksMax = 100;
const guardLookMilliseconds = 100;

function isGuard(pid: number): boolean {
  try {
    return /\/launch\.pl\0guard\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
  } catch {
    return false;
  }
}
