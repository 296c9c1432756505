/** Where a tenant's route of type `proxy` may lead: to the public internet, by the address that was checked, and nowhere by a detour. */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, test, vi } from 'vitest';
import { isPublicAddress } from './public-address.ts';
import { answerTo, environmentOf, openTestEdge, statuses, upstreamRoute } from '../testing/edge.ts';
import { always, openRawUpstream, until } from '../testing/upstream.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const proxyRoute = (to: string, path = '/') => upstreamRoute('app.test', path, { type: 'proxy', to } as object);
const asking = (path = '/') => `GET ${path} HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n`;
const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const portOf = ({ instance: { address } }: Awaited<ReturnType<typeof openRawUpstream>>) => ('port' in address ? address.port : 0);

/** What `rebound.test` leads to, one answer after the other. */
function resolveTo(...answers: string[]) {
  let asked = 0;
  const { lookup: trueLookup } = dns;
  const lookup = (host: string, options: dns.LookupAllOptions, done: (error: Error | null, addresses: dns.LookupAddress[]) => void) => {
    if (host !== 'rebound.test') return trueLookup(host, options, done);
    const address = answers[Math.min(asked++, answers.length - 1)] ?? '';
    return setImmediate(() => done(null, [{ address, family: address.includes(':') ? 6 : 4 }]));
  };
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
  syncBuiltinESMExports();
  return { asked: () => asked };
}

test('no spelling of an address of this machine, its networks or the cloud is visited', async () => {
  const upstream = await openRawUpstream(always(hello));
  const port = portOf(upstream);
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00::1]',
    '169.254.169.254',
    '[fd00:ec2::254]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '127.0.0.1.',
    '１２７.0.0.1',
    'user@127.0.0.1',
  ];
  const routes = hosts.map((host, index) => proxyRoute(`http://${host}:${port}`, `/${index}/`));
  await using made = await openTestEdge([environmentOf([], { routes })]);
  for (const [index, host] of hosts.entries())
    expect({ host, statuses: statuses(await answerTo(made.port, asking(`/${index}/`), 1000)) }).toEqual({ host, statuses: [502] });
  expect(upstream.received).toEqual([]);
  await upstream.close();
});

test.for(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fe80::1', 'fd00::1', '64:ff9b::a00:1'])(
  'a name that leads to %s is not visited, and one that led elsewhere first is asked about again',
  async (address) => {
    const upstream = await openRawUpstream(always(hello));
    const names = resolveTo(address);
    await using made = await openTestEdge([environmentOf([], { routes: [proxyRoute(`http://rebound.test:${portOf(upstream)}`)] })]);
    for (const visit of [1, 2]) {
      expect(statuses(await answerTo(made.port, asking(), 1000))).toEqual([502]);
      expect(names.asked()).toBe(visit);
    }
    expect(upstream.received).toEqual([]);
    await upstream.close();
  },
);

test('the address that was checked is the one that is connected to, however the name changes meanwhile', async () => {
  const upstream = await openRawUpstream(always(hello));
  const checked: string[] = [];
  const mayProxyTo = (address: string) => {
    checked.push(address);
    return isPublicAddress(address) || address === '127.0.0.1';
  };
  // Allowed once, to see that it is used; then what a name server of the tenant would say.
  const names = resolveTo('127.0.0.1', '127.0.0.2');
  const routes = [proxyRoute(`http://rebound.test:${portOf(upstream)}`)];
  await using made = await openTestEdge([environmentOf([], { routes })], { idleConnectionsPerInstanceMax: 0 }, { mayProxyTo });
  expect(statuses(await answerTo(made.port, asking(), 1000))).toEqual([200]);
  expect([names.asked(), checked]).toEqual([1, ['127.0.0.1']]);
  expect(statuses(await answerTo(made.port, asking(), 1000))).toEqual([502]);
  expect(upstream.received).toHaveLength(1);
  await upstream.close();
});

test('a redirect is the visitor’s to follow, not the edge’s', async () => {
  const inside = await openRawUpstream(always(hello));
  const location = `http://127.0.0.1:${portOf(inside)}/secret`;
  const outside = await openRawUpstream(always(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`));
  const routes = [proxyRoute(`http://127.0.0.1:${portOf(outside)}`)];
  await using made = await openTestEdge([environmentOf([], { routes })], {}, { mayProxyTo: () => true });
  expect(await answerTo(made.port, asking(), 1000)).toMatch(new RegExp(`^HTTP/1\\.1 302 [^]*Location: ${location}`, 'i'));
  expect(inside.received).toEqual([]);
  await Promise.all([inside.close(), outside.close()]);
});

test('a route that leads back to itself is found out after a few rounds', async () => {
  await using made = await openTestEdge([environmentOf([], { routes: [] })], {}, { mayProxyTo: () => true });
  const route = { ...proxyRoute(`http://127.0.0.1:${made.port}`), host: '127.0.0.1' };
  made.table.put(environmentOf([], { routes: [route, proxyRoute(`http://127.0.0.1:${made.port}`)] }));
  expect(statuses(await answerTo(made.port, asking(), 1000))).toEqual([508]);
  await until(() => made.records.length === 4);
  expect(made.records.map(({ status }) => status)).toEqual([508, 508, 508, 508]);
});
