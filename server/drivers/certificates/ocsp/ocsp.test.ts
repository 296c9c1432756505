import { X509Certificate } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openOutbound } from '../../outbound/outbound.ts';
import { readAll, readOne } from '../x509/der.ts';
import { forOcsp, mustBeStapled, statusAt } from '../x509/extensions.ts';
import { factsOf } from '../x509/facts.ts';
import { type TestCertificate, testCertificate } from '../x509/test-certificates.ts';
import { newKey } from '../x509/write-certificate.ts';
import { openStatuses } from './ocsp.ts';
import { OcspFault, readOcspResponse } from './ocsp-response.ts';
import { openTestResponder, type TestResponder } from './test-responder.ts';

let issuer: TestCertificate;
let leaf: TestCertificate;
let other: TestCertificate;
const opened: TestResponder[] = [];

async function responderBy(signer?: TestCertificate): Promise<TestResponder> {
  const responder = await openTestResponder(issuer, signer);
  opened.push(responder);
  return responder;
}

beforeAll(async () => {
  issuer = await testCertificate('Issuer', { isAuthority: true });
  const url = 'http://status.example.org/';
  leaf = await testCertificate('Leaf', { by: issuer, names: ['a.example.org'], extensions: [statusAt(url), mustBeStapled] });
  other = await testCertificate('Other', { by: issuer, names: ['b.example.org'], extensions: [statusAt(url)] });
});
afterAll(() => Promise.all(opened.map((responder) => responder.close())));

const minutes = (count: number) => new Date(Date.now() + count * 60_000);
const read = (bytes: Buffer, { certificate = leaf, above = issuer, now = new Date() } = {}) =>
  readOcspResponse(bytes, { certificate: new X509Certificate(certificate.pem), issuer: new X509Certificate(above.pem), now });

describe('an answer counts', () => {
  test('where the issuer has signed it, with any key that clients take, and it says until when', async () => {
    const responder = await responderBy();
    responder.says([{ certificate: leaf.pem }]);
    const { revoked, until } = read(responder.answer(leaf.pem, 60));
    expect(revoked).toBeUndefined();
    expect(Math.abs((until?.getTime() ?? 0) - minutes(60).getTime())).toBeLessThan(60_000);
    expect(read(responder.answer(leaf.pem)).until).toBeUndefined();
  });

  test('where somebody has signed it whom the issuer certified for that, and no longer than their own certificate', async () => {
    const delegate = await testCertificate('Delegate', { by: issuer, use: forOcsp, key: await newKey('rsa'), days: { from: -1, to: 1 } });
    const responder = await responderBy(delegate);
    responder.says([{ certificate: leaf.pem }]);
    expect(read(responder.answer(leaf.pem, 60)).revoked).toBeUndefined();
    expect(read(responder.answer(leaf.pem, 60 * 24 * 5)).until).toEqual(new Date(new X509Certificate(delegate.pem).validTo));
  });

  test('also where it says that the certificate is revoked, when and why', async () => {
    const responder = await responderBy();
    responder.says([{ certificate: leaf.pem, revoked: 'keyCompromise' }]);
    expect(read(responder.answer(leaf.pem, 60)).revoked).toEqual({
      at: new Date('2026-11-01T12:00:00Z'),
      reason: 'its key is known to others',
    });
  });
});

describe('an answer does not count', () => {
  test.for([
    ['who has no leave of the issuer', async () => testCertificate('Delegate', { by: issuer })],
    ['who has signed themselves', async () => testCertificate('Delegate', { use: forOcsp })],
    ['whose leave has ended', async () => testCertificate('Delegate', { by: issuer, use: forOcsp, days: { from: -9, to: -1 } })],
    ['who only has the name of the issuer', async () => testCertificate('Issuer', { isAuthority: true })],
  ] as const)('from somebody %s', async ([, made]) => {
    const responder = await responderBy(await made());
    responder.says([{ certificate: leaf.pem }]);
    expect(() => read(responder.answer(leaf.pem, 60))).toThrow('signed neither as the issuer nor by the issuer’s leave');
  });

  test('before its time, after its end, about another certificate, or about one that the issuer does not know', async () => {
    const responder = await responderBy();
    responder.says([{ certificate: leaf.pem }]);
    const good = responder.answer(leaf.pem, 60);
    expect(() => read(good, { now: minutes(-10) })).toThrow('holds only later');
    expect(() => read(good, { now: minutes(-2) })).not.toThrow();
    expect(() => read(good, { now: minutes(61) })).toThrow('holds no longer');
    expect(() => read(good, { certificate: other })).toThrow('about another certificate');
    expect(() => read(responder.answer(other.pem, 60))).toThrow('about another certificate');
    expect(() => read(responder.answer(other.pem, 60), { certificate: other })).toThrow('does not know the certificate');
  });

  test('with a byte of what was signed changed, or cut off', async () => {
    const responder = await responderBy();
    responder.says([{ certificate: leaf.pem, revoked: 'superseded' }]);
    const good = responder.answer(leaf.pem, 60);
    const signed = signedPart(good);
    const begin = signed.byteOffset - good.byteOffset;
    expect(read(good).revoked?.reason).toBe('another has taken its place');
    for (let at = begin; at < begin + signed.length; at += 5) {
      const changed = Buffer.from(good);
      changed[at] = (good[at] as number) ^ 1;
      expect(() => read(changed), `byte ${at}`).toThrow(OcspFault);
    }
    for (let length = 0; length < good.length; length += 50) expect(() => read(good.subarray(0, length))).toThrow(OcspFault);
  });

  test('where the responder refuses, whose words are told', () => {
    expect(() => read(Buffer.from('30030a0103', 'hex'))).toThrow('asked to be tried later');
    expect(() => read(Buffer.from('30030a0106', 'hex'))).toThrow('does not answer for this certificate');
  });
});

