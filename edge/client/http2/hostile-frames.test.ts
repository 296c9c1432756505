import { afterAll, beforeAll, expect, test } from 'vitest';
import { testAuthority } from '../../testing/certificates.ts';
import { environmentOf, upstreamRoute } from '../../testing/edge.ts';
import { frame, literal, openRawHttp2, requestBlock } from '../../testing/http2-frames.ts';
import { openSecureTestEdge, type SecureTestEdge } from '../../testing/secure-edge.ts';
import { openHttpUpstream } from '../../testing/upstream.ts';
import { errorCodes } from './error-codes.ts';
import { flags, frameTypes, settings } from './frames.ts';

const authority = testAuthority();
const { data, headers, reset, ping, continuation, priority, windowUpdate, pushPromise, goAway } = frameTypes;
const [endHeaders, wholeRequest] = [flags.endHeaders, flags.endHeaders | flags.endStream];
const [indexed200, indexed400] = [0x88, 0x8c];
let made: SecureTestEdge;
let bodies: number[] = [];

beforeAll(async () => {
  const upstream = await openHttpUpstream((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      bodies.push(bytes);
      response.end('ok');
    });
  });
  const routes = [upstreamRoute('a.test', '/', { scheme: 'https', original_url: 'https://{default}/' })];
  made = await openSecureTestEdge([environmentOf([upstream.instance], { routes })]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
});
afterAll(() => made[Symbol.asyncDispose]());

const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const setting = (id: number, value: number) => frame(frameTypes.settings, 0, 0, Buffer.concat([Buffer.from([0, id]), number(value)]));
const ask = (stream: number, more: Record<string, string> = {}, flag: number = wholeRequest) =>
  frame(headers, flag, stream, requestBlock(more));
const post = (stream: number, more: Record<string, string> = {}) => ask(stream, { ':method': 'POST', ...more }, endHeaders);
const times = (count: number, make: (index: number) => Buffer) => Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
const odd = (index: number) => 2 * index + 1;

