import { execFile } from 'node:child_process';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecrets } from '../../../kernel/secrets.ts';
import type { Issuer, KeyedCertificate } from '../certificates.ts';
import { issue, issuerConformance } from '../conformance.ts';
import { alternativeNames, forServers, isNoAuthority, ownKey, signersKey } from '../x509/extensions.ts';
import { factsOf } from '../x509/facts.ts';
import { newKey, writeCertificate } from '../x509/write-certificate.ts';
import { isWithin, makeAuthority, openAuthority, type StoredAuthority } from './authority.ts';

const run = promisify(execFile);
const secrets = openSecrets([Buffer.alloc(32, 7)]);
const domain = 'offshoot.localhost';
const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
const rootFile = join(folder, 'root.pem');

let stored: StoredAuthority;
let issuer: Issuer;
let keyed: KeyedCertificate;

beforeAll(async () => {
  stored = await makeAuthority({ title: `Offshoot at ${domain}`, names: [domain, 'localhost'], addresses: ['127.0.0.1', '::1'] }, secrets);
  writeFileSync(rootFile, stored.certificate);
  issuer = openAuthority(stored, secrets);
  keyed = await issue(issuer, { names: [domain, `*.${domain}`, '127.0.0.1'] });
});
afterAll(() => rmSync(folder, { recursive: true }));

issuerConformance('an authority of our own', () =>
  Promise.resolve({
    open: () => openAuthority(JSON.parse(JSON.stringify(stored)) as StoredAuthority, secrets),
    domain,
    foreignName: 'www.example.org',
    roots: () => Promise.resolve([stored.certificate]),
    isTidy: () => true,
    close: () => Promise.resolve(),
  }),
);

const verified = async (certificate: string, ...names: readonly string[]) => {
  const file = join(folder, 'leaf.pem');
  writeFileSync(file, certificate);
  const args = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', rootFile, ...names, file];
  return run('openssl', args).then(
    ({ stdout }) => stdout.trim().endsWith('OK'),
    ({ stderr }: { stderr: string }) => stderr,
  );
};

/** A certificate signed with the root's own key, regardless of what the root may sign. */
async function forged(names: readonly string[]) {
  const key = await newKey();
  const signingKey = createPrivateKey(secrets.open('certificates.authority_key', stored.sealedKey));
  const times = { validFrom: new Date(Date.now() - 1000), expiresAt: new Date(Date.now() + 100_000) };
  const publicKey = createPublicKey(key);
  const extensions = [isNoAuthority, forServers, alternativeNames(names, true), ownKey(publicKey), signersKey(createPublicKey(signingKey))];
  return writeCertificate({
    subject: undefined,
    publicKey,
    issuer: `Offshoot at ${domain}`,
    signingKey,
    ...times,
    extensions,
  });
}

describe('clients that trust the authority', () => {
  let port: number;
  const server = createServer({}, (_, response) => response.end('hello'));
  beforeAll(async () => {
    server.setSecureContext({ cert: [keyed.certificate, ...keyed.chain].join(''), key: keyed.key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  test('openssl: its names, and what is below a wildcard', async () => {
    for (const name of [domain, `preview-1.${domain}`]) expect(await verified(keyed.certificate, '-verify_hostname', name)).toBe(true);
    expect(await verified(keyed.certificate, '-verify_ip', '127.0.0.1')).toBe(true);
    expect(await verified(keyed.certificate, '-verify_hostname', 'example.org')).toContain('hostname mismatch');
  });

  test('curl', async () => {
    const host = `preview-1.${domain}`;
    const { stdout } = await run('curl', [
      '-sS',
      '--cacert',
      rootFile,
      '--resolve',
      `${host}:${port}:127.0.0.1`,
      `https://${host}:${port}/`,
    ]);
    expect(stdout).toBe('hello');
    await expect(run('curl', ['-sS', '--resolve', `${host}:${port}:127.0.0.1`, `https://${host}:${port}/`])).rejects.toThrow(
      'SSL certificate',
    );
  });

  test('Node', async () => {
    const status = await new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, ca: stored.certificate, servername: `www.${domain}` }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      })
        .once('error', reject)
        .end();
    });
    expect(status).toBe(200);
  });

  test('do not take what it may not sign, even if it did', async () => {
    expect(await verified(await forged([`www.${domain}`]))).toBe(true);
    expect(await verified(await forged(['www.example.org']))).toContain('permitted subtree violation');
    expect(await verified(await forged(['192.0.2.1']))).toContain('permitted subtree violation');
    expect(await verified(await forged(['2001:db8::1']))).toContain('permitted subtree violation');
  });
});

test('its key is sealed, and opens with the key of this installation only', () => {
  expect(JSON.stringify(stored)).not.toContain('PRIVATE KEY');
  expect(() => openAuthority(stored, openSecrets([Buffer.alloc(32, 8)]))).toThrow('sealed with the secret key');
});

test('what it issues lives for ninety days, or as long as it is told, and no longer than the authority', async () => {
  const days = async (lifetimeDays: number, now: Date) => {
    const { certificate } = await issue(openAuthority(stored, secrets, { lifetimeDays, now: () => now }), { names: [domain] });
    return (new X509Certificate(certificate).validToDate.getTime() - now.getTime()) / 86_400_000;
  };
  expect(Math.round(await days(90, new Date()))).toBe(90);
  expect(Math.round(await days(7, new Date()))).toBe(7);
  expect(Math.round(await days(90, new Date(Date.now() + 3640 * 86_400_000)))).toBe(10);
});

test('a certificate is renewed when a third of its life is left', async () => {
  const { renewAt, by } = await issuer.renewal(keyed.certificate);
  expect(by).toBe('lifetime');
  expect((Date.parse(renewAt) - Date.now()) / 86_400_000).toBeGreaterThan(58);
  expect((Date.parse(renewAt) - Date.now()) / 86_400_000).toBeLessThan(61);
});

test('it revokes nothing, and says what to do instead', async () => {
  await expect(issuer.revoke(keyed.certificate)).rejects.toThrow('replace the certificate instead');
});

test('which names are its own', () => {
  const own = { names: ['example.org'], addresses: ['127.0.0.1'] };
  expect(['example.org', '*.example.org', 'a.b.example.org', '127.0.0.1'].map((name) => isWithin(own, name))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['badexample.org', 'org', '*.org', '127.0.0.2'].map((name) => isWithin(own, name))).toEqual([false, false, false, false]);
  expect(factsOf(new X509Certificate(keyed.certificate)).names).toEqual([domain, `*.${domain}`, '127.0.0.1']);
});
