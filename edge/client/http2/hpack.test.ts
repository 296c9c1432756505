import { expect, test } from 'vitest';
import { FrameBuffer } from './frame-buffer.ts';
import { HpackDecoder } from './hpack-decoder.ts';
import { HpackEncoder } from './hpack-encoder.ts';

const bytesOf = (hexadecimal: string) => Buffer.from(hexadecimal.replaceAll(' ', ''), 'hex');
const openDecoder = () => new HpackDecoder(32 * 1024, 100);

test('blocks of RFC 7541 (C.4 and C.6) are read as it says, with their tables', () => {
  const requests = openDecoder();
  const listed = (block: string) => requests.decode(bytesOf(block))?.list;
  const start = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'];
  expect(listed('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).toEqual(start);
  expect(listed('8286 84be 5886 a8eb 1064 9cbf')).toEqual([...start, 'cache-control', 'no-cache']);
  const last = listed('8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf');
  expect(last?.slice(-4)).toEqual([':authority', 'www.example.com', 'custom-key', 'custom-value']);
});

const encoded = (encoder: HpackEncoder, status: number | undefined, lines: string) => {
  const out = new FrameBuffer();
  encoder.encode(out, status, lines);
  return Buffer.from(out.written);
};

test('what is written is read again, smaller the second time, and also after the table was full many times', () => {
  const [encoder, decoder] = [new HpackEncoder(), openDecoder()];
  for (let number = 0; number < 300; number++) {
    const name = `x-${number % 90}`;
    const lines = `Server: a\r\nX-Long: ${'é'.repeat(100)}\r\n${name}: ${number}\r\nConnection: close\r\nSet-Cookie: a=${number}\r\n`;
    if (number === 100) encoder.limitTable(100);
    if (number === 150) encoder.limitTable(64 * 1024);
    const block = encoded(encoder, number % 2 === 0 ? 200 : 418, lines);
    const list = [':status', number % 2 === 0 ? '200' : '418', 'server', 'a', 'x-long', 'é'.repeat(100), name, String(number)];
    expect(decoder.decode(block)?.list).toEqual([...list, 'set-cookie', `a=${number}`]);
    expect(decoder.decode(encoded(encoder, 200, 'Server: a\r\n'))?.list).toEqual([':status', '200', 'server', 'a']);
  }
  expect(encoded(encoder, 200, 'Server: a\r\n')).toHaveLength(2);
});

test('a block too large for a frame is cut, and only its last part says that it ends', () => {
  const out = new FrameBuffer();
  const encoder = new HpackEncoder();
  const lines = Array.from({ length: 50 }, (_, index) => `x-${index}: ${'v'.repeat(1000)}\r\n`).join('');
  out.headers(7, true, (into) => encoder.encode(into, 200, lines));
  const frames: number[][] = [];
  for (let at = 0; at < out.length; at += 9 + out.written.readUIntBE(at, 3))
    frames.push([out.written[at + 3] ?? 0, out.written[at + 4] ?? 0, out.written.readUInt32BE(at + 5)]);
  expect(frames).toEqual([
    [1, 1, 7],
    [9, 0, 7],
    [9, 0, 7],
    [9, 4, 7],
  ]);
});
