/**
 * The store as it is reached by all processes of an installation. Each of them is bounded: how many there are, how long what they say is, how much of it is under way. Who says what cannot be
 * understood is let go, and who asks faster than the store answers is not listened to meanwhile.
 */
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { callBytesMax, FrameReader, frameOf, NoMessage, replyBytesMax } from './frames.ts';
import { isRequest, socketIn, type Call, type Reply, type Request } from './protocol.ts';
import { NoRoom, type Store } from './store.ts';

const clientsMax = 32;
/** Of one client; an answer counts until the client has taken it. */
const callsMax = 8;

export interface Clients {
  /** Resolves when the last client has left, or a while after it has gone without a word. Nobody is accepted from then on. */
  over: Promise<void>;
  /** From now on it is over as soon as nobody is there. */
  hurry(): void;
  /** Lets go of those who wait for the end. */
  close(): void;
}

/** The socket is taken from whoever left it: only who has the lock of the folder may call this. */
export async function serveClients(folder: string, store: Store, lingerMilliseconds: number): Promise<Clients> {
  const address = socketIn(folder);
  const clients = new Set<Socket>();
  /** The last one waits until the files are closed, unless somebody comes meanwhile. */
  const leaving = new Set<Socket>();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let linger = lingerMilliseconds;
  let timer: NodeJS.Timeout | undefined;
  const server = createServer();

  const finish = () => {
    server.close();
    end();
  };
  const endAfter = (milliseconds: number) => {
    clearTimeout(timer);
    timer = setTimeout(finish, milliseconds);
  };
  const leave = (client: Socket) => {
    if (clients.size > 1) return client.end();
    leaving.add(client);
    return endAfter(0);
  };

  server.on('connection', (client) => {
    if (clients.size >= clientsMax) return void client.destroy();
    clearTimeout(timer);
    for (const each of leaving) each.end();
    clients.add(client);
    client.once('close', () => {
      clients.delete(client);
      leaving.delete(client);
      if (clients.size === 0) endAfter(linger);
    });
    converse(client, store, () => leave(client));
  });
  rmSync(address, { force: true });
  server.listen(address);
  await once(server, 'listening');
  chmodSync(address, 0o600);
  // Whoever started it may be gone before it was ready.
  endAfter(Math.max(linger, firstClientMilliseconds));
  return {
    over,
    hurry() {
      linger = 0;
      if (clients.size === 0) endAfter(0);
    },
    close() {
      for (const client of clients) client.destroy();
    },
  };
}

const firstClientMilliseconds = 10_000;

function converse(client: Socket, store: Store, leave: () => void) {
  const reader = new FrameReader(callBytesMax);
  /** What came in one piece with what is under way; nothing more is read until it has its turn. */
  const waiting: Request[] = [];
  let underWay = 0;
  const say = (reply: Reply, done = () => {}) => void client.write(frameFor(reply), done);
  const take = (request: Request) => {
    if (request.kind === 'leave') return leave();
    underWay += 1;
    return void answer(store, request).then((reply) =>
      say(reply, () => {
        underWay -= 1;
        takeNext();
      }),
    );
  };
  const takeNext = () => {
    if (client.destroyed) return;
    for (const request of waiting.splice(0, callsMax - underWay)) take(request);
    if (underWay < callsMax) client.resume();
    else client.pause();
  };
  client.on('error', () => {});
  client.on('data', (piece) => {
    try {
      for (const message of reader.read(piece)) {
        if (!isRequest(message)) throw new NoMessage('It asks for something that is not known here.');
        waiting.push(message);
      }
      takeNext();
    } catch (error) {
      if (!(error instanceof NoMessage)) throw error;
      console.error(`metrics: a process is let go: ${error.message}`);
      client.destroy();
    }
  });
  say({ kind: 'ready', pid: process.pid });
}

function frameFor(reply: Reply): Buffer {
  try {
    return frameOf(reply, replyBytesMax);
  } catch (error) {
    if (!(error instanceof NoMessage) || reply.kind !== 'answer') throw error;
    return frameOf({ kind: 'failure', id: reply.id, message: error.message, isNoRoom: false } satisfies Reply, replyBytesMax);
  }
}

async function answer(store: Store, { id, name, argument }: Call): Promise<Reply> {
  try {
    const work = store[name] as (argument: Call['argument']) => Promise<unknown>;
    return { kind: 'answer', id, answer: await work(argument) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // DuckDB refuses everything after some failures, until its files are opened anew.
    if (/has been invalidated|FATAL/.test(message)) process.exit(1);
    return {
      kind: 'failure',
      id,
      message,
      isNoRoom: error instanceof NoRoom || /No space left|Could not write|not enough space/i.test(message),
    };
  }
}
