import { once } from 'node:events';
import { Agent, get, type RequestOptions } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { answerTo, environmentOf, upstreamRoute } from '../testing/edge.ts';
import { openSecureTestEdge, type SecureTestEdge } from '../testing/secure-edge.ts';
import { always, openHttpUpstream, openRawUpstream } from '../testing/upstream.ts';
import type { RouteTls } from '../routing/table.ts';

const authority = testAuthority();
const clients = testAuthority('Authority of clients');
const hello = always('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
const secureRoute = (host: string, tls: Partial<RouteTls> = {}) =>
  upstreamRoute(host, '/', {
    scheme: 'https',
    original_url: `https://${host}/`,
    tls: { min_version: null, client_authentication: null, client_certificate_authorities: [], ...tls },
  });

/** Sends one request on a connection of its own. */
function ask(made: SecureTestEdge, host: string, some: RequestOptions & ConnectionOptions = {}) {
  return new Promise<{ status: number; body: string; socket: TLSSocket }>((resolve, reject) => {
    get(
      { host: '127.0.0.1', port: made.securePort, servername: host, ca: authority.certificate, agent: false, headers: { host }, ...some },
      (reply) => {
        let body = '';
        reply.setEncoding('latin1').on('data', (text: string) => (body += text));
        reply.on('end', () => resolve({ status: reply.statusCode ?? 0, body, socket: reply.socket as TLSSocket }));
      },
    ).on('error', reject);
  });
}

/** Does only the handshake. */
async function handshake(made: SecureTestEdge, host: string, some: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: made.securePort, servername: host, ca: authority.certificate, ...some });
  await once(socket, 'secureConnect');
  return socket;
}

/** A connection that sends byte by byte, each in a packet of its own. */
function inSmallPieces(port: number): Duplex {
  const socket = connectPlain({ port, host: '127.0.0.1', noDelay: true });
  const slow = new Duplex({
    read: () => {},
    async write(chunk: Buffer, _encoding, done) {
      for (const byte of chunk) {
        socket.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      done();
    },
  });
  socket.on('data', (chunk) => slow.push(chunk)).on('end', () => slow.push(null));
  socket.on('error', () => slow.destroy());
  return slow;
}

/** In whatever words: of OpenSSL, or of Node where the connection was closed. */
const ended = /alert|disconnected|hang up|ECONNRESET|EPIPE/i;

const namesOf = (socket: TLSSocket) => socket.getPeerX509Certificate()?.subjectAltName;

test('a client gets the certificate of the host that it names: its own before a wildcard, and otherwise the default', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openSecureTestEdge([
    environmentOf([upstream.instance], { routes: [secureRoute('a.test'), secureRoute('*.b.test')] }),
  ]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
  made.present('b', ['*.b.test'], authority.issue(['*.b.test']));
  made.present('own', ['own.b.test'], authority.issue(['own.b.test']));
  made.present('none', [], authority.issue(['default.test']), true);
  const { status, body } = await ask(made, 'a.test');
  expect([status, body]).toEqual([200, 'hello']);
  expect(upstream.received[0]).toContain('X-Forwarded-Proto: https\r\n');
  expect(upstream.received[0]).toContain('X-Client-SSL: on\r\n');
  const shown = async (host: string) => {
    const socket = await handshake(made, host, { rejectUnauthorized: false });
    const names = namesOf(socket);
    socket.destroy();
    return names;
  };
  expect(await shown('x.b.test')).toBe('DNS:*.b.test');
  expect(await shown('own.b.test')).toBe('DNS:own.b.test');
  expect(await shown('two.labels.b.test')).toBe('DNS:default.test');
  expect(await shown('unknown.test')).toBe('DNS:default.test');
  await expect(handshake(made, 'unknown.test')).rejects.toThrow(/altnames/);
});

test('a certificate is replaced under connections that go on', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes: [secureRoute('a.test')] })]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
  const first = await handshake(made, 'a.test');
  const before = first.getPeerX509Certificate()?.serialNumber;
  made.present('a', ['a.test'], authority.issue(['a.test']));
  const second = await handshake(made, 'a.test');
  expect(second.getPeerX509Certificate()?.serialNumber).not.toBe(before);
  let heard = '';
  first.on('data', (chunk) => (heard += String(chunk)));
  for (const index of [1, 2]) {
    first.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await expect.poll(() => heard.match(/200 OK/g)?.length).toBe(index);
  }
  made.certificates.remove('a');
  await expect(handshake(made, 'a.test')).rejects.toThrow(ended);
  first.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await expect.poll(() => heard.match(/200 OK/g)?.length).toBe(3);
});

