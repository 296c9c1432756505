/** A forwarder in a process of its own, which is there while something is to be forwarded. When it ends by itself it is started again, and is told anew what is wanted. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { limit } from '../../kernel/limits.ts';
import { forgetOthers, type Forwarder, type ForwarderEvent, type ForwardingTask } from './forwarder.ts';
import type { ProcessOptions, Told, Wanted } from './forwarder-process.ts';

export interface StartedForwarder extends Forwarder {
  /** Of the process, while there is one. */
  pid(): number | undefined;
}

export interface StartOptions extends ProcessOptions {
  /** For the platform's log. */
  say(sentence: string): void;
  tell(name: string, event: ForwarderEvent): void;
}

const program = join(import.meta.dirname, 'forwarder-process.ts');
/** What is in memory at once is bounded by the number of batches; this is for what nobody thought of. */
const heapMegabytesMax = 256;
const restartSeconds = { first: 1, most: 60 };
/** A process that lived so long had begun well. */
const livedSecondsMin = 60;

export function startForwarder({ say, tell, ...options }: StartOptions): StartedForwarder {
  const now: { child?: ChildProcess | undefined; tasks: readonly ForwardingTask[]; isClosed: boolean } = { tasks: [], isClosed: false };
  const settled = new Map<number, () => void>();
  let [number, pause] = [0, restartSeconds.first];
  const oneAtATime = limit(1);

  const hear = (told: Told) => {
    if ('settled' in told) settled.get(told.settled)?.();
    else tell(told.name, told.event);
  };
  const startAgain = (begun: number, why: string) => {
    now.child = undefined;
    if (now.isClosed || now.tasks.length === 0) return;
    if (performance.now() - begun > livedSecondsMin * 1000) pause = restartSeconds.first;
    say(`the process that forwards logs ended (${why}); it is started again in ${pause} s`);
    setTimeout(() => void hand(), pause * 1000).unref();
    pause = Math.min(pause * 2, restartSeconds.most);
  };
  const start = () => {
    const begun = performance.now();
    const child = startProcess(options, say).on('message', hear);
    child.once('exit', (code, signal) => startAgain(begun, String(signal ?? code)));
    // A process that could not be started does not exit.
    child.on('error', ({ message }) => void (child.pid === undefined && startAgain(begun, message)));
    return child;
  };
  /** Hands over all that is wanted. */
  const hand = () =>
    oneAtATime(async () => {
      if (now.isClosed || (!now.child && now.tasks.length === 0)) return;
      const child = (now.child ??= start());
      const wanted: Wanted = { number: (number += 1), tasks: now.tasks };
      const { promise, resolve } = Promise.withResolvers<void>();
      settled.set(wanted.number, resolve);
      child.once('exit', resolve);
      child.send(wanted, (error) => void (error && resolve()));
      await promise;
      child.off('exit', resolve);
      settled.delete(wanted.number);
      if (wanted.tasks.length === 0) await end();
    });
  const end = async () => {
    const { child } = now;
    now.child = undefined;
    if (!child) return;
    const exited = once(child, 'exit');
    child.disconnect();
    await exited;
  };
  return {
    pid: () => now.child?.pid,
    want: async (tasks) => {
      now.tasks = tasks;
      await hand();
      if (tasks.length === 0) await forgetOthers(options.folder, new Map());
    },
    close: () => {
      now.isClosed = true;
      return oneAtATime(end);
    },
  };
}

/** It is told what it forwards, with the secrets for it, over a channel that nobody else hears. */
function startProcess({ folder, allowPrivateAddresses, caCertificates }: ProcessOptions, say: StartOptions['say']): ChildProcess {
  const task: ProcessOptions = { folder, allowPrivateAddresses, caCertificates };
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMegabytesMax}`, program, JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  child.stderr?.on('data', (words: Buffer) => say(words.toString().trimEnd()));
  return child;
}
