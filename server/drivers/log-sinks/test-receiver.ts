/** An HTTP receiver that keeps what it is sent, for tests, and answers as it is told to. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Decompressed. */
  body: Buffer;
}

/** Answers a request, and says whether its content was taken. */
export type Respond = (response: ServerResponse, received: Received) => boolean | Promise<boolean>;

export const respondWith =
  (status: number, body = '', headers: Record<string, string> = {}): Respond =>
  (response) => {
    response.writeHead(status, headers).end(body);
    return status < 300;
  };

export async function openTestReceiver(port = 0) {
  const receiver = {
    respond: respondWith(200),
    /** All requests, in the order in which they came. */
    asked: [] as Received[],
    /** Those whose content was taken. */
    taken: [] as Received[],
  };
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request;
      const received = { method, path: url, headers, body: gunzipSync(await buffer(request)) };
      receiver.asked.push(received);
      if (await receiver.respond(response, received)) receiver.taken.push(received);
    })().catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: listening } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    port: listening,
    url: `http://127.0.0.1:${listening}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

/** Messages as `httplog` sends them. */
export const messagesIn = (received: readonly Received[]): string[] =>
  received.flatMap(({ body }) => (JSON.parse(body.toString('utf8')) as { message: string }[]).map(({ message }) => message));
