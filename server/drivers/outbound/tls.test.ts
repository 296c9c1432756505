import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testCertificate, type TestCertificate } from '../certificates/x509/test-certificates.ts';
import { openOutbound } from './outbound.ts';

let authority: TestCertificate;
let port: number;
let close: () => void;
/** Names of all kinds lead to this machine. */
const outbound = openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'], look: async () => [{ address: '127.0.0.1' }] });

beforeAll(async () => {
  authority = await testCertificate('Authority', { isAuthority: true });
  const { pem, keyPem } = await testCertificate('Sink', { by: authority, names: ['sink.example.org'] });
  const server = createServer({ cert: pem, key: keyPem }, (_, reply) => void reply.end('hello'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterAll(() => close());

const request = (host: string, options: object = {}) => outbound.request({ url: `https://${host}:${port}/`, ...options });

describe('over TLS, a server', () => {
  test('whose certificate nobody here trusts is not spoken with', async () => {
    await expect(request('sink.example.org')).rejects.toMatchObject({ reason: 'untrusted' });
    await expect(outbound.connect({ host: 'sink.example.org', port, tls: { verify: true } })).rejects.toMatchObject({
      reason: 'untrusted',
    });
  });

  test('is spoken with by its name, and under no other', async () => {
    const authorities = [authority.pem];
    expect((await request('sink.example.org', { authorities })).body.toString()).toBe('hello');
    await expect(request('other.example.org', { authorities })).rejects.toMatchObject({ reason: 'untrusted' });
    const tls = { verify: true, authorities };
    (await outbound.connect({ host: 'sink.example.org', port, tls })).destroy();
    await expect(outbound.connect({ host: 'other.example.org', port, tls })).rejects.toMatchObject({ reason: 'untrusted' });
  });

  test('need show nothing where its owner says so, and that holds for this request alone', async () => {
    expect((await request('other.example.org', { tlsVerify: false })).body.toString()).toBe('hello');
    await expect(request('other.example.org')).rejects.toMatchObject({ reason: 'untrusted' });
    (await outbound.connect({ host: 'other.example.org', port, tls: { verify: false } })).destroy();
  });
});
