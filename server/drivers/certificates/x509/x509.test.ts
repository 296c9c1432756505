import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { KeyedCertificate } from '../certificates.ts';
import { addressBytes, addressText, reverseName } from './addresses.ts';
import { integer, oid, readOid, readOne, sequence, time } from './der.ts';
import { factsOf } from './facts.ts';
import { readCertificate, type ReadOptions } from './read-certificate.ts';
import { type TestCertificate, testCertificate } from './test-certificates.ts';
import { keyPem, newKey, pem, writeRequest } from './write-certificate.ts';

let root: TestCertificate;
let middle: TestCertificate;
let lower: TestCertificate;
let leaf: TestCertificate;
let good: KeyedCertificate;

beforeAll(async () => {
  root = await testCertificate('Root', { isAuthority: true });
  middle = await testCertificate('Middle', { isAuthority: true, by: root });
  lower = await testCertificate('Lower', { isAuthority: true, by: middle });
  leaf = await testCertificate('Leaf', { by: lower, names: ['www.example.org', '*.example.org', '192.0.2.1', '2001:db8::1'] });
  good = { certificate: leaf.pem, key: leaf.keyPem, chain: [lower.pem, middle.pem, root.pem] };
});

/** The sentence about each field that is wrong. */
function faultsOf(changed: Partial<KeyedCertificate>, options: ReadOptions = {}): Record<string, string> {
  const read = readCertificate({ ...good, ...changed }, options);
  return read.isGood ? {} : Object.fromEntries(read.faults.map(({ field, sentence }) => [field, sentence]));
}

describe('a certificate that is good', () => {
  test('is read: names, key, who signed it, and how long it is valid', () => {
    const read = readCertificate(good);
    expect(read).toMatchObject({
      isGood: true,
      keyed: { chain: good.chain },
      facts: {
        names: ['www.example.org', '*.example.org', '192.0.2.1', '2001:db8::1'],
        keyType: { algorithm: 'ecdsa', curve: 'P-256' },
        issuer: [{ oid: '2.5.4.3', alias: 'commonName', value: 'Lower' }],
        uses: ['serverAuth'],
        isSelfSigned: false,
        isAuthority: false,
      },
    });
  });

  test('may come with keys in every usual form, with other ends of lines, and blanks around it', () => {
    const sec1 = leaf.key.export({ type: 'sec1', format: 'pem' }).toString();
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    for (const key of [sec1, `${parameters}${sec1}`, leaf.keyPem.replaceAll('\n', '\r\n'), `\n  ${leaf.keyPem}\n\n`])
      expect(readCertificate({ ...good, key })).toMatchObject({ isGood: true, keyed: { key: leaf.keyPem } });
  });

  test('may have an RSA key, also as PKCS #1', async () => {
    const key = await newKey('rsa');
    const rsa = await testCertificate('RSA', { by: lower, names: ['example.org'], key });
    const read = readCertificate({ ...good, certificate: rsa.pem, key: key.export({ type: 'pkcs1', format: 'pem' }).toString() });
    expect(read).toMatchObject({ isGood: true, facts: { keyType: { algorithm: 'rsa', bits: 2048 } }, keyed: { key: keyPem(key) } });
  });

  test('may leave out a root that is known', () => {
    const chain = [lower.pem, middle.pem];
    expect(faultsOf({ chain }, { authorities: [root.pem] })).toEqual({});
  });

  test('may have signed itself', async () => {
    const alone = await testCertificate('Alone', { names: ['example.org'] });
    expect(readCertificate({ certificate: alone.pem, key: alone.keyPem, chain: [] })).toMatchObject({
      isGood: true,
      facts: { isSelfSigned: true },
    });
  });

  test('has its common name as its name, where it has no other', async () => {
    const old = await testCertificate('old.example.org', { by: lower });
    expect(readCertificate({ ...good, certificate: old.pem, key: old.keyPem })).toMatchObject({ facts: { names: ['old.example.org'] } });
  });
});