test('who has opened a connection for one host cannot ask for another on it', async () => {
  const upstream = await openRawUpstream(hello);
  const routes = [secureRoute('a.test'), secureRoute('b.test')];
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes })]);
  made.present('both', ['a.test', 'b.test'], authority.issue(['a.test', 'b.test']));
  expect((await ask(made, 'a.test', { headers: { host: 'b.test' } })).status).toBe(421);
  expect((await ask(made, 'a.test', { headers: { host: 'A.Test:8443' } })).status).toBe(200);
  expect(upstream.received).toHaveLength(1);
});

test('what the issuer says about a certificate is sent along to those who ask for it', async () => {
  await using made = await openSecureTestEdge([environmentOf([])]);
  const { certificate, key } = authority.issue(['a.test']);
  const response = randomBytes(40);
  made.certificates.put({ id: 'a', version: 1, names: ['a.test'], certificate, chain: [], key, stapled: response.toString('base64') });
  made.present('b', ['b.test'], authority.issue(['b.test']));
  const until = (milliseconds: number) => ({ stapled: response.toString('base64'), stapled_until: new Date(milliseconds).toISOString() });
  const [holding, over] = [authority.issue(['holding.test']), authority.issue(['ended.test'])];
  made.certificates.put({ id: 'c', version: 1, names: ['holding.test'], chain: [], ...holding, ...until(Date.now() + 60_000) });
  made.certificates.put({ id: 'd', version: 1, names: ['ended.test'], chain: [], ...over, ...until(Date.now() - 1000) });
  const stapled = async (host: string) => {
    const socket = connect({ host: '127.0.0.1', port: made.securePort, servername: host, ca: authority.certificate, requestOCSP: true });
    const [told] = (await once(socket, 'OCSPResponse')) as [Buffer | null];
    socket.destroy();
    return told;
  };
  expect(await stapled('a.test')).toEqual(response);
  expect(await stapled('b.test')).toBeNull();
  expect(await stapled('holding.test')).toEqual(response);
  expect(await stapled('ended.test')).toBeNull();
});

test('old versions of TLS are refused, and those that a route says are too old', async () => {
  const upstream = await openRawUpstream(hello);
  const routes = [secureRoute('a.test'), secureRoute('strict.test', { min_version: 'TLSv1.3' })];
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes })]);
  made.present('both', ['a.test', 'strict.test'], authority.issue(['a.test', 'strict.test']));
  expect((await ask(made, 'a.test', { maxVersion: 'TLSv1.2' })).status).toBe(200);
  expect((await ask(made, 'strict.test')).status).toBe(200);
  await expect(ask(made, 'strict.test', { maxVersion: 'TLSv1.2' })).rejects.toThrow(ended);
  await expect(ask(made, 'a.test', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })).rejects.toThrow(ended);
});

test('clients show certificates where routes ask for them, and applications are told what they showed', async () => {
  const upstream = await openRawUpstream(hello);
  const authorities = { client_certificate_authorities: [clients.certificate] };
  const routes = [
    secureRoute('open.test'),
    secureRoute('asks.test', { client_authentication: 'request', ...authorities }),
    secureRoute('closed.test', { client_authentication: 'require', ...authorities }),
  ];
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes })]);
  const names = ['open.test', 'asks.test', 'closed.test'];
  made.present('all', names, authority.issue(names));
  const told = () =>
    upstream.received
      .at(-1)
      ?.split('GET ')
      .at(-1)
      ?.match(/^X-Client-(?:Verify|Cert).*$/gim)
      ?.map((line) => line.trim());
  const good = clients.issue([], { commonName: 'good' });
  const strange = testAuthority('Somebody').issue([], { commonName: 'strange' });
  const showing = ({ certificate, key }: typeof good) => ({ cert: certificate, key });

  await ask(made, 'open.test', { ...showing(good), headers: { host: 'open.test', 'X-Client-Verify': 'SUCCESS' } });
  expect(told()).toBeUndefined();
  await ask(made, 'asks.test');
  expect(told()).toEqual(['X-Client-Verify: NONE']);
  await ask(made, 'asks.test', showing(good));
  expect(told()).toEqual(['X-Client-Verify: SUCCESS', `X-Client-Cert: ${encodeURIComponent(good.certificate)}`]);
  await ask(made, 'asks.test', showing(strange));
  expect(told()?.[0]).toMatch(/^X-Client-Verify: FAILED:/);
  expect((await ask(made, 'closed.test', showing(good))).status).toBe(200);
  await expect(ask(made, 'closed.test')).rejects.toThrow(ended);
  await expect(ask(made, 'closed.test', showing(strange))).rejects.toThrow(ended);
  // A session that began where no certificate is asked for is no way in.
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const began = await handshake(made, 'open.test');
  began.once('session', resolve);
  began.write('GET / HTTP/1.1\r\nHost: open.test\r\n\r\n');
  await expect(ask(made, 'closed.test', { session: await promise })).rejects.toThrow(ended);
});

