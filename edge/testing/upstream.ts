/** Programs that answer, for tests: of bytes one says oneself, and of node:http. They remember, byte for byte, what reached them. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from '../routing/table.ts';

export interface RawUpstream {
  instance: Instance;
  /** All bytes that arrived, of each connection, as Latin-1. */
  received: string[];
  connections: Set<Socket>;
  close(): Promise<void>;
}

/** `answer` is called with what arrived so far on a connection, each time something does; what it returns is said. */
export async function openRawUpstream(
  answer: (text: string, socket: Socket, count: number) => string | undefined,
  id = 'raw',
): Promise<RawUpstream> {
  const received: string[] = [];
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    const index = received.push('') - 1;
    let seen = 0;
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1');
      const said = answer((received[index] ?? '').slice(seen), socket, index);
      if (said === undefined) return;
      seen = received[index]?.length ?? 0;
      socket.write(said, 'latin1');
    });
  });
  const instance = await listen(server, id);
  return { instance, received, connections, close: () => closeAll(server, connections) };
}

/** Answers each whole request without a body with the same bytes. */
export const always = (reply: string) => (text: string) => (text.includes('\r\n\r\n') ? reply : undefined);

export async function openHttpUpstream(
  listener: RequestListener,
  id = 'http',
): Promise<{ instance: Instance; server: Server; close(): Promise<void> }> {
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, listener);
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  return { instance: await listen(server, id), server, close: () => closeAll(server, connections) };
}

async function listen(server: Server, id: string): Promise<Instance> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('not listening');
  return { id, address: { host: '127.0.0.1', port: address.port } };
}

async function closeAll(server: Server, connections: Set<Socket>) {
  const closed = once(server, 'close');
  server.close();
  for (const socket of connections) socket.destroy();
  await closed;
}

const stillMs = 800;
const stillLooksMin = 20;

/** Waits until the condition holds; a test that waits in vain fails by its time limit. */
export async function until(holds: () => boolean) {
  while (!holds()) await sleep(5);
}

/** The amount once it has stopped changing for a while, in which everybody had a turn. */
export async function standingStill(amount: () => number): Promise<number> {
  for (let before = -1, stillLooks = 0; ;) {
    stillLooks = before === amount() ? stillLooks + 1 : 0;
    if (stillLooks === stillLooksMin) return before;
    before = amount();
    await sleep(stillMs / stillLooksMin);
  }
}
