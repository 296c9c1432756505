import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lookUpHost } from './look-up-host.ts';
import { openOutbound } from './outbound.ts';
import { openTestNameServer } from './test-name-server.ts';

/** This machine's own addresses stand for the whole network: 127.0.0.1 is forbidden, as all of it is in earnest, and 127.0.0.2 is a public one. */
const visible = { allowPrivateAddresses: ['127.0.0.2'] };
const open = openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] });

async function serve(listener: RequestListener, host = '127.0.0.1', port = 0) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(port, host, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = (server.address() as AddressInfo).port;
  return { port: at, url: `http://${host}:${at}/` };
}

const faultOf = (sent: Promise<unknown>) =>
  sent.then(
    () => 'none',
    (error: Error & { reason?: string }) => error.reason ?? error.message,
  );

describe('addresses', () => {
  test.for([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[fd00:ec2::254]/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://shop.localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.100.100.200/',
    'http://10.0.0.1/',
    'http://0.0.0.0/',
    'https://192.168.1.1/',
    'http://user@127.0.0.1/',
  ])('%s is not visited', async (url) => {
    expect(await faultOf(openOutbound({ allowPrivateAddresses: [] }).request({ url }))).toBe('forbidden');
  });

  test.for(['127.0.0.1', '2130706433', '0177.0.0.1', '0x7f.1', '::1', '::ffff:127.0.0.1', 'localhost'])(
    'nothing is connected to %s, by TCP, TLS or UDP',
    async (host) => {
      const strict = openOutbound({ allowPrivateAddresses: [] });
      expect(await faultOf(strict.connect({ host, port: 1 }))).toBe('forbidden');
      expect(await faultOf(strict.connect({ host, port: 1, tls: { verify: true } }))).toBe('forbidden');
      expect(await faultOf(strict.openDatagrams({ host, port: 1 }))).toBe('forbidden');
    },
  );

  test.for(['file:///etc/passwd', 'ftp://example.org/', 'gopher://127.0.0.1/', 'no address', ''])('%s is no address', async (url) => {
    expect(await faultOf(open.request({ url }))).toBe('malformed');
  });

  test.for(['a b', 'a/b', '', 'user@host', 'host:80'])('%j is no host', async (host) => {
    expect(await faultOf(open.connect({ host, port: 1 }))).toBe('malformed');
  });

  test('a name that points to one address that may be visited and to one that may not leads nowhere', async () => {
    const look = async () => [{ address: '127.0.0.2' }, { address: '127.0.0.1' }];
    expect(await faultOf(openOutbound({ ...visible, look }).request({ url: 'http://both.example/' }))).toBe('forbidden');
  });
});