test('a session goes on in another process that has the same secret, and in none that has another', async () => {
  const upstream = await openRawUpstream(hello);
  const environment = environmentOf([upstream.instance], { routes: [secureRoute('a.test')] });
  const secret = randomBytes(32);
  const certificate = authority.issue(['a.test']);
  await using one = await openSecureTestEdge([environment], {}, secret);
  await using other = await openSecureTestEdge([environment], {}, secret);
  await using stranger = await openSecureTestEdge([environment]);
  for (const made of [one, other, stranger]) made.present('a', ['a.test'], certificate);
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = connect({ host: '127.0.0.1', port: one.securePort, servername: 'a.test', ca: authority.certificate, maxVersion });
    const session = once(first, 'session');
    await once(first, 'secureConnect');
    first.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    const resumed = { maxVersion, session: ((await session) as [Buffer])[0] };
    expect((await handshake(other, 'a.test', resumed)).isSessionReused()).toBe(true);
    expect((await handshake(stranger, 'a.test', resumed)).isSessionReused()).toBe(false);
  }
});

test('authorities that ask for a proof get it, over HTTP and over TLS, and visitors notice nothing', async () => {
  const upstream = await openHttpUpstream((_, response) => response.end('app'));
  const routes = [upstreamRoute('a.test'), secureRoute('a.test')];
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes, state: 'open' })]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
  const proof = authority.issue(['new.test']);
  made.challenges.replace({
    http: [{ host: 'new.test', token: 'abc', body: 'abc.thumbprint' }],
    tls: [{ host: 'new.test', certificate: proof.certificate, key: proof.key }],
  });
  const file = (host: string, token: string) =>
    answerTo(made.port, `GET /.well-known/acme-challenge/${token} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(await file('new.test', 'abc')).toMatch(/^HTTP\/1.1 200[\s\S]*\r\n\r\nabc\.thumbprint$/);
  expect(await file('new.test', 'other')).toMatch(/^HTTP\/1.1 404/);
  expect(await file('a.test', 'abc')).toMatch(/app$/);
  const proven = await handshake(made, 'new.test', { ALPNProtocols: ['acme-tls/1'] });
  expect([proven.alpnProtocol, namesOf(proven)]).toEqual(['acme-tls/1', 'DNS:new.test']);
  const slowly = await handshake(made, 'new.test', { ALPNProtocols: ['acme-tls/1'], socket: inSmallPieces(made.securePort) });
  expect([slowly.alpnProtocol, namesOf(slowly)]).toEqual(['acme-tls/1', 'DNS:new.test']);
  await expect(handshake(made, 'a.test', { ALPNProtocols: ['acme-tls/1'] })).rejects.toThrow(ended);
  expect((await ask(made, 'a.test')).body).toBe('app');
  made.challenges.replace({ http: [], tls: [] });
  expect(await file('new.test', 'abc')).toMatch(/^HTTP\/1.1 404/);
});

test('whoever asks to renegotiate is refused, and nobody beside them notices', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes: [secureRoute('a.test')] })]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const before = await ask(made, 'a.test', { agent });
  const renegotiated = async () => {
    const socket = await handshake(made, 'a.test', { maxVersion: 'TLSv1.2' });
    const error = await new Promise<Error | null>((resolve) => {
      socket.once('error', resolve);
      socket.renegotiate({}, resolve);
    });
    socket.destroy();
    return error?.message;
  };
  const said = await Promise.all(Array.from({ length: 5 }, renegotiated));
  expect(new Set(said.map((message) => /no.renegotiation/i.test(message ?? '')))).toEqual(new Set([true]));
  const after = await ask(made, 'a.test', { agent });
  expect([after.status, after.socket === before.socket]).toEqual([200, true]);
  agent.destroy();
  await upstream.close();
});

test('who does not finish the handshake is let go, and what is no handshake ends at once', async () => {
  await using made = await openSecureTestEdge([environmentOf([])], { handshakeSeconds: 0.3 });
  made.present('a', ['a.test'], authority.issue(['a.test']), true);
  const closed = async (bytes: string) => {
    const socket = connectPlain(made.securePort, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.write(bytes);
    await once(socket, 'close');
  };
  await Promise.all(['', '\x16\x03\x01\x02\x00\x01\x00', 'GET / HTTP/1.1\r\n\r\n'].map(closed));
  expect((await ask(made, 'a.test')).status).toBe(404);
});
