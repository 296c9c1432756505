/**
 * A process's connection to the store, from the first thing that it is asked for. Where nobody answers, the store is started. What was asked and not answered when the connection was lost is
 * asked again over the next one.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callBytesMax, FrameReader, frameOf, replyBytesMax } from './frames.ts';
import { NotStored, PendingCalls, type Answered } from './pending-calls.ts';
import { socketIn, type CallName, type ProcessTask, type Reply, type Request } from './protocol.ts';
import type { Store } from './store.ts';

const program = join(import.meta.dirname, 'store-process.ts');
const lookMilliseconds = 50;
const restartMilliseconds = { first: 100, most: 10_000 };
/** A store that was left by everybody has closed its files by then. */
const leaveMilliseconds = 10_000;

export interface StoreConnection {
  call<N extends CallName>(name: N, argument: Parameters<Store[N]>[0]): Promise<Awaited<ReturnType<Store[N]>>>;
  /** How often a process of the store was found, or started. */
  starts(): number;
  /** Of the store's process. */
  pid(): number | undefined;
  close(): Promise<void>;
}

/** Undefined where nobody answers. */
export async function connectToStore(folder: string): Promise<Socket | undefined> {
  const socket = connect(socketIn(folder));
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    socket.destroy();
    return undefined;
  }
}

export function openStoreConnection(task: ProcessTask, say: (line: string) => void): StoreConnection {
  const pending = new PendingCalls();
  const closing = new AbortController();
  const starter = storeStarter(task, say, closing.signal);
  let starts = 0;
  let pid: number | undefined;
  let socket: Socket | undefined;
  let connecting: Promise<void> | undefined;

  const hear = (reply: Answered) => {
    starter.onAnswer();
    pending.settle(reply);
  };
  const lose = () => {
    socket = undefined;
    if (closing.signal.aborted) return;
    say('the store of measurements is gone; whoever has something for it starts it again');
    pending.giveUp();
    if (pending.count > 0) begin();
  };
  const open = async () => {
    let found = await meetStore(task.folder, hear);
    while (!found && !closing.signal.aborted) {
      await starter.startOrWait();
      found = await meetStore(task.folder, hear);
    }
    if (!found) return;
    starts += 1;
    ({ pid, socket } = found);
    socket.once('close', lose);
    for (const id of pending.ids()) socket.write(pending.attempt(id));
  };
  const begin = () => {
    connecting ??= open().finally(() => (connecting = undefined));
  };

  return {
    call: async (name, argument) => {
      if (closing.signal.aborted) throw new NotStored('The store is closed.', false);
      const { id, answer } = pending.add(name, argument);
      if (socket) socket.write(pending.attempt(id));
      else begin();
      return (await answer) as never;
    },
    starts: () => starts,
    pid: () => pid,
    async close() {
      closing.abort();
      pending.close();
      await connecting;
      if (socket) await leave(socket);
      starter.close();
    },
  };
}

/** Undefined where nobody answers, or nobody is let in. */
async function meetStore(folder: string, hear: (reply: Answered) => void): Promise<{ socket: Socket; pid: number } | undefined> {
  const socket = await connectToStore(folder);
  if (!socket) return undefined;
  const reader = new FrameReader(replyBytesMax);
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  socket.on('error', () => {});
  socket.once('close', () => resolve(undefined));
  socket.on('data', (piece) => {
    try {
      for (const reply of reader.read(piece) as Reply[])
        if (reply.kind === 'ready') resolve(reply.pid);
        else hear(reply);
    } catch (error) {
      // It is not the store that we know, or not any more.
      socket.destroy(error instanceof Error ? error : undefined);
    }
  });
  const pid = await promise;
  return pid === undefined ? undefined : { socket, pid };
}

async function leave(socket: Socket) {
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.write(frameOf({ kind: 'leave' } satisfies Request, callBytesMax));
  await Promise.race([gone, sleep(leaveMilliseconds, undefined, { ref: false })]);
  socket.destroy();
}

/** Starts the store, one at a time, and later and later where it does not stay. It outlives who started it: others may use it. */
function storeStarter(task: ProcessTask, say: (line: string) => void, signal: AbortSignal) {
  let child: ChildProcess | undefined;
  let pause = restartMilliseconds.first;
  const wait = (milliseconds: number) => sleep(milliseconds, undefined, { signal }).catch(() => {});
  const start = () => {
    // It has nothing of ours: whoever waits for the end of what we say would wait for the store.
    const started = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ['ignore', 'ignore', 'pipe'] });
    started.unref();
    if (started.stderr instanceof Socket) started.stderr.unref().on('data', (words) => say(String(words).trimEnd()));
    started.on('error', (error) => {
      say(`the store of measurements could not be started: ${error.message}`);
      child = undefined;
    });
    started.on('exit', (code, killed) => {
      if (code !== 0) say(`the process of the store ended (${killed ?? code})`);
      child = undefined;
    });
    child = started;
  };
  let isFirst = true;
  return {
    /** Resolves when it is worth looking again. */
    async startOrWait() {
      if (child) return wait(lookMilliseconds);
      if (!isFirst) {
        await wait(pause);
        pause = Math.min(pause * 2, restartMilliseconds.most);
      }
      isFirst = false;
      if (!signal.aborted) start();
    },
    onAnswer() {
      pause = restartMilliseconds.first;
    },
    close() {
      child?.removeAllListeners();
    },
  };
}
