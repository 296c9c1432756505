/**
 * The processes that serve, as the main process sees them: so many at any time, each with the whole table before it listens. One that ends is started
 * again, at once the first time and then later and later; one that does not answer is killed. The listening sockets are also ours, so that connections
 * wait while none accepts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ToldBatch } from '../logs/records.ts';
import { NoAnswer, openChannel, type Asks, type Channel, type ProcessStatus, type Tellings } from './messages.ts';
import { firstDescriptor, type EdgeSettings } from './settings.ts';
import type { EdgeEnvironment } from '../routing/table.ts';
import type { EdgeCertificate } from '../tls/certificate.ts';
import type { Challenges } from '../tls/challenges.ts';

export interface Processes {
  /** The answers of all processes that are there, also of those that only finish requests. One that ends meanwhile gives none. */
  askAll<K extends keyof Asks>(kind: K, ask: Asks[K]['ask'], secondsMax?: number): Promise<Asks[K]['answer'][]>;
  tellAll<K extends keyof Tellings>(kind: K, telling: Tellings[K]): void;
  status(): Promise<ProcessStatus[]>;
  /** Settles when the first processes have the table. Rejects when one of them does not get that far. */
  readonly started: Promise<unknown>;
  /** From now on those that are to serve accept connections. */
  listen(): Promise<void>;
  /** Ends when all have ended. */
  finish(secondsMax: number): Promise<void>;
  kill(): void;
  readonly restarts: number;
}

/** What a process has before it listens. */
export interface Known {
  environments(): Iterable<EdgeEnvironment>;
  certificates(): Iterable<EdgeCertificate>;
  challenges(): Challenges;
}

export interface ProcessEvents {
  wake(cluster: string): void;
  /** Whether anybody takes them. */
  records(batch: ToldBatch): Promise<boolean>;
  logFull(file: string): void;
  restarted(pid: number, reason: string): void;
}

const program = join(import.meta.dirname, 'process.ts');
const perMessage = 500;
const aliveEverySeconds = 5;
/** A process that still loads the program on a small or busy machine does not hang; if it were killed, the next one would have to load it again. */
const startSecondsMax = 120;
const failedSoonSeconds = 10;
const restartSecondsMax = 10;
/** The first restart is immediate. */
const restartSeconds = (failures: number) => (failures === 0 ? 0 : Math.min(0.1 * 2 ** failures, restartSecondsMax));
/** Counted from the end of the time that it was given to finish. */
const killAfterSeconds = 5;

interface Serving {
  child: ChildProcess;
  channel: Channel;
  /** It has the table, and answers. */
  isUp: boolean;
  isFinishing: boolean;
  ended: Promise<unknown>;
}

export function startProcesses(settingsFile: string, settings: EdgeSettings, known: Known, events: ProcessEvents): Processes {
  const all = new Set<Serving>();
  let isListening = false;
  let isFinishing = false;
  let areRecordsWanted = false;
  let restarts = 0;
  let failures = 0;
  let lastStart = performance.now();

  const start = () => {
    lastStart = performance.now();
    const serving = spawnServing();
    all.add(serving);
    void serving.ended.then(() => {
      all.delete(serving);
      replace(serving, `ended (${serving.child.exitCode ?? serving.child.signalCode})`);
    });
    return bringUp(serving).catch((error: unknown) => {
      kill(serving, error);
      throw error;
    });
  };

  const spawnServing = (): Serving => {
    const sockets = settings.listeners.map((_, index) => firstDescriptor + index);
    const child = spawn(process.execPath, [...process.execArgv, program, settingsFile], {
      stdio: ['ignore', 'inherit', 'inherit', ...sockets, 'ipc'],
      serialization: 'advanced',
    });
    const channel = openChannel(
      child,
      { record_batch: (batch) => events.records(batch) },
      {
        wake: ({ cluster }) => events.wake(cluster),
        log_full: ({ file }) => events.logFull(file),
        failing: () => replace(serving, 'met a bug and finishes'),
      },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
    const serving = { child, channel, isUp: false, isFinishing: false, ended };
    return serving;
  };

  /** The table may still be loading while the process starts. Changes that come meanwhile are sent the same way, and the highest version stays. */
  const bringUp = async (serving: Serving) => {
    const { child, channel } = serving;
    await once(child, 'spawn');
    channel.tell('records_wanted', { wanted: areRecordsWanted });
    await Promise.all([
      ...inParts(known.environments()).map((environments) => channel.ask('put', { environments }, startSecondsMax)),
      ...inParts(known.certificates()).map((certificates) => channel.ask('put_certificates', { certificates }, startSecondsMax)),
      channel.ask('challenge', known.challenges(), startSecondsMax),
    ]);
    await channel.ask('status', {}, startSecondsMax);
    serving.isUp = true;
    if (isListening) await channel.ask('listen', {});
  };

  const replace = (serving: Serving, reason: string) => {
    if (serving.isFinishing || isFinishing) return;
    serving.isFinishing = true;
    restarts++;
    failures = performance.now() - lastStart < failedSoonSeconds * 1000 ? failures + 1 : 0;
    events.restarted(serving.child.pid ?? 0, reason);
    void sleep(restartSeconds(failures) * 1000).then(() => (isFinishing ? undefined : start().catch(() => {})));
  };

  const kill = (serving: Serving, error: unknown) => {
    if (!(error instanceof NoAnswer)) return;
    console.error(`edge: process ${serving.child.pid} is killed: ${error.message}`);
    serving.child.kill('SIGKILL');
  };

  const killAll = () => {
    for (const { child } of all) child.kill('SIGKILL');
  };

  const askOne = async <K extends keyof Asks>(serving: Serving, kind: K, ask: Asks[K]['ask'], secondsMax?: number) => {
    try {
      return { answer: await serving.channel.ask(kind, ask, secondsMax) };
    } catch (error) {
      if (serving.isUp) kill(serving, error);
      if (serving.channel.isOpen && !(error instanceof NoAnswer)) throw error;
      return undefined;
    }
  };
  const askAll = async <K extends keyof Asks>(kind: K, ask: Asks[K]['ask'], secondsMax?: number) => {
    const answers = await Promise.all([...all].map((serving) => askOne(serving, kind, ask, secondsMax)));
    return answers.filter((it) => it !== undefined).map((it) => it.answer);
  };

  const started = Promise.all(Array.from({ length: settings.processes }, start));
  const watching = setInterval(() => void askAll('status', {}).catch(() => {}), aliveEverySeconds * 1000);

  return {
    askAll,
    started,
    status: () => askAll('status', {}),
    tellAll(kind, telling) {
      if (kind === 'records_wanted' && 'wanted' in telling) areRecordsWanted = telling.wanted;
      for (const { channel } of all) channel.tell(kind, telling);
    },
    async listen() {
      isListening = true;
      await askAll('listen', {});
    },
    async finish(secondsMax) {
      isFinishing = true;
      clearInterval(watching);
      for (const { channel } of all) channel.tell('finish', { seconds_max: secondsMax });
      const killing = setTimeout(killAll, (secondsMax + killAfterSeconds) * 1000);
      await Promise.all([...all].map(({ ended }) => ended));
      clearTimeout(killing);
    },
    kill: killAll,
    get restarts() {
      return restarts;
    },
  };
}

function inParts<T>(all: Iterable<T>): T[][] {
  const items = [...all];
  return Array.from({ length: Math.ceil(items.length / perMessage) }, (_, part) => items.slice(part * perMessage, (part + 1) * perMessage));
}