describe('a name that changes', () => {
  test('is connected to at the address that was checked, and is refused once it points elsewhere', async () => {
    const names = await openTestNameServer(['127.0.0.2', '127.0.0.1']);
    onTestFinished(names.close);
    const visited: string[] = [];
    const telling =
      (who: string): RequestListener =>
      (_, reply) => {
        visited.push(who);
        reply.setHeader('connection', 'close').end(who);
      };
    const { port } = await serve(telling('public'), '127.0.0.2');
    await serve(telling('private'), '127.0.0.1', port);
    const outbound = openOutbound({ ...visible, look: lookUpHost({ servers: [names.server] }) });
    const url = `http://rebinding.example:${port}/`;
    expect((await outbound.request({ url })).body.toString()).toBe('public');
    expect(names.asked).toEqual(['rebinding.example']);
    expect(await faultOf(outbound.request({ url }))).toBe('forbidden');
    expect(await faultOf(outbound.connect({ host: 'rebinding.example', port }))).toBe('forbidden');
    expect(visited).toEqual(['public']);
  });

  test('stays with the connection that is open: no second look, no other address', async () => {
    const names = await openTestNameServer(['127.0.0.2', '127.0.0.1']);
    onTestFinished(names.close);
    const { port } = await serve((_, reply) => void reply.end('public'), '127.0.0.2');
    const outbound = openOutbound({ ...visible, look: lookUpHost({ servers: [names.server] }) });
    for (let turn = 0; turn < 3; turn += 1)
      expect((await outbound.request({ url: `http://kept.example:${port}/` })).body.toString()).toBe('public');
    expect(names.asked).toHaveLength(1);
  });

  test('whose name server is silent is given up', async () => {
    const silent = createSocket('udp4');
    await new Promise<void>((resolve) => void silent.bind(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const look = lookUpHost({ servers: [`127.0.0.1:${silent.address().port}`] });
    expect(await faultOf(openOutbound({ ...visible, look }).request({ url: 'http://silent.example/', secondsMax: 0.2 }))).toBe('late');
  });
});

describe('redirects', () => {
  const leadingTo = (location: string, status = 302) => serve((_, reply) => void reply.writeHead(status, { location }).end(), '127.0.0.2');

  test('are the reply itself, unless the caller follows them', async () => {
    const { url } = await leadingTo('http://127.0.0.1/');
    expect(await openOutbound(visible).request({ url })).toMatchObject({ status: 302 });
  });

  test.for(['http://127.0.0.1:1/', 'http://[::ffff:7f00:1]:1/', 'http://2130706433:1/', '//169.254.169.254/latest/'])(
    'to %s are not followed',
    async (location) => {
      const { url } = await leadingTo(location);
      expect(await faultOf(openOutbound(visible).request({ url, redirectsMax: 3 }))).toBe('forbidden');
    },
  );

  test('lead to nothing but the web, and not on and on', async () => {
    const [file, circle] = [await leadingTo('file:///etc/passwd'), await leadingTo('/')];
    expect(await faultOf(open.request({ url: file.url, redirectsMax: 3 }))).toBe('malformed');
    expect(await faultOf(open.request({ url: circle.url, redirectsMax: 3 }))).toBe('misled');
  });

  test('take no secret to another server, and the body only where they say so', async () => {
    const arrived: unknown[] = [];
    const target = await serve((request, reply) => {
      const { method, headers } = request;
      void request.toArray().then((body) => {
        arrived.push([method, headers.authorization, headers['x-secret'], Buffer.concat(body as Buffer[]).toString()]);
        reply.end();
      });
    });
    const asked = { method: 'POST', headers: { authorization: 'Bearer x', 'x-secret': 'y' }, body: 'hello', redirectsMax: 1 };
    for (const status of [302, 307]) await open.request({ ...asked, url: (await leadingTo(target.url, status)).url });
    expect(arrived).toEqual([
      ['GET', undefined, undefined, ''],
      ['POST', undefined, undefined, 'hello'],
    ]);
  });
});

describe('replies', () => {
  test('have all of their body, their headers and their status', async () => {
    const { url } = await serve((_, reply) => void reply.writeHead(418, { 'x-kind': 'tea' }).end('short and stout'));
    const reply = await open.request({ url });
    expect([reply.status, reply.headers['x-kind'], reply.body.toString()]).toEqual([418, 'tea', 'short and stout']);
  });

  test('that are too large, or never end, are cut off; what had come is told', async () => {
    let isOpen = false;
    const { url } = await serve((_, reply) => {
      isOpen = true;
      reply.once('close', () => (isOpen = false)).writeHead(200);
      const more = () => void (isOpen && reply.write('x'.repeat(10_000), () => setImmediate(more)));
      more();
    });
    await expect(open.request({ url, replyBytesMax: 50_000 })).rejects.toMatchObject({
      reason: 'too-large',
      detail: 'more than 50000 bytes',
      reply: { status: 200, body: { length: 50_000 } },
    });
    await expect.poll(() => isOpen).toBe(false);
  });

  test.for<[string, RequestListener]>([
    ['never begin', () => {}],
    ['stop in the middle of the body', (_, reply) => void reply.writeHead(200, { 'content-length': '10' }).write('x')],
    ['come drop by drop', (_, reply) => void setInterval(() => reply.write('x'), 20).unref()],
  ])('that %s are given up in time', async ([, listener]) => {
    const { url } = await serve(listener);
    await expect(open.request({ url, secondsMax: 0.3 })).rejects.toMatchObject({ reason: 'late', detail: 'no answer within 0.3 seconds' });
  });

  test('with endless headers are refused', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => void (socket.writable && socket.write(`x-more: ${'x'.repeat(1000)}\r\n`, () => setImmediate(more)));
      more();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    expect(await faultOf(open.request({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }))).toBe('unreachable');
  });

  test('are not waited for once the caller has given up', async () => {
    const { url } = await serve(() => {});
    const stop = new AbortController();
    const sent = open.request({ url, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(sent).rejects.toThrow('enough');
  });

  test('of nobody are a fault that says so', async () => {
    await expect(open.request({ url: 'http://127.0.0.1:1/' })).rejects.toMatchObject({
      reason: 'unreachable',
      message: '127.0.0.1:1 cannot be reached (ECONNREFUSED).',
    });
  });
});

test('a connection that the other side closed meanwhile is replaced by a new one', async () => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    // The first reply is followed by silence: the second request finds the connection reset.
    socket
      .on('error', () => {})
      .on('data', () => {
        if (socket.listenerCount('seen') > 0) return void socket.resetAndDestroy();
        socket.once('seen', () => {}).write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (let turn = 0; turn < 2; turn += 1) expect((await open.request({ url, method: 'POST', body: 'x' })).body.toString()).toBe('ok');
  expect(connections).toBe(2);
});

test('connections and datagrams reach what may be visited', async () => {
  const heard: string[] = [];
  const server = createTcpServer((socket) => socket.on('data', (bytes) => void heard.push(bytes.toString())));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const socket = await open.connect({ host: '127.0.0.1', port });
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write('by TCP');
  await expect.poll(() => heard).toEqual(['by TCP']);

  const receiver = createSocket('udp4');
  await new Promise<void>((resolve) => void receiver.bind(0, '127.0.0.1', resolve));
  const datagrams = await open.openDatagrams({ host: '127.0.0.1', port: receiver.address().port });
  onTestFinished(() => {
    receiver.close();
    datagrams.close();
  });
  const arrival = once(receiver, 'message');
  await datagrams.send(Buffer.from('by UDP'));
  expect(String((await arrival)[0])).toBe('by UDP');
});
