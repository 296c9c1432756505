/**
 * The line between a terminal in a browser and a shell. Bytes are binary messages, both ways. Text messages are JSON: from the browser the size of its
 * screen, to the browser how it ended. Nothing goes faster than the slower end takes it, in either direction.
 */
import { PassThrough, type Readable } from 'node:stream';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { WebSocket } from 'ws';
import type { Line } from '../../drivers/ssh/ssh-server.ts';

const cellsMax = 1000;
const unsentBytesMax = 2 ** 20;
const pingMilliseconds = 30_000;

const Size = Type.Object({
  columns: Type.Integer({ minimum: 1, maximum: cellsMax }),
  rows: Type.Integer({ minimum: 1, maximum: cellsMax }),
});

export function openWebsocketLine(socket: WebSocket, gone: AbortSignal): Line {
  const input = new PassThrough();
  let listener: Parameters<Line['listen']>[0] | undefined;
  let size: [columns: number, rows: number] | undefined;
  const resize = (text: string) => {
    const asked = sizeIn(text);
    if (!asked) return socket.close(1003, 'A text message is a size, such as {"columns": 80, "rows": 24}.');
    size = [asked.columns, asked.rows];
    return listener?.resize(...size);
  };
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) return resize(data.toString());
    if (!input.write(data)) socket.pause();
    return undefined;
  });
  input.on('drain', () => socket.resume());
  gone.addEventListener('abort', () => input.end(), { once: true });
  keepAlive(socket, gone);
  const say = (sentence: string) => void write(socket, gone, Buffer.from(`${sentence}\r\n`));
  const end = (exitCode: number) => {
    if (gone.aborted) return;
    socket.send(JSON.stringify({ exit_code: exitCode }));
    socket.close(1000);
  };
  return {
    input,
    gone,
    say,
    end,
    refuse: (sentence) => {
      say(sentence);
      end(1);
    },
    listen: (now) => {
      listener = now;
      if (size) now.resize(...size);
    },
    send: async (output, errors) => {
      await Promise.all([output, ...(errors ? [errors] : [])].map((each) => sendAll(socket, gone, each)));
    },
  };
}

function sizeIn(text: string): { columns: number; rows: number } | undefined {
  try {
    const asked: unknown = JSON.parse(text);
    return Value.Check(Size, asked) ? asked : undefined;
  } catch {
    return undefined;
  }
}

async function sendAll(socket: WebSocket, gone: AbortSignal, output: Readable) {
  // Whoever made the stream decides what becomes of it once nobody listens any more.
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    await write(socket, gone, Buffer.from(chunk as Uint8Array));
    if (gone.aborted) return;
  }
}

/** Answers when there is room for more, or nobody to take it. */
const write = (socket: WebSocket, gone: AbortSignal, bytes: Buffer) =>
  new Promise<void>((resolve) => {
    if (gone.aborted) return resolve();
    const done = () => {
      gone.removeEventListener('abort', done);
      resolve();
    };
    gone.addEventListener('abort', done, { once: true });
    socket.send(bytes, done);
    if (socket.bufferedAmount < unsentBytesMax) done();
  });

/** A browser that went away without a word is noticed, and proxies on the way see that the line is in use. */
function keepAlive(socket: WebSocket, gone: AbortSignal) {
  let isHeard = true;
  socket.on('pong', () => (isHeard = true));
  const timer = setInterval(() => {
    if (!isHeard) return socket.terminate();
    isHeard = false;
    return socket.ping();
  }, pingMilliseconds);
  gone.addEventListener('abort', () => clearInterval(timer), { once: true });
}
