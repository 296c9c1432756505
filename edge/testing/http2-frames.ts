/** A client of HTTP/2 that says whatever a test has it say, frame by frame, and hears the frames that come back. */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { preface } from '../client/http2/frame-reader.ts';
import { frameTypes } from '../client/http2/frames.ts';
import type { SecureTestEdge } from './secure-edge.ts';

export const frame = (type: number, flags: number, stream: number, payload: Buffer | number[] = []) => {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUIntBE(bytes.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
};

/** A header as HPACK has it in its plainest form: not indexed, not compressed; up to 126 characters. */
export const literal = (name: string, value: string) =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name, 'latin1'), Buffer.from([value.length]), Buffer.from(value, 'latin1')]);

export const requestBlock = (headers: Record<string, string> = {}) => {
  const said = { ':method': 'GET', ':scheme': 'https', ':authority': 'a.test', ':path': '/', ...headers };
  return Buffer.concat(Object.entries(said).map(([name, value]) => literal(name, value)));
};

export interface HeardFrame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

export interface RawHttp2 extends AsyncDisposable {
  socket: TLSSocket;
  heard: HeardFrame[];
  /** The code of the last GOAWAY; undefined until there is one. */
  goneWith(): number | undefined;
  /** The code that the stream was reset with. */
  resetWith(stream: number): number | undefined;
  /** The first byte of the block of headers that answers the stream. */
  answerOf(stream: number): number | undefined;
}

export async function openRawHttp2({ securePort }: SecureTestEdge, authority: string, hello: Buffer = frame(frameTypes.settings, 0, 0)) {
  const socket = connect({ host: '127.0.0.1', port: securePort, servername: 'a.test', ca: authority, ALPNProtocols: ['h2'] });
  const heard: HeardFrame[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let end; bytes.length >= 9 && bytes.length >= (end = 9 + bytes.readUIntBE(0, 3)); bytes = bytes.subarray(end))
      heard.push({ type: bytes[3] ?? 0, flags: bytes[4] ?? 0, stream: bytes.readUInt32BE(5), payload: bytes.subarray(9, end) });
  });
  await once(socket, 'secureConnect');
  socket.write(Buffer.concat([preface, hello]));
  const find = (type: number, stream: number) => heard.find((it) => it.type === type && it.stream === stream);
  return {
    socket,
    heard,
    goneWith: () => find(frameTypes.goAway, 0)?.payload.readUInt32BE(4),
    resetWith: (stream) => find(frameTypes.reset, stream)?.payload.readUInt32BE(0),
    answerOf: (stream) => find(frameTypes.headers, stream)?.payload[0],
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  } satisfies RawHttp2;
}
