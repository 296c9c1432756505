/**
 * Runs JavaScript that users wrote: in an engine of its own (QuickJS, compiled to WebAssembly), which has nothing but what it is given, in a thread of its own, so
 * that it keeps nobody waiting. Time, memory, depth of calls and what it prints are bounded. What a script asks of us, it waits for: its thread sleeps until the
 * answer is there.
 */
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { Problem } from '../../kernel/problem.ts';

export interface Script {
  source: string;
  /** What it finds under these names; values that JSON can hold. */
  globals: Readonly<Record<string, unknown>>;
  calls: Readonly<Record<ScriptCall, (...given: unknown[]) => Promise<unknown>>>;
  /** Called with each line that it prints. */
  print(line: string): void;
  signal: AbortSignal;
  limits?: Partial<ScriptLimits>;
}

/** What a script can ask of us; the Problem that answers it, it can catch. */
export type ScriptCall = 'fetch' | 'getStored' | 'setStored' | 'removeStored' | 'clearStored';

export interface ScriptLimits {
  /** Of work, without what it waits for. */
  busySeconds: number;
  /** Of everything together. */
  seconds: number;
  memoryBytes: number;
  stackBytes: number;
  printedCharacters: number;
}

export const usualLimits: ScriptLimits = {
  busySeconds: 10,
  seconds: 60,
  memoryBytes: 64 * 1024 * 1024,
  stackBytes: 256 * 1024,
  printedCharacters: 256 * 1024,
};

/** Undefined where it came to its end; otherwise why it did not, in words for whoever wrote it, and where. */
export type ScriptFailure = string | undefined;

/** What the thread is given. */
export interface ScriptOrder extends Pick<Script, 'source' | 'globals'> {
  limits: ScriptLimits;
  /** Where answers come from, and a number that is 1 when there is one. */
  answers: MessagePort;
  isAnswered: Int32Array<SharedArrayBuffer>;
}

export type ScriptMessage = { print: string } | { call: ScriptCall; given: unknown[] } | { end: ScriptFailure };
export type ScriptAnswer = { value: unknown } | { problem: string };

/** Throws what a call threw, where that was no Problem, and the reason of the signal where that is aborted. */
export async function runScript({ source, globals, calls, print, signal, limits }: Script): Promise<ScriptFailure> {
  signal.throwIfAborted();
  const held = { ...usualLimits, ...limits };
  const { port1: ours, port2: answers } = new MessageChannel();
  const isAnswered = new Int32Array(new SharedArrayBuffer(4));
  const workerData: ScriptOrder = { source, globals, limits: held, answers, isAnswered };
  const thread = new Worker(new URL('script-thread.ts', import.meta.url), { workerData, transferList: [answers], env: {}, execArgv: [] });
  const ended = Promise.withResolvers<ScriptFailure>();
  const tooLong = setTimeout(() => ended.resolve(`The script was stopped after ${held.seconds} seconds.`), held.seconds * 1000);
  const stop = () => ended.reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });

  const answer = async ({ call, given }: Extract<ScriptMessage, { call: ScriptCall }>) => {
    const told: ScriptAnswer = await calls[call](...given).then(
      (value) => ({ value }),
      (error: unknown) => {
        if (!(error instanceof Problem)) throw error;
        return { problem: error.message };
      },
    );
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of threads, and no window
    ours.postMessage(told);
    Atomics.store(isAnswered, 0, 1);
    Atomics.notify(isAnswered, 0);
  };
  thread.on('message', (message: ScriptMessage) => {
    if ('print' in message) print(message.print);
    else if ('call' in message) void answer(message).catch(ended.reject);
    else ended.resolve(message.end);
  });
  thread.once('error', ended.reject);
  try {
    return await ended.promise;
  } finally {
    clearTimeout(tooLong);
    signal.removeEventListener('abort', stop);
    ours.close();
    await thread.terminate();
  }
}