describe('what is wrong with a certificate is told, by field, with what to do', () => {
  test('what is no PEM, or not what belongs there', () => {
    expect(faultsOf({ certificate: ' ' }).certificate).toContain('is empty; give one certificate');
    expect(faultsOf({ certificate: 'MIIB' }).certificate).toContain('is not in the form of PEM');
    expect(faultsOf({ certificate: leaf.keyPem }).certificate).toContain('holds a private key');
    expect(faultsOf({ certificate: leaf.pem + lower.pem }).certificate).toContain('holds 2 parts');
    expect(faultsOf({ certificate: `Subject: CN=Leaf\n${leaf.pem}` }).certificate).toContain('has text beside it');
    expect(faultsOf({ certificate: pem('CERTIFICATE', Buffer.from('nonsense')) }).certificate).toContain('cannot be read as a certificate');
    expect(faultsOf({ certificate: 'x'.repeat(70_000) }).certificate).toContain('longer than');
    expect(faultsOf({ key: leaf.pem }).key).toContain('holds a certificate');
    expect(faultsOf({ key: pem('PRIVATE KEY', Buffer.from('nonsense')) }).key).toContain('cannot be read as a private key');
    expect(faultsOf({ key: pem('PUBLIC KEY', Buffer.from('nonsense')) }).key).toContain('holds a PUBLIC KEY');
    const locked = leaf.key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }).toString();
    expect(faultsOf({ key: locked }).key).toContain('openssl pkey');
    expect(faultsOf({ chain: [lower.pem, 'MIIB'] })['chain[1]']).toContain('is not in the form of PEM');
  });

  test('every fault is told at once', () => {
    expect(Object.keys(faultsOf({ certificate: 'x', key: 'y', chain: ['z'] }))).toEqual(['certificate', 'key', 'chain[0]']);
  });

  test('a key of another certificate, or of another kind', async () => {
    expect(faultsOf({ key: middle.keyPem })).toEqual({ key: expect.stringContaining('it is of another certificate') as unknown });
    expect(faultsOf({ key: keyPem(await newKey('rsa')) }).key).toContain('has an ECDSA key, and this is RSA');
  });

  test('one that has expired, and one that is not valid yet; also in the chain', async () => {
    const expired = await testCertificate('Expired', { by: lower, names: ['a.org'], days: { from: -9, to: -1 } });
    expect(faultsOf({ certificate: expired.pem, key: expired.keyPem }).certificate).toContain('expired on');
    const early = await testCertificate('Early', { by: lower, names: ['a.org'], days: { from: 1, to: 9 } });
    expect(faultsOf({ certificate: early.pem, key: early.keyPem }).certificate).toContain('is valid only from');
    expect(Object.keys(faultsOf({}, { now: new Date(Date.now() + 40 * 86_400_000) }))).toEqual([
      'certificate',
      'chain[0]',
      'chain[1]',
      'chain[2]',
    ]);
  });

  test('a chain that is out of order says what belongs where', () => {
    expect(faultsOf({ chain: [middle.pem, lower.pem, root.pem] })).toEqual({
      'chain[0]': 'The chain is out of order: chain[1] signed the certificate and belongs in the place of chain[0].',
    });
  });

  test('a chain with a gap, or without its end, names who is missing', () => {
    expect(faultsOf({ chain: [lower.pem, root.pem] })).toEqual({
      'chain[1]': 'chain[1] did not sign chain[0]; in its place belongs the certificate of “Middle”.',
    });
    expect(faultsOf({ chain: [lower.pem] })).toEqual({
      chain: 'The chain is not complete: the certificate of “Middle”, which signed chain[0], is missing. Add it as chain[1].',
    });
    expect(faultsOf({ chain: [] }).chain).toContain('“Lower”, which signed the certificate, is missing. Add it as chain[0].');
  });

  test('a chain that repeats itself, goes on after its root, or is far too long', () => {
    expect(faultsOf({ chain: [leaf.pem, ...good.chain] })['chain[0]']).toContain('the same as one before it');
    expect(faultsOf({ chain: [...good.chain, root.pem] })['chain[3]']).toContain('leave it out');
    expect(faultsOf({ chain: Array.from({ length: 11 }, () => lower.pem) }).chain).toContain('holds 11 certificates');
  });

  test('somebody of the same name who did not sign it', async () => {
    const false_ = await testCertificate('Lower', { isAuthority: true, by: middle });
    expect(Object.keys(faultsOf({ chain: [false_.pem, middle.pem, root.pem] }))).toEqual(['chain[0]']);
  });

  test('one that is an authority, one without names, and one that is not for servers', async () => {
    expect(faultsOf({ certificate: lower.pem, key: lower.keyPem, chain: [middle.pem, root.pem] }).certificate).toContain(
      'that of an authority',
    );
    const nameless = await testCertificate('No host', { by: lower });
    expect(faultsOf({ certificate: nameless.pem, key: nameless.keyPem }).certificate).toContain('names no host');
  });

  test('keys that are too weak, or that browsers do not take', async () => {
    const kinds = {
      'an RSA key of 1024 bits': generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey,
      'an ECDSA key on secp256k1': generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey,
    };
    for (const [words, key] of Object.entries(kinds)) {
      const weak = await testCertificate('Weak', { by: lower, names: ['a.org'], key });
      expect(faultsOf({ certificate: weak.pem, key: weak.keyPem }).certificate).toContain(words);
    }
    const command = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-keyout', '-', '-subj', '/CN=a.org', '-days', '5'];
    const made = execFileSync('openssl', command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const [key = '', certificate = ''] = made.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
    expect(faultsOf({ certificate, key, chain: [] }).certificate).toContain('a key of the kind ed25519');
  });
});

