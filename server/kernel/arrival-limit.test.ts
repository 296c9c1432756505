import fastify from 'fastify';
import { createConnection, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limitArrival } from './arrival-limit.ts';

const http = fastify();
limitArrival(http, 0.2);
let arrives = () => {};
http.addHook('onRequest', async () => arrives());
http.post('/', async () => 'whole');
http.post('/slow', { config: { mayTakeLong: true } }, async () => 'whole');
beforeAll(async () => void (await http.listen({ host: '127.0.0.1', port: 0 })));
afterAll(() => http.close());

/** What is answered to a body whose second half comes late. */
async function sendInHalves(path: string): Promise<string> {
  const socket = createConnection((http.server.address() as AddressInfo).port, '127.0.0.1');
  let said = '';
  socket
    .setEncoding('utf8')
    .on('data', (text: string) => (said += text))
    .on('error', () => {});
  const arrived = new Promise<void>((resolve) => (arrives = resolve));
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nab`);
  // From when the time is counted: of two timers in one process the shorter ends first, however late both are.
  await arrived;
  await sleep(500);
  if (socket.writable) socket.write('cd');
  await expect.poll(() => said).not.toBe('');
  socket.destroy();
  return said;
}

test('a body that does not arrive in time is given up, except where it may take long', async () => {
  expect(await sendInHalves('/')).toContain('408');
  expect(await sendInHalves('/slow')).toContain('whole');
  expect((await http.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' }, payload: 'x' })).body).toBe('whole');
});
