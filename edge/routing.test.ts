import { expect, test } from 'vitest';
import { openTable } from './routing.ts';
import { environmentOf, upstreamRoute } from './test-edge.ts';

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

test('a host that two claim belongs to the first until it lets go; then to the second', () => {
  const table = openTable();
  table.put(at('first', ['shop.test'], ['other.test']));
  table.put(at('second', ['shop.test']));
  const owner = () => table.find('http', 'shop.test', '/')?.environment.cluster;
  expect(owner()).toBe('first');
  expect(table.contested()).toEqual([{ host: 'shop.test', owner: 'first', others: ['second'] }]);
  table.put(at('first', ['shop.test']));
  expect(owner()).toBe('first');
  table.put(at('first', ['other.test']));
  expect(owner()).toBe('second');
  table.put(at('first', ['shop.test']));
  expect(owner()).toBe('second');
  expect([table.remove('second'), table.remove('second')]).toEqual([true, false]);
  expect(owner()).toBe('first');
  table.remove('first');
  expect(owner()).toBeUndefined();
  expect(table.contested()).toEqual([]);
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