test.for([
  [
    'requests that are given up at once, again and again',
    times(1200, (index) => Buffer.concat([ask(odd(index)), frame(reset, 0, odd(index), number(8))])),
    'tooMuch',
  ],
  ['requests that break their own rules, again and again', times(1200, (index) => ask(odd(index), { 'X-Capital': 'a' })), 'tooMuch'],
  ['more pings than anybody needs', times(1500, () => frame(ping, 0, 0, Buffer.alloc(8))), 'tooMuch'],
  ['more settings than anybody needs', times(1500, () => frame(frameTypes.settings, 0, 0)), 'tooMuch'],
  ['data that holds nothing, again and again', Buffer.concat([post(1), times(1500, () => frame(data, 0, 1))]), 'tooMuch'],
  [
    'headers that go on in empty frames',
    Buffer.concat([frame(headers, 0, 1, requestBlock()), times(20, () => frame(continuation, 0, 1))]),
    'tooMuch',
  ],
  [
    'headers that go on for too long',
    Buffer.concat([frame(headers, 0, 1, requestBlock()), times(3, () => frame(continuation, 0, 1, Buffer.alloc(16_000)))]),
    'tooMuch',
  ],
  ['another frame between headers', Buffer.concat([frame(headers, 0, 1, requestBlock()), frame(ping, 0, 0, Buffer.alloc(8))]), 'protocol'],
  ['headers that go on without a beginning', frame(continuation, endHeaders, 1, requestBlock()), 'protocol'],
  [
    'headers that go on in another stream',
    Buffer.concat([frame(headers, 0, 1, requestBlock()), frame(continuation, endHeaders, 3)]),
    'protocol',
  ],
  ['an entry of a table that is not there', frame(headers, wholeRequest, 1, [0xff, 0x20]), 'compression'],
  ['a number that does not end', frame(headers, wholeRequest, 1, Buffer.alloc(20, 0xff)), 'compression'],
  ['a text that is longer than its block', frame(headers, wholeRequest, 1, [0, 100, 97]), 'compression'],
  ['a text whose code holds the mark for the end', frame(headers, wholeRequest, 1, [0, 0x84, 255, 255, 255, 255, 0]), 'compression'],
  ['a table that is larger than allowed', frame(headers, wholeRequest, 1, [0x3f, 0xff, 0xff, 0x03]), 'compression'],
  ['a table whose size changes between headers', frame(headers, wholeRequest, 1, [0x82, 0x20]), 'compression'],
  ['a stream with an even number', ask(2), 'protocol'],
  ['a stream that was passed over', Buffer.concat([ask(5), ask(3)]), 'protocol'],
  ['data before a request', frame(data, 0, 1, [1]), 'protocol'],
  ['data for no stream', frame(data, 0, 0, [1]), 'protocol'],
  ['headers for no stream', frame(headers, wholeRequest, 0, requestBlock()), 'protocol'],
  ['more padding than frame', Buffer.concat([post(1), frame(data, flags.padded, 1, [9, 1, 2])]), 'protocol'],
  ['a frame that is too large', frame(data, 0, 1, Buffer.alloc(16_385)), 'frameSize'],
  ['a promise of a client', frame(pushPromise, endHeaders, 1, requestBlock()), 'protocol'],
  ['a ping of the wrong size', frame(ping, 0, 0, [1]), 'frameSize'],
  ['a goodbye of the wrong size', frame(goAway, 0, 0, [1]), 'frameSize'],
  ['a priority of the wrong size', frame(priority, 0, 1, [1]), 'frameSize'],
  ['a stream that depends on itself', frame(priority, 0, 1, [0, 0, 0, 1, 0]), 'protocol'],
  ['the reset of a stream that never was', frame(reset, 0, 1, number(8)), 'protocol'],
  ['a window that is opened by nothing', frame(windowUpdate, 0, 0, number(0)), 'protocol'],
  ['a window that is larger than one can be', frame(windowUpdate, 0, 0, number(2 ** 31 - 1)), 'flowControl'],
  ['a first window that is larger than one can be', setting(settings.initialWindowSize, 2 ** 31), 'flowControl'],
  [
    'windows of streams that grow beyond bounds',
    Buffer.concat([post(1), frame(windowUpdate, 0, 1, number(2 ** 30)), setting(settings.initialWindowSize, 2 ** 31 - 1)]),
    'flowControl',
  ],
  ['frames that are larger than can be', setting(settings.frameSizeMax, 2 ** 24), 'protocol'],
] as [string, Buffer, keyof typeof errorCodes][])('the connection ends: %s', async ([, said, code]) => {
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.write(said);
  await expect.poll(client.goneWith).toBe(errorCodes[code]);
});

test('a connection that begins with anything but its settings ends', async () => {
  await using client = await openRawHttp2(made, authority.certificate, ask(1));
  await expect.poll(client.goneWith).toBe(errorCodes.protocol);
});

test.for([
  ['a capital in a name', { 'X-Capital': 'a' }],
  ['a header of one connection', { connection: 'close' }],
  ['a blank before a value', { 'x-one': ' a' }],
  ['an unknown header of the protocol', { ':unknown': 'a' }],
  ['a header of replies', { ':status': '200' }],
  ['no path', { ':path': '' }],
  ['other encodings than trailers', { te: 'gzip' }],
  ['a protocol without CONNECT', { ':protocol': 'websocket' }],
] as [string, Record<string, string>][])('the request alone is given up: %s', async ([, more]) => {
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.write(Buffer.concat([ask(1, more), ask(3)]));
  await expect.poll(() => [client.resetWith(1), client.answerOf(3)]).toEqual([errorCodes.protocol, indexed200]);
});

test('headers of the protocol come first, and each once', async () => {
  await using client = await openRawHttp2(made, authority.certificate);
  const late = Buffer.concat([literal('x-one', 'a'), requestBlock()]);
  const twice = Buffer.concat([literal(':path', '/'), requestBlock()]);
  client.socket.write(Buffer.concat([frame(headers, wholeRequest, 1, late), frame(headers, wholeRequest, 3, twice), ask(5)]));
  await expect.poll(() => [client.resetWith(1), client.resetWith(3), client.answerOf(5)]).toEqual([1, 1, indexed200]);
});