/** The bytes of an answer that the signature is of, in their place. */
function signedPart(answer: Buffer): Buffer {
  const contentOf = (bytes: Buffer, place: number) => readAll(readOne(bytes).content)[place]?.content ?? Buffer.alloc(0);
  const basic = contentOf(contentOf(answer, 1), 1);
  return readAll(readOne(basic).content)[0]?.whole ?? Buffer.alloc(0);
}

describe('responders', () => {
  const ask = openStatuses({ outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }) }).ask;
  const certificateAt = (url: string) => testCertificate('Leaf', { by: issuer, names: ['a.example.org'], extensions: [statusAt(url)] });
  const soon = { timeout: 20_000 };

  test('a real one is asked, and asked again when half of what is left is over', async () => {
    const responder = await responderBy();
    const { pem } = await certificateAt(responder.url);
    responder.says([{ certificate: pem }]);
    responder.start(60);
    await expect.poll(() => ask(pem, [issuer.pem]), soon).toMatchObject({ status: 'good' });
    const told = await ask(pem, [issuer.pem]);
    if (told?.status !== 'good') throw new Error('The certificate is not good');
    expect(read(Buffer.from(told.stapled?.response ?? '', 'base64'), { certificate: { ...leaf, pem } }).revoked).toBeUndefined();
    expect(Math.abs(Date.parse(told.askAgainAt) - minutes(30).getTime())).toBeLessThan(60_000);
    responder.says([{ certificate: pem, revoked: 'cessationOfOperation' }]);
    await expect.poll(() => ask(pem, [issuer.pem]), soon).toMatchObject({ status: 'revoked', reason: 'it is not needed any more' });
  });

  test('none is asked at addresses that are not public, and none where the issuer names none', async () => {
    const strict = openStatuses({ outbound: openOutbound({ allowPrivateAddresses: [] }) });
    const { pem } = await certificateAt('http://127.0.0.1:1/');
    const told = await strict.ask(pem, [issuer.pem]);
    expect(told).toMatchObject({ status: 'untold', sentence: expect.stringContaining('127.0.0.1 is not a public address') as unknown });
    const silent = await testCertificate('Silent', { by: issuer, names: ['a.example.org'] });
    expect(await ask(silent.pem, [issuer.pem])).toBeUndefined();
    expect(await ask(pem, [])).toBeUndefined();
  });

  test.for<[string, RequestListener, string]>([
    ['sends somebody elsewhere', (_, reply) => void reply.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), 'HTTP 302'],
    ['talks without end', (_, reply) => void reply.end(Buffer.alloc(20_000)), 'more than 12288 bytes'],
    ['talks nonsense', (_, reply) => void reply.end('hello'), 'malformed'],
    ['hangs up', (request) => void request.socket.destroy(), 'cannot be reached'],
  ])('one that %s is told of in words', async ([, listener, words]) => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { pem } = await certificateAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const told = await ask(pem, [issuer.pem]);
    server.close();
    expect(told).toMatchObject({ status: 'untold', sentence: expect.stringContaining(words) as unknown });
  });
});

test('a certificate that clients refuse without the answer says so', () => {
  expect(factsOf(new X509Certificate(leaf.pem))).toMatchObject({ mustStaple: true, ocspUrl: 'http://status.example.org/' });
  expect(factsOf(new X509Certificate(other.pem)).mustStaple).toBe(false);
});
