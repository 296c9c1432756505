import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely, createServer as createSecureServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { Outgoing, unsentBytesMax } from './outgoing.ts';

const lateMilliseconds = 200;
const server = createServer();
const authority = testAuthority();
const { certificate, key } = authority.issue(['a.test']);
const secureServer = createSecureServer({ cert: certificate, key });
const sockets: Socket[] = [];
beforeAll(async () => {
  for (const each of [server, secureServer]) await once(each.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const each of [server, secureServer]) each.close();
});

async function pair(isSecure = false): Promise<{ writer: Socket; reader: Socket }> {
  const accepted = isSecure ? once(secureServer, 'secureConnection') : once(server, 'connection');
  const { port } = (isSecure ? secureServer : server).address() as AddressInfo;
  const place = { port, host: '127.0.0.1' };
  const reader = isSecure ? connectSecurely({ ...place, servername: 'a.test', ca: authority.certificate }) : connect(place);
  const [writer] = (await accepted) as [Socket];
  sockets.push(reader, writer);
  return { writer, reader };
}

/** Texts short enough to go out one by one, each turn of the loop one, with a large buffer in between now and then. */
const pieceOf = (number: number, isTextAlone: boolean): string | Buffer =>
  number % 50 === 49 && !isTextAlone ? Buffer.alloc(40_000, number % 256) : `${number}:`.padEnd(3000 + (number % 7), 'é');

test.for([
  { over: 'TCP', isSecure: false, isTextAlone: false },
  { over: 'TLS', isSecure: true, isTextAlone: false },
  { over: 'TLS as text alone', isSecure: true, isTextAlone: true },
])(
  'what is written over $over to one who reads late arrives whole and in order, and the writer is told to wait meanwhile',
  async ({ isSecure, isTextAlone }) => {
    const { writer, reader } = await pair(isSecure);
    reader.pause();
    let hasRoom = () => {};
    const out = new Outgoing(writer, () => hasRoom());
    const [written, read] = [createHash('sha256'), createHash('sha256')];
    const arrived = new Promise((resolve) => reader.on('data', (chunk) => read.update(chunk)).on('end', () => resolve(undefined)));
    reader.pause();
    let [waits, most] = [0, 0];
    for (let number = 0; number < 4000; number++) {
      const piece = pieceOf(number, isTextAlone);
      written.update(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
      const room = new Promise<void>((resolve) => (hasRoom = resolve));
      if (!out.write(piece)) {
        if (waits++ === 0) setTimeout(() => reader.resume(), lateMilliseconds);
        most = Math.max(most, out.bytesInSocket);
        await room;
      } else await new Promise((resolve) => setImmediate(resolve));
    }
    out.end();
    await arrived;
    expect(read.digest('hex')).toBe(written.digest('hex'));
    expect(waits).toBeGreaterThan(0);
    expect(most).toBeLessThan(2 * unsentBytesMax);
    expect(out.bytesInSocket).toBe(0);
  },
);

test('a writer whose reader has gone hears of the end, not of an error that nobody handles', async () => {
  const { writer, reader } = await pair();
  const out = new Outgoing(writer, () => {});
  writer.on('error', () => {});
  const closed = once(writer, 'close');
  reader.resetAndDestroy();
  const end = Date.now() + 5000;
  while (!writer.destroyed && Date.now() < end) {
    out.write('anybody there?');
    await sleep(5);
  }
  await closed;
  expect(out.bytesInSocket).toBe(0);
});
