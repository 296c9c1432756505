import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDomainProofs } from './domain-proofs.ts';

const pages: Record<string, { status: number; text: string; location?: string }> = {
  '/proof': { status: 200, text: 'the proof\n' },
  '/moved': { status: 302, text: '', location: '/proof' },
  '/missing': { status: 404, text: 'the proof' },
  '/long': { status: 200, text: 'the proof'.padEnd(10_000) },
};
const server = createServer(({ url = '', headers }, reply) => {
  const { status, text, location } = pages[url] ?? { status: 404, text: '' };
  const isMeant = headers.host?.startsWith('127.0.0.1') ?? false;
  reply.writeHead(isMeant ? status : 421, location === undefined ? {} : { location }).end(text);
});
let httpPort = 0;
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  httpPort = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

test('a page is a proof where it answers with the text and nothing else, itself and not by leading elsewhere', async () => {
  const { hasPage } = openDomainProofs({ allowPrivateAddresses: ['127.0.0.0/8'], httpPort });
  const paths = ['/proof', '/moved', '/missing', '/long', '/absent'];
  expect(await Promise.all(paths.map((path) => hasPage('127.0.0.1', path, 'the proof')))).toEqual([true, false, false, false, false]);
  expect(await hasPage('127.0.0.1', '/proof', 'another')).toBe(false);
});

test('addresses that are not public are not visited, and what cannot be reached proves nothing', async () => {
  const { hasPage } = openDomainProofs({ allowPrivateAddresses: [], httpPort });
  expect(await hasPage('127.0.0.1', '/proof', 'the proof')).toBe(false);
  const unreachable = openDomainProofs({ allowPrivateAddresses: ['127.0.0.0/8'], nameServers: ['127.0.0.1:9'], httpPort: 9 });
  expect(await unreachable.hasPage('127.0.0.1', '/proof', 'the proof')).toBe(false);
  expect(await unreachable.hasText('_challenge.example.org', 'the proof')).toBe(false);
});
