/**
 * Constant load for tests: clients that ask, wait for the whole reply, and ask again, over raw sockets. They do as they are told about keeping the
 * connection and never ask twice, so whatever a person would have seen as an error counts.
 */
import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  port: number;
  host: string;
  path?: string;
  clients: number;
  /** False: a new connection for each request. */
  keepAlive: boolean;
}

export interface LoadResult {
  replies: number;
  failures: string[];
  /** Replies by what they said. */
  said: Record<string, number>;
  connections: number;
  slowestMilliseconds: number;
}

export interface Load {
  result: LoadResult;
  stop(): Promise<LoadResult>;
}

const replySecondsMax = 30;

export function startLoad(options: LoadOptions): Load {
  const result: LoadResult = { replies: 0, failures: [], said: {}, connections: 0, slowestMilliseconds: 0 };
  const stopping = new AbortController();
  const client = async () => {
    let connection: Connection | undefined;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      try {
        connection ??= await openConnection(options.port);
        if (connection.asked === 0) result.connections++;
        const { status, body, closes } = await connection.ask(requestOf(options));
        if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 200)}`);
        result.replies++;
        result.said[body] = (result.said[body] ?? 0) + 1;
        if (closes) connection = closed(connection);
      } catch (error) {
        result.failures.push(
          `${error instanceof Error ? error.message : String(error)} (request ${connection?.asked ?? 0} of its connection)`,
        );
        connection = closed(connection);
      }
      result.slowestMilliseconds = Math.max(result.slowestMilliseconds, performance.now() - startedAt);
    }
    closed(connection);
  };
  const clients = Array.from({ length: options.clients }, client);
  return {
    result,
    async stop() {
      stopping.abort();
      await Promise.all(clients);
      return result;
    },
  };
}

const closed = (connection: Connection | undefined) => {
  connection?.close();
  return undefined;
};

const requestOf = ({ host, path = '/', keepAlive }: LoadOptions) =>
  `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${keepAlive ? '' : 'connection: close\r\n'}\r\n`;

interface Reply {
  status: number;
  body: string;
  closes: boolean;
}

interface Connection {
  asked: number;
  ask(request: string): Promise<Reply>;
  close(): void;
}

async function openConnection(port: number): Promise<Connection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opening = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(opening)).once('error', reject);
  });
  socket.setEncoding('latin1').setTimeout(replySecondsMax * 1000, () => socket.destroy(new Error('no reply in time')));
  let received = '';
  let waiting: { resolve(reply: Reply): void; reject(error: Error): void } | undefined;
  const fail = (error: Error) => waiting?.reject(error);
  socket.on('data', (text: string) => {
    received += text;
    const reply = replyIn(received);
    if (!reply) return;
    received = '';
    waiting?.resolve(reply);
  });
  socket.on('error', fail);
  socket.on('end', () => fail(new Error(`the connection ended after ${received.length} characters of the reply`)));
  socket.on('close', () => fail(new Error('the connection was closed')));
  const connection: Connection = {
    asked: 0,
    ask(request) {
      connection.asked++;
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        if (socket.destroyed || socket.readableEnded) reject(new Error('the connection was closed while it waited for a request'));
        else socket.write(request);
      });
    },
    close: () => socket.destroy(),
  };
  return connection;
}

/** Undefined while it is not whole. */
function replyIn(text: string): Reply | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const rest = text.slice(end + 4);
  const status = Number(head.slice(9, 12));
  const closes = /^connection: *close/im.test(head);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length) ? { status, body: rest, closes } : undefined;
  if (!rest.endsWith('0\r\n\r\n')) return undefined;
  return { status, body: rest.replaceAll(/[0-9a-f]+\r\n(.*?)\r\n/gs, '$1').trimEnd(), closes };
}
