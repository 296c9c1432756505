/** Keeps the process of the store running, from the first thing that it is asked for. What it was asked and had not answered when it died is asked again of the next one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Call, CallName, ProcessTask, Reply } from './protocol.ts';
import type { Store } from './store.ts';

const program = join(import.meta.dirname, 'store-process.ts');
const restartMilliseconds = { first: 100, most: 10_000 };
/** Whatever kills the process each time is given up. */
const attemptsMax = 3;

export class NotStored extends Error {
  readonly isNoRoom: boolean;
  constructor(message: string, isNoRoom: boolean) {
    super(message);
    this.isNoRoom = isNoRoom;
  }
}

export interface StoreProcess {
  call<N extends CallName>(name: N, argument: Parameters<Store[N]>[0]): Promise<Awaited<ReturnType<Store[N]>>>;
  starts(): number;
  pid(): number | undefined;
  close(): Promise<void>;
}

interface Pending {
  call: Call;
  attempts: number;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export function keepStoreProcess(task: ProcessTask, say: (line: string) => void): StoreProcess {
  const pending = new Map<number, Pending>();
  let [starts, lastId, pause] = [0, 0, restartMilliseconds.first];
  let [isReady, isClosing] = [false, false];
  let restarting: NodeJS.Timeout | undefined;
  let child: ChildProcess | undefined;

  const send = (each: Pending) => {
    each.attempts += 1;
    child?.send(each.call, () => {});
  };
  const hear = (reply: Reply) => {
    if (reply.kind === 'ready') {
      isReady = true;
      for (const each of pending.values()) send(each);
      return;
    }
    pause = restartMilliseconds.first;
    const each = pending.get(reply.id);
    pending.delete(reply.id);
    if (reply.kind === 'answer') each?.resolve(reply.answer);
    else each?.reject(new NotStored(reply.message, reply.isNoRoom));
  };
  const start = () => {
    starts += 1;
    const started = spawn(process.execPath, [program, JSON.stringify(task)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    child = started;
    started.on('message', hear);
    started.on('error', (error) => say(`the process of the store: ${error.message}`));
    started.on('exit', (code, signal) => {
      isReady = false;
      if (isClosing) return;
      say(`the process of the store ended (${signal ?? code}) and is started again`);
      for (const [id, each] of pending)
        if (each.attempts >= attemptsMax) {
          pending.delete(id);
          each.reject(new NotStored('The store ended each time that it was asked.', false));
        }
      restarting = setTimeout(start, pause);
      pause = Math.min(pause * 2, restartMilliseconds.most);
    });
  };

  return {
    call: async (name, argument) => {
      if (isClosing) throw new NotStored('The store is closed.', false);
      if (starts === 0) start();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      lastId += 1;
      const each = { call: { id: lastId, name, argument }, attempts: 0, resolve, reject };
      pending.set(lastId, each);
      if (isReady) send(each);
      return (await promise) as never;
    },
    starts: () => starts,
    pid: () => child?.pid,
    async close() {
      isClosing = true;
      clearTimeout(restarting);
      for (const { reject } of pending.values()) reject(new NotStored('The store is closed.', false));
      pending.clear();
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const over = once(child, 'exit');
      if (child.connected) child.disconnect();
      await over;
    },
  };
}