test('a small block that stands for megabytes of headers is refused, and the connection goes on', async () => {
  await using client = await openRawHttp2(made, authority.certificate);
  const entry = Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 0x1e]), Buffer.alloc(4000, 'b')]);
  client.socket.write(frame(headers, wholeRequest, 1, Buffer.concat([requestBlock(), entry, Buffer.alloc(10_000, 0xbe)])));
  client.socket.write(ask(3));
  await expect.poll(() => client.answerOf(3)).toBe(indexed200);
  const refused = client.heard.find(({ type, stream }) => type === headers && stream === 1);
  expect(refused?.payload.toString('latin1')).toContain('431');
});

test.for([
  ['more than', frame(data, flags.endStream, 1, Buffer.alloc(11))],
  ['less than', frame(data, flags.endStream, 1, Buffer.alloc(9))],
] as [string, Buffer][])('a body of %s its length is not taken for whole by any application', async ([, said]) => {
  bodies = [];
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.write(Buffer.concat([post(1, { 'content-length': '10' }), said, ask(3)]));
  await expect.poll(() => [client.resetWith(1), client.answerOf(3)]).toEqual([errorCodes.protocol, indexed200]);
  expect(bodies.filter((bytes) => bytes > 0)).toEqual([]);
});

/** An environment whose requests wait, so that nobody takes their bodies. */
async function openHoldingEdge(): Promise<SecureTestEdge> {
  const routes = [upstreamRoute('a.test', '/', { scheme: 'https', original_url: 'https://{default}/' })];
  const holding = await openSecureTestEdge([environmentOf([], { routes, state: 'holding' })]);
  holding.present('a', ['a.test'], authority.issue(['a.test']));
  return holding;
}

test('a client that sends more of a body than its window allows is stopped, and one that keeps to it is not', async () => {
  await using edge = await openHoldingEdge();
  await using holding = await openRawHttp2(edge, authority.certificate);
  const piece = Buffer.alloc(16_384);
  holding.socket.write(Buffer.concat([post(1), times(17, () => frame(data, 0, 1, piece))]));
  await expect.poll(() => holding.resetWith(1)).toBe(errorCodes.flowControl);
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.write(Buffer.concat([post(1), times(16, () => frame(data, 0, 1, piece)), frame(data, flags.endStream, 1)]));
  await expect.poll(() => client.answerOf(1)).toBe(indexed200);
});

test('a hundred requests are taken at a time, and those beyond may be sent again', async () => {
  await using edge = await openHoldingEdge();
  await using client = await openRawHttp2(edge, authority.certificate);
  client.socket.write(times(101, (index) => ask(odd(index))));
  await expect.poll(() => client.resetWith(odd(100))).toBe(errorCodes.refusedStream);
  expect(client.heard.filter(({ type }) => type === reset)).toHaveLength(1);
});

test('frames for a stream that was just answered, or reset here, do no harm', async () => {
  await using client = await openRawHttp2(made, authority.certificate);
  const refused = post(1, { ':method': 'CONNECT' });
  client.socket.write(
    Buffer.concat([refused, frame(data, 0, 1, [1, 2]), frame(windowUpdate, 0, 1, number(1)), frame(priority, 0, 1, [0, 0, 0, 0, 1])]),
  );
  client.socket.write(Buffer.concat([frame(headers, wholeRequest, 1, literal('x-trailer', 'a')), frame(0xfa, 0, 1, [1]), ask(3)]));
  await expect.poll(() => [client.answerOf(1), client.answerOf(3)]).toEqual([indexed400, indexed200]);
  expect(client.goneWith()).toBeUndefined();
});

test('frames are understood however their bytes are cut', async () => {
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.setNoDelay(true);
  const [first, second] = [requestBlock().subarray(0, 20), requestBlock().subarray(20)];
  const said = Buffer.concat([frame(headers, flags.endStream, 1, first), frame(continuation, endHeaders, 1, second)]);
  for (const byte of said) {
    client.socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => client.answerOf(1)).toBe(indexed200);
});
