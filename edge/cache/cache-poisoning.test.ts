/** What one visitor says must not change what the next one gets, and what one environment said must not be heard in another. */
import { expect, test } from 'vitest';
import { answerTo, environmentOf, openTestEdge, upstreamRoute } from '../testing/edge.ts';
import { openRawUpstream } from '../testing/upstream.ts';

const cache = { enabled: true, default_ttl: 60, cookies: ['*'], headers: ['Accept'] };
const cachedRoute = (host: string) => upstreamRoute(host, '/', { cache });

/** Says in its reply everything that it was told; an application that trusts all of it is the easiest to poison. */
const echo =
  (name: string, more = '') =>
  (text: string) => {
    if (!text.includes('\r\n\r\n')) return undefined;
    const body = `${name} ${text.replaceAll(/X-Request-Id:[^]*?\r\n/g, '')}`;
    return `HTTP/1.1 200 OK\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
  };
const ask = (port: number, lines = '', { path = '/', host = 'app.test', method = 'GET' } = {}) =>
  answerTo(port, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines}\r\n`, 1000);
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

test('nothing that a visitor says of hosts, addresses, methods or paths is in what the next one gets', async () => {
  const upstream = await openRawUpstream(echo('app'));
  await using made = await openTestEdge([environmentOf([upstream.instance], { routes: [cachedRoute('app.test')] })]);
  const poison = [
    'X-Forwarded-Host: evil',
    'X-Forwarded-Scheme: evil',
    'X-Forwarded-Prefix: evil',
    'X-Forwarded-Port: evil',
    'X-Host: evil',
    'X-Original-URL: /evil',
    'X-Rewrite-URL: /evil',
    'Forwarded: host=evil',
    'X-HTTP-Method-Override: evil',
    'X_Forwarded_Host: evil',
    'Authorization: evil',
    'Cookie: evil=1',
    'Range: bytes=0-1, evil',
    'Upgrade: evil',
    'Content-Length: 0\r\nX-Forwarded-Server: evil',
  ];
  for (const [index, line] of poison.entries()) {
    const path = `/page-${index}`;
    await ask(made.port, `${line}\r\n`, { path });
    expect({ line, body: bodyOf(await ask(made.port, '', { path })) }).toEqual({ line, body: expect.not.stringContaining('evil') });
  }
  await upstream.close();
});

test('another spelling of a host or path, another port and HEAD poison nothing', async () => {
  const upstream = await openRawUpstream(echo('app'));
  await using made = await openTestEdge([environmentOf([upstream.instance], { routes: [cachedRoute('app.test')] })]);
  for (const spelling of [
    { host: 'app.test:6666' },
    { host: 'APP.TEST' },
    { host: 'app.test.' },
    { path: '/?evil' },
    { path: '//' },
    { path: '/%2e' },
    { path: '/;evil' },
    { method: 'HEAD' },
  ])
    await ask(made.port, '', spelling);
  const plain = bodyOf(await ask(made.port));
  expect(plain).toMatch(/^app GET \/ HTTP\/1\.1\r\nHost: app\.test\r\n/);
  expect(plain).not.toMatch(/evil|6666/);
  expect(bodyOf(await ask(made.port))).toBe(plain);
  await upstream.close();
});

test('replies that set a cookie are nobody else’s', async () => {
  const upstream = await openRawUpstream(echo('app', 'Set-Cookie: session=mine\r\nCache-Control: public, max-age=60\r\n'));
  await using made = await openTestEdge([environmentOf([upstream.instance], { routes: [cachedRoute('app.test')] })]);
  for (const visitor of [1, 2]) {
    const answer = await ask(made.port, `X-Visitor: ${visitor}\r\n`);
    expect(bodyOf(answer)).toContain(`X-Visitor: ${visitor}`);
  }
  await upstream.close();
});

test('a host that changes hands has nothing of its former environment, and another environment of the same path nothing either', async () => {
  const [former, next] = [await openRawUpstream(echo('former')), await openRawUpstream(echo('next'))];
  const formerly = { cluster: 'project-former', routes: [cachedRoute('app.test'), cachedRoute('former.test')] };
  const later = { cluster: 'project-next', routes: [cachedRoute('next.test')] };
  await using made = await openTestEdge([environmentOf([former.instance], formerly), environmentOf([next.instance], later)]);
  const said = async (host: string) => bodyOf(await ask(made.port, '', { host })).split(' ', 1)[0];
  for (const visit of [1, 2]) expect([visit, await said('app.test'), await said('next.test')]).toEqual([visit, 'former', 'next']);

  made.table.put(environmentOf([former.instance], { ...formerly, routes: [cachedRoute('former.test')] }));
  made.table.put(environmentOf([next.instance], { ...later, routes: [cachedRoute('next.test'), cachedRoute('app.test')] }));
  for (const visit of [1, 2]) expect([visit, await said('app.test')]).toEqual([visit, 'next']);
  made.table.put(environmentOf([former.instance], formerly));
  made.table.remove('project-next');
  expect(await said('former.test')).toBe('former');
  await Promise.all([former.close(), next.close()]);
});
