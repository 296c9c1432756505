import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openOutbound } from '../../drivers/outbound/outbound.ts';
import { pauseOf } from './send-lane.ts';
import { secondsOf, sendRequest } from './send-request.ts';

const outbound = openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] });

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path?token=secret`;
}

test.for([
  [200, 'delivered'],
  [204, 'delivered'],
  [302, 'refused'],
  [400, 'refused'],
  [401, 'refused'],
  [404, 'refused'],
  [410, 'refused'],
  [408, 'failed'],
  [429, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
] as const)('a receiver that answers %i: %s', async ([status, outcome]) => {
  const url = await serve((_, reply) => void reply.writeHead(status, { location: 'http://127.0.0.1:1/' }).end());
  expect((await sendRequest(outbound, { url })).outcome).toBe(outcome);
});

test('who never answers, or is not there, may be there later; who must not be visited never is', async () => {
  const silent = await serve(() => {});
  expect((await sendRequest(outbound, { url: silent, secondsMax: 0.2 })).outcome).toBe('failed');
  expect((await sendRequest(outbound, { url: 'http://127.0.0.1:1/' })).outcome).toBe('failed');
  const strict = openOutbound({ allowPrivateAddresses: [] });
  expect(await sendRequest(strict, { url: 'http://127.0.0.1/' })).toMatchObject({
    outcome: 'refused',
    trouble: expect.stringContaining('not a public'),
  });
});

test('what is shown of a request has no secrets, and of a reply no more than so much', async () => {
  const url = await serve((_, reply) => void reply.end('x'.repeat(200_000)));
  const asked = { url: url.replace('//', '//user:password@'), method: 'POST', headers: { authorization: 'secret' }, body: 'hello' };
  const sent = await sendRequest(outbound, asked);
  expect(sent).toMatchObject({
    outcome: 'delivered',
    request: { method: 'POST', url: `${new URL(url).origin}/…`, bytes: 5 },
    response: { status: 200 },
  });
  expect(JSON.stringify(sent)).not.toMatch(/secret|password/);
  expect(JSON.stringify(sent).length).toBeLessThan(5000);
});

test('a receiver that repeats what it was sent does not make its secrets known', async () => {
  const url = await serve(
    (request, reply) => void reply.writeHead(404).end(`Cannot POST ${request.url}: ${request.headers.authorization} key-in-body`),
  );
  const sent = await sendRequest(outbound, { url, method: 'POST', headers: { authorization: 'Bearer very-secret' }, body: 'key-in-body' }, [
    'key-in-body',
  ]);
  expect(sent.response).toMatchObject({ status: 404, body: 'Cannot POST [secret]: [secret] [secret]' });
});

test.for<[string | undefined, number | undefined]>([
  ['120', 120],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 60],
  ['soon', undefined],
  ['-5', undefined],
  [undefined, undefined],
])('retry-after %s is %s seconds', ([text, seconds]) => {
  expect(secondsOf(text, 0)).toBe(seconds);
});

test('pauses grow up to an hour, and a receiver cannot ask for more', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 100].map((failures) => pauseOf(failures))).toEqual([0, 5, 20, 80, 320, 1280, 3600, 3600]);
  expect([pauseOf(1, 60), pauseOf(1, 1e9), pauseOf(0, 60)]).toEqual([60, 3600, 0]);
});
