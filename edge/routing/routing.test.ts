import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openTable } from './routing.ts';
import { environmentOf, upstreamRoute } from '../testing/edge.ts';

const at = (cluster: string, ...places: [host: string, path?: string][]) =>
  environmentOf([], { cluster, routes: places.map(([host, path]) => upstreamRoute(host, path)) });

test('the longest path of a host wins, and a folder is found without its slash', () => {
  const table = openTable();
  table.put(at('shop', ['shop.test', '/'], ['shop.test', '/api/'], ['shop.test', '/api/v2/']));
  const pathFor = (path: string) => table.find('http', 'shop.test', path)?.route?.path;
  expect(['/', '/apis', '/api', '/api/', '/api/v1', '/api/v2', '/api/v2/x'].map(pathFor)).toEqual([
    '/',
    '/',
    '/api/',
    '/api/',
    '/api/',
    '/api/v2/',
    '/api/v2/',
  ]);
});

test('an exact host comes before a wildcard, the closer wildcard before the wider, and none stands for the name itself', () => {
  const table = openTable();
  table.put(at('exact', ['www.shop.test']));
  table.put(at('near', ['*.shop.test']));
  table.put(at('far', ['*.test']));
  const clusterFor = (host: string) => table.find('http', host, '/')?.environment.cluster;
  expect(['www.shop.test', 'a.shop.test', 'a.b.shop.test', 'shop.test', 'other.test', 'test', '', '.shop.test'].map(clusterFor)).toEqual([
    'exact',
    'near',
    'near',
    'far',
    'far',
    undefined,
    undefined,
    'far',
  ]);
});

test('a known host says so even where nothing is at the path or for the scheme', () => {
  const table = openTable();
  table.put(at('shop', ['shop.test', '/api/']));
  expect(table.find('http', 'shop.test', '/')).toMatchObject({ environment: { cluster: 'shop' }, route: undefined });
  expect(table.find('https', 'shop.test', '/api/')).toMatchObject({ route: undefined });
  expect(table.find('http', 'shop.example', '/')).toBeUndefined();
});

test('only a higher version replaces what is there', () => {
  const table = openTable();
  const [older, newer] = [at('shop', ['old.test']), at('shop', ['new.test'])];
  expect([table.put(newer), table.put(older), table.put(newer)]).toEqual([true, false, false]);
  expect(table.versions()).toEqual({ shop: newer.version });
  expect(table.find('http', 'old.test', '/')).toBeUndefined();
});

/** With the number of its claim for each host. */
const claiming = (cluster: string, hosts: Record<string, number>) =>
  environmentOf([], { cluster, routes: Object.entries(hosts).map(([host, claim]) => ({ ...upstreamRoute(host), claim })) });

test('of two with the same host the one with the higher claim has it, whoever came first; the other gets it back when that one is gone', () => {
  const table = openTable();
  const owner = () => table.find('http', 'shop.test', '/')?.environment.cluster;
  table.put(claiming('owner', { 'shop.test': 2 }));
  table.put(claiming('latecomer', { 'shop.test': 1, 'other.test': 3 }));
  expect(owner()).toBe('owner');
  expect(table.contested()).toEqual([{ host: 'shop.test', owner: 'owner', others: ['latecomer'] }]);
  table.put(claiming('heir', { 'shop.test': 4 }));
  expect(owner()).toBe('heir');
  table.put(claiming('owner', { 'shop.test': 2 }));
  expect(owner()).toBe('heir');
  expect(table.contested()).toEqual([{ host: 'shop.test', owner: 'heir', others: ['owner', 'latecomer'] }]);
  expect([table.remove('heir'), table.remove('heir')]).toEqual([true, false]);
  expect(owner()).toBe('owner');
  table.put(claiming('owner', { 'new.test': 5 }));
  expect(owner()).toBe('latecomer');
  table.remove('latecomer');
  expect(owner()).toBeUndefined();
  expect(table.contested()).toEqual([]);
});

test('a wildcard that was claimed later comes before a name that is out of date, and the other way round', () => {
  const table = openTable();
  const owner = (host: string) => table.find('http', host, '/')?.environment.cluster;
  table.put(claiming('before', { 'www.shop.test': 1, '*.old.test': 2 }));
  table.put(claiming('now', { '*.shop.test': 3, 'www.old.test': 4 }));
  expect(['www.shop.test', 'a.shop.test', 'www.old.test', 'a.old.test'].map(owner)).toEqual(['now', 'now', 'now', 'before']);
});

test('in whatever order environments come, are replaced and go, each host has the same owner', () => {
  const hosts = ['shop.test', 'www.shop.test', '*.shop.test', '*.test'];
  const asked = ['shop.test', 'www.shop.test', 'a.shop.test', 'a.test'];
  const entry = fc.record({
    cluster: fc.constantFrom('a', 'b', 'c', 'd'),
    hosts: fc.dictionary(fc.constantFrom(...hosts), fc.constantFrom(0, 1, 2, 3), { minKeys: 1 }),
  });
  const ownersIn = (entries: { cluster: string; hosts: Record<string, number> }[]) => {
    const table = openTable();
    for (const { cluster } of entries) table.put(claiming(cluster, { 'shop.test': 9, 'www.shop.test': 9 }));
    for (const { cluster, hosts: own } of entries) table.put(claiming(cluster, own));
    return {
      owners: asked.map((host) => table.find('http', host, '/')?.environment.cluster),
      contested: table
        .contested()
        .map(({ owner }) => owner)
        .toSorted(),
    };
  };
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ({ cluster }) => cluster }), fc.infiniteStream(fc.nat()), (entries, random) => {
      const shuffled = entries.map((one) => ({ one, at: random.next().value as number })).toSorted((a, b) => a.at - b.at);
      expect(ownersIn(shuffled.map(({ one }) => one))).toEqual(ownersIn(entries));
    }),
  );
});

test('listeners hear of what changed, and of nothing else', () => {
  const table = openTable();
  const heard: unknown[] = [];
  table.onChange((cluster, environment) => heard.push([cluster, environment?.version]));
  const environment = at('shop', ['shop.test']);
  table.put(environment);
  table.put(environment);
  table.remove('shop');
  table.remove('shop');
  expect(heard).toEqual([
    ['shop', environment.version],
    ['shop', undefined],
  ]);
});

test('with ten thousand environments a lookup and a change cost what they cost with ten', () => {
  const microseconds = (count: number) => {
    const table = openTable();
    for (let index = 0; index < count; index++) table.put(at(`p${index}`, [`p${index}.shop.test`], [`*.p${index}.shop.test`]));
    const host = `p${count - 1}.shop.test`;
    const changes = Array.from({ length: 2000 }, () => at('p5', ['p5.shop.test'], ['*.p5.shop.test']));
    // Each round is so short that in some of them the machine has nothing else to do.
    const times = Array.from({ length: 50 }, (_, round) => {
      const start = performance.now();
      for (let index = 0; index < 2000; index++) table.find('http', index % 2 ? host : `a.b.${host}`, '/x');
      const middle = performance.now();
      for (const change of changes.slice(round * 40, round * 40 + 40)) table.put(change);
      return { find: (middle - start) / 2, change: (performance.now() - middle) / 0.04 };
    });
    return { find: Math.min(...times.map(({ find }) => find)), change: Math.min(...times.map(({ change }) => change)) };
  };
  const [few, many] = [microseconds(10), microseconds(10_000)];
  expect(many.find).toBeLessThan(few.find * 5 + 1);
  expect(many.change).toBeLessThan(few.change * 5 + 5);
});