describe('what is written is what others read', () => {
  const openssl = (args: readonly string[], input: Buffer | string) =>
    execFileSync('openssl', args, { input, encoding: 'utf8', stdio: 'pipe' });

  test('requests for certificates, with ECDSA and RSA', async () => {
    for (const type of ['ecdsa', 'rsa'] as const) {
      const key = await newKey(type);
      const request = writeRequest(['example.org', '*.example.org', '192.0.2.1'], key, createPublicKey(key));
      const text = openssl(['req', '-inform', 'DER', '-verify', '-noout', '-text'], request);
      expect(text).toContain('DNS:example.org, DNS:*.example.org, IP Address:192.0.2.1');
    }
  });

  test('certificates, whose numbers differ', async () => {
    const text = openssl(['x509', '-noout', '-text'], leaf.pem);
    expect(text).toContain('DNS:www.example.org, DNS:*.example.org, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1');
    const other = await testCertificate('Leaf', { by: lower });
    expect(factsOf(new X509Certificate(other.pem)).serial).not.toBe(factsOf(new X509Certificate(leaf.pem)).serial);
  });

  test('numbers, names and times of DER', () => {
    expect(integer(128).toString('hex')).toBe('02020080');
    expect(integer(0).toString('hex')).toBe('020100');
    expect(readOid(readOne(oid('1.2.840.113549.1.1.11')).content)).toBe('1.2.840.113549.1.1.11');
    expect(readOid(readOne(oid('2.5.29.17')).content)).toBe('2.5.29.17');
    expect(sequence(Buffer.alloc(300)).subarray(0, 4).toString('hex')).toBe('3082012c');
    expect(time(new Date('2049-12-31T23:59:59Z')).toString('latin1').slice(2)).toBe('491231235959Z');
    expect(time(new Date('2050-01-01T00:00:00Z')).toString('latin1').slice(2)).toBe('20500101000000Z');
    expect(() => readOne(Buffer.from('3005', 'hex'))).toThrow(RangeError);
    expect(() => readOne(Buffer.from('3080', 'hex'))).toThrow(RangeError);
  });

  test('addresses', () => {
    for (const address of ['192.0.2.1', '2001:db8::1', '::', '::1', 'fe80::', '1:2:3:4:5:6:7:8'])
      expect(addressText(addressBytes(address))).toBe(address);
    expect(reverseName('192.0.2.1')).toBe('1.2.0.192.in-addr.arpa');
    expect(reverseName('2001:db8::1')).toBe(`1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`);
  });
});
