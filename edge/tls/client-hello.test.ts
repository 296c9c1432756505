import { expect, test } from 'vitest';
import { helloBytesMax, readClientHello } from './client-hello.ts';

const record = (payload: Buffer, type = 22) =>
  Buffer.concat([Buffer.from([type, 3, 1, payload.length >>> 8, payload.length & 255]), payload]);
const message = Buffer.concat([Buffer.from([1, 0, 0, 20]), Buffer.from('what the client says')]);
const cut = Array.from({ length: message.length }, (_, index) => record(message.subarray(index, index + 1)));

test('the first message is found however it is cut, by the network and by TLS', () => {
  for (const whole of [record(message), Buffer.concat(cut), Buffer.concat([record(message), record(Buffer.from('more'))])])
    expect(readClientHello(whole)).toEqual(message);
  for (const whole of [record(message), Buffer.concat(cut)])
    for (let length = 0; length < whole.length; length++) expect(readClientHello(whole.subarray(0, length))).toBe('more');
});

test('what is not a first message, or is larger than one may be, is not waited for', () => {
  expect(readClientHello(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe('none');
  expect(readClientHello(Buffer.from('G'))).toBe('none');
  expect(readClientHello(record(Buffer.from([2, 0, 0, 1, 1])))).toBe('none');
  expect(readClientHello(record(message, 23))).toBe('none');
  expect(readClientHello(record(Buffer.alloc(0)))).toBe('none');
  const endless = Buffer.concat([Buffer.from([22, 3, 1, 255, 255, 1, 255, 255, 255]), Buffer.alloc(helloBytesMax)]);
  expect(readClientHello(endless)).toBe('none');
});
