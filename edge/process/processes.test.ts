/** What the processes of the edge keep, write and refuse; e2e/edge.test.ts kills and replaces them under load. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lineOf, openEnvironmentLogs, rotateEnvironmentLog } from '../logs/environment-logs.ts';
import { parseEnvironment } from '../routing/environment-schema.ts';
import { logBytesMax, rotateLog } from '../logs/rotate-log.ts';
import { batchesIn, frameOfBatch } from '../logs/batch-frames.ts';
import { openRecords, type ToldBatch } from '../logs/records.ts';
import { requestsIn } from '../logs/request-batch.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import { openTable } from '../routing/routing.ts';
import { Refused } from '../routing/schema.ts';
import { openAppsByCluster } from '../routing/served-apps.ts';
import { platformCluster } from '../routing/table.ts';
import { openTableFolder } from '../routing/table-folder.ts';
import { startApplication, type TestApplication } from '../testing/application.ts';
import { environmentWith, type RunningEdge, startRunningEdge } from '../testing/running-edge.ts';

const record = (changes: Partial<RequestRecord> = {}): RequestRecord => ({
  at: Date.UTC(2026, 10, 9, 8, 7, 6),
  request_id: 'f00d',
  cluster: 'shop',
  route: 'http://{default}/',
  instance: 'one',
  method: 'GET',
  scheme: 'http',
  host: 'shop.localhost',
  path: '/cart',
  query: 'id=1',
  status: 200,
  bytes_in: 0,
  bytes_out: 512,
  held_ms: 0,
  connect_ms: 0,
  first_byte_ms: 3,
  total_ms: 12,
  address: '192.0.2.7',
  user_agent: 'curl/8',
  referer: '',
  cache: null,
  aborted: false,
  note: null,
  ...changes,
});

const instance = { id: 'one', address: { host: '127.0.0.1', port: 1 } };
const folders: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-edge-'));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

describe('an environment that comes in', () => {
  const flawsOf = (value: unknown): Record<string, string> => {
    try {
      parseEnvironment(value);
      return {};
    } catch (error) {
      if (error instanceof Refused) return error.fields;
      throw error;
    }
  };
  const sound = environmentWith('shop', 1, [instance, { id: 'two', address: { socket: '/run/app.sock' } }]);

  test('fits when it is whole', () => {
    expect(flawsOf(sound)).toEqual({});
    expect(flawsOf({ ...sound, state: 'holding', holds_until: 7 })).toEqual({});
  });

  test('is refused with every bad field by name', () => {
    const [route] = sound.routes;
    expect(
      flawsOf({
        ...sound,
        cluster: '../etc',
        version: 1.5,
        color: 'red',
        routes: [{ ...route, host: 'Shop:80', path: 'x', upstream: 'api' }],
      }),
    ).toEqual({
      cluster: 'must be of lower-case letters, digits and dashes',
      version: `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
      color: 'is not a known field',
      'routes.0.host': 'must be a host in lower case, without port',
      'routes.0.path': 'must be a path that begins and ends with a slash',
    });
    expect(flawsOf({ ...sound, upstreams: {} })).toEqual({ 'routes.0.upstream': 'is not among upstreams' });
    expect(flawsOf({ ...sound, routes: [{ type: 'nothing' }] })).toEqual({ 'routes.0.type': 'must be one of upstream, redirect, proxy' });
    expect(flawsOf({ ...sound, holds_until: 7 })).toEqual({ holds_until: 'is only for one that is holding' });
    expect(flawsOf({ ...sound, state: 'holding', holds_until: '7' })).toHaveProperty('holds_until');
    expect(flawsOf(null)).toEqual({ 'The environment': 'must be an object' });
  });

  test('may have fifty thousand redirects of paths, and no more', () => {
    const redirect = { to: '/to', regexp: false, prefix: true, append_suffix: true, code: 302, expires: null };
    const withPaths = (count: number) => {
      const paths = Object.fromEntries(Array.from({ length: count }, (_, index) => [`/from/${index}`, redirect]));
      const [route] = environmentWith('shop', 1, [instance]).routes;
      return flawsOf({ ...sound, routes: [{ ...route, redirects: { expires: '-1s', paths } }] });
    };
    expect(withPaths(50_000)).toEqual({});
    expect(withPaths(50_001)).toEqual({ 'routes.0.redirects.paths': 'must have 50000 fields at most' });
  });

  test('cannot bring a header that would become two', () => {
    const location = {
      root: 'public',
      index: ['index.html'],
      rules: { '\\.css$': { expires: '1d' } },
      request_buffering: { enabled: true, max_request_size: '250m' },
      allow: true,
      scripts: true,
      passthru: '/index.php',
      expires: '-1s',
      headers: { 'X-Fine': 'yes' },
    };
    const withHeaders = (headers: Record<string, string>) => {
      const app = { ...environmentWith('shop', 1, [instance]).upstreams['app'], locations: { '/': { ...location, headers } } };
      return flawsOf({ ...sound, upstreams: { app } });
    };
    expect(withHeaders({ 'X-Fine': 'yes' })).toEqual({});
    expect(withHeaders({ 'X-Bad': 'yes\r\nSet-Cookie: a=b' })).toEqual({
      'upstreams.app.locations./.headers.X-Bad': 'must be the value of a header',
    });
    expect(withHeaders({ 'X Bad': 'yes' })).toEqual({ 'upstreams.app.locations./.headers.X Bad': 'must be the name of a header' });
  });
});

describe('the table on disk', () => {
  test('comes back as it was, without what was removed', async () => {
    const folder = openTableFolder(newFolder());
    folder.load();
    const [shop, blog] = [environmentWith('shop', 3, [instance]), environmentWith('blog', 1, [instance])];
    await Promise.all([folder.write(shop), folder.write(blog)]);
    await folder.remove('blog');
    expect(folder.load()).toEqual({ environments: [shop], setAside: [] });
  });

  test('what was kept from before the machine was started, or everything on it taken down, is on hold until it is sent again', async () => {
    for (const isOver of [(boot: string) => writeFileSync(boot, 'another'), (boot: string) => rmSync(boot)]) {
      const path = newFolder();
      const folder = openTableFolder(path);
      folder.load();
      const [shop, blog, wiki] = [
        environmentWith('shop', 3, [instance]),
        { ...environmentWith('blog', 1, [instance]), state: 'paused' as const },
        { ...environmentWith('wiki', 1, [instance]), state: 'holding' as const, holds_until: Date.now() },
      ];
      await Promise.all([folder.write(shop), folder.write(blog), folder.write(wiki)]);
      expect(folder.read('wiki')).toEqual(wiki);
      isOver(join(path, 'boot'));
      const states = () => Object.fromEntries(folder.load().environments.map(({ cluster, state }) => [cluster, state]));
      expect(states()).toEqual({ shop: 'holding', blog: 'paused', wiki: 'holding' });
      expect(states()).toEqual({ shop: 'holding', blog: 'paused', wiki: 'holding' });
      expect(folder.read('wiki')?.holds_until).toBeUndefined();
      await folder.write({ ...shop, version: 4 });
      expect(states()).toEqual({ shop: 'open', blog: 'paused', wiki: 'holding' });
    }
  });

  test('a file that cannot be read is set aside, and the others are served', async () => {
    const path = newFolder();
    const folder = openTableFolder(path);
    await folder.write(environmentWith('shop', 3, [instance]));
    writeFileSync(join(path, 'blog.json'), '{"cluster": "blo');
    writeFileSync(join(path, 'wiki.json'), JSON.stringify(environmentWith('shop', 9, [])));
    writeFileSync(join(path, 'shop.json.1.2.new'), '{"clus');
    const { environments, setAside } = folder.load();
    expect(environments.map(({ cluster }) => cluster)).toEqual(['shop']);
    expect(setAside.toSorted()).toEqual(['blog.json', 'wiki.json']);
    expect(readdirSync(path).toSorted()).toEqual(['blog.json.unreadable', 'boot', 'shop.json', 'wiki.json.unreadable']);
  });
});

describe('the access log', () => {
  test('has a line for each request', () => {
    expect(lineOf(record())).toBe('192.0.2.7 - - [09/Nov/2026:08:07:06 +0000] "GET /cart?id=1 HTTP/1.1" 200 512 "-" "curl/8" 0.012 f00d\n');
  });

  test('shows nothing that could end a line or a quoted part of it', () => {
    const hostile = 'a"b\\c\nd\re\tf\0g\u001b[31mh\u0085\u2028é';
    const line = lineOf(
      record({ user_agent: hostile, referer: hostile, path: `/${hostile}`, query: hostile, request_id: hostile, method: hostile }),
    );
    expect(line.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
    expect(line).toContain('"a\\x22b\\x5Cc\\x0Ad\\x0De\\x09f\\x00g\\x1B[31mh\\x85\\x2028\\xE9"');
    expect(line.match(/(?<!\\)"/g)).toHaveLength(6);
  });

  test('bounds what it shows of a request', () => {
    expect(lineOf(record({ user_agent: 'x'.repeat(30_000) })).length).toBeLessThan(2500);
  });

  /** `shop` with the app `app` and a route that leads elsewhere, as the table has it. */
  const apps = () => {
    const table = openTable();
    const environment = environmentWith('shop', 1, [instance]);
    const [route] = environment.routes;
    if (route)
      environment.routes.push({ ...route, type: 'redirect', to: 'http://elsewhere.localhost/', original_url: 'http://old/', host: 'old' });
    table.put(environment);
    return { table, known: openAppsByCluster(table) };
  };
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

  test('is that of the app that the route led to; what led to none is kept apart', async () => {
    const logs = newFolder();
    const log = openEnvironmentLogs(logs, apps().known, () => {});
    log.write(record({ path: '/served' }));
    log.write(record({ path: '/moved', route: 'http://old/', instance: null, status: 301 }));
    log.write(record({ path: '/lost', route: null, instance: null, status: 404 }));
    await log.close();
    expect(read(logs, 'shop', 'app', 'access.log')).toMatch(/^.+"GET \/served\?.+\n$/);
    expect(read(logs, 'shop', '@edge', 'access.log')).toMatch(/^.+"GET \/moved\?.+\n.+"GET \/lost\?.+\n$/);
  });

  test('says nothing of what is asked of the platform itself', async () => {
    const logs = newFolder();
    const { table, known } = apps();
    table.put({ ...environmentWith('shop', 1, [instance]), cluster: platformCluster });
    const log = openEnvironmentLogs(logs, known, () => {});
    log.write(record({ cluster: platformCluster, status: 502, note: 'connection refused' }));
    await log.close();
    expect(readdirSync(logs)).toEqual([]);
  });

  test('has beside it why requests failed and what instances said, a bounded part of it, on lines of their own', async () => {
    const logs = newFolder();
    const log = openEnvironmentLogs(logs, apps().known, () => {});
    log.write(record({ status: 502, note: 'connection refused' }));
    log.writeError('shop', 'one', 'PHP Warning: "x"\n\u001b[31mred\n');
    log.writeError('shop', 'one', 'y'.repeat(1_000_000));
    log.writeError('shop', 'drained before', 'last words');
    await log.close();
    const [zeroth, first, second, third] = read(logs, 'shop', 'app', 'error.log').split('\n');
    expect([zeroth, first, second].map((line) => line?.replace(/^\[.+?\] /, ''))).toEqual([
      'one: connection refused; 192.0.2.7 "GET /cart" 502 f00d',
      'one: PHP Warning: \\x22x\\x22',
      'one: \\x1B[31mred',
    ]);
    expect(third?.length).toBeLessThan(2500);
    expect(read(logs, 'shop', '@edge', 'error.log')).toContain('drained before: last words');
  });

  test('makes no folder again for an environment that is gone', async () => {
    const logs = newFolder();
    const { table, known } = apps();
    const log = openEnvironmentLogs(logs, known, () => {});
    log.write(record());
    table.remove('shop');
    await log.close();
    expect(readdirSync(logs)).toEqual([]);
    expect(log.dropped).toBe(1);
  });

  test('is put aside when it is full, twice; older ones are gone, and it stays the same file', async () => {
    const logs = newFolder();
    const full: string[] = [];
    const log = openEnvironmentLogs(logs, apps().known, (name) => full.push(name));
    for (let line = 0; line < 5000; line++) log.write(record({ user_agent: 'x'.repeat(2000) }));
    await log.close();
    const file = join(logs, 'shop', 'app', 'access.log');
    const inode = statSync(file).ino;
    expect(full).toEqual(['shop/app/access.log']);
    expect(log.dropped).toBe(0);
    for (const first of ['1', '2', '3']) {
      writeFileSync(file, first.repeat(logBytesMax + 1));
      await rotateLog(file);
    }
    await rotateEnvironmentLog(logs, 'shop/app/access.log');
    expect([statSync(file).ino, statSync(file).size]).toEqual([inode, 0]);
    expect(readdirSync(join(logs, 'shop', 'app')).toSorted()).toEqual(['access.log', 'access.log.1', 'access.log.2']);
    expect([1, 2].map((age) => read(`${file}.${age}`)[0])).toEqual(['3', '2']);
  });

  test('loses no line while it is put aside, whoever writes', async () => {
    const logs = newFolder();
    const { known } = apps();
    const writers = [1, 2].map(() => openEnvironmentLogs(logs, known, () => {}));
    const file = join(logs, 'shop', 'app', 'access.log');
    mkdirSync(join(logs, 'shop', 'app'), { recursive: true });
    writeFileSync(file, `${'x'.repeat(logBytesMax)}\n`);
    const isCut = new AbortController();
    const cutting = rotateEnvironmentLog(logs, 'shop/app/access.log').finally(() => isCut.abort());
    let written = 0;
    for (const until = Date.now() + 3500; !isCut.signal.aborted || Date.now() < until; await sleep(5))
      for (const writer of writers) writer.write(record({ request_id: String(written++) }));
    await Promise.all([cutting, ...writers.map((writer) => writer.close())]);
    const lines = `${read(`${file}.1`)}${read(file)}`.split('\n').filter((line) => line.startsWith('192'));
    expect(new Set(lines.map((line) => line.split(' ').at(-1))).size).toBe(written);
    expect(lines).toHaveLength(written);
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  test('drops and counts what cannot be written, and what finds no room', async () => {
    const logs = newFolder();
    writeFileSync(join(logs, 'shop'), 'a file where the folder should be');
    const log = openEnvironmentLogs(logs, apps().known, () => {});
    for (let line = 0; line < 10_000; line++) log.write(record({ user_agent: 'x'.repeat(2000) }));
    await log.close();
    expect(log.dropped).toBe(10_000);
  });
});

describe('records', () => {
  const table = openTable();
  table.put(environmentWith('shop', 1, [instance]));
  const known = openAppsByCluster(table);
  const requestsOf = (told: readonly ToldBatch[]) => told.flatMap(requestsIn);
  const openTaking = (isAnybodyThere = () => true) => {
    const told: ToldBatch[] = [];
    const records = openRecords(known, async (batch) => {
      if (isAnybodyThere()) told.push(structuredClone(batch));
      return isAnybodyThere();
    });
    return { records, told };
  };

  test('wait for a reader, the latest of them, and say how many were dropped', async () => {
    const { records, told } = openTaking();
    for (let nth = 0; nth < 25_000; nth++) records.push(record({ bytes_in: nth }));
    await sleep(600);
    expect(told).toEqual([]);
    const { dropped } = records;
    expect(dropped).toBeGreaterThan(4000);
    expect(dropped).toBeLessThan(6000);
    records.want(true);
    await records.close();
    expect(told.map((batch) => batch.dropped)).toEqual([dropped, ...told.slice(1).map(() => 0)]);
    expect(requestsOf(told).map(({ bytesIn }) => bytesIn)).toEqual(Array.from({ length: 25_000 - dropped }, (_, nth) => nth + dropped));
  });

  test('are told as they were, cut where they are long, without values of queries; those of the platform, and of nobody, are not', async () => {
    const { records, told } = openTaking();
    records.want(true);
    records.push(record({ query: 'a=1&b=x%3Dy=z&c', user_agent: '\u00e9'.repeat(1000), cache: 'HIT', instance: null, total_ms: 1.2345 }));
    records.push(record({ path: `/${'x'.repeat(5000)}`, query: '', route: null, bytes_in: 2 ** 40 }));
    records.push(record({ cluster: platformCluster }));
    records.push(record({ cluster: null }));
    await records.close();
    const common = {
      at: record().at,
      cluster: 'shop',
      method: 'GET',
      host: 'shop.localhost',
      address: '192.0.2.7',
      status: 200,
      bytesOut: 512,
    };
    expect(requestsOf(told)).toEqual([
      {
        ...common,
        application: 'app',
        instance: '',
        url: '/cart?a&b&c',
        userAgent: '\u00e9'.repeat(512),
        microseconds: 1235,
        bytesIn: 0,
        isFromCache: true,
      },
      {
        ...common,
        application: '',
        instance: 'one',
        url: `/${'x'.repeat(2047)}`,
        userAgent: 'curl/8',
        microseconds: 12_000,
        bytesIn: 2 ** 40,
        isFromCache: false,
      },
    ]);
  });

  test('make nothing wait for a reader that does not read, and take no more memory for long addresses', () => {
    const records = openRecords(known, () => new Promise(() => {}));
    records.want(true);
    for (let nth = 0; nth < 100_000; nth++) records.push(record());
    expect(records.dropped).toBeGreaterThan(79_000);
    const before = process.memoryUsage().arrayBuffers;
    for (let nth = 0; nth < 20_000; nth++) records.push(record({ path: `/${'x'.repeat(2000)}` }));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2e6);
    expect(records.dropped).toBeGreaterThan(115_000);
  });

  test('that nobody was there to take are told again, once; those that may have been taken are not', async () => {
    let readers = 0;
    const { records, told } = openTaking(() => readers > 0);
    records.want(true);
    records.push(record());
    await sleep(600);
    expect(told).toEqual([]);
    readers = 1;
    await expect.poll(() => requestsOf(told).length).toBe(1);
    expect(records.dropped).toBe(0);
    const lost = openRecords(known, () => Promise.reject(new Error('gone')));
    lost.want(true);
    lost.push(record());
    await lost.close();
    expect(lost.dropped).toBe(1);
  });

  test('pass a stream in pieces of any size, and what is something else is refused', async () => {
    const { records, told } = openTaking();
    records.want(true);
    for (let nth = 0; nth < 1000; nth++) records.push(record({ bytes_in: nth }));
    await records.close();
    const bytes = Buffer.concat(told.map(frameOfBatch));
    async function* inPieces() {
      for (let from = 0; from < bytes.length; from += 777) yield bytes.subarray(from, from + 777);
    }
    const read: number[] = [];
    for await (const batch of batchesIn(inPieces())) read.push(...requestsIn(batch).map(({ bytesIn }) => bytesIn));
    expect(read).toEqual(Array.from({ length: 1000 }, (_, nth) => nth));
    async function* garbage() {
      yield Buffer.from('{"at":1,"request_id":"f00d"}\n');
    }
    await expect(batchesIn(garbage()).next()).rejects.toThrow('too long');
    expect(() => requestsIn({ rows: new Uint8Array(56), text: Buffer.from('x') })).toThrow('not whole');
  });
});

describe('an edge in its processes', () => {
  let running: RunningEdge;
  let one: TestApplication;
  beforeAll(async () => {
    [running, one] = await Promise.all([startRunningEdge({ processes: 2 }), startApplication('one')]);
  });
  afterAll(async () => {
    await Promise.all([running[Symbol.asyncDispose](), one.kill()]);
  });

  test('has only the rights it needs, and keeps its control socket to itself', async () => {
    const { pid, processes } = await running.edge.status();
    expect(statSync(join(running.options.folder, 'control.sock')).mode & 0o777).toBe(0o600);
    if (process.getuid?.() !== 0) return;
    for (const each of [pid, ...processes.map((it) => it.pid)]) {
      const status = readFileSync(`/proc/${each}/status`, 'utf8');
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      // Reading and searching, and writing to sockets, of others: nothing else, now or later.
      for (const set of ['Prm', 'Eff', 'Bnd']) expect(status).toMatch(new RegExp(`^Cap${set}:\t0000000000000006$`, 'm'));
      expect(status).not.toMatch(/^Uid:\t0/m);
    }
  });

  test('takes the higher version of an environment, and forgets what is not to be kept', async () => {
    await running.edge.put(environmentWith('shop', 2, [one.instance]));
    await running.edge.put(environmentWith('shop', 1, []));
    await running.edge.put(environmentWith('blog', 1, [one.instance]));
    expect(await running.edge.list()).toEqual({ shop: 2, blog: 1 });
    expect((await running.get('shop.localhost')).body).toBe('one');
    expect(await running.edge.keepOnly(['shop'])).toEqual(['blog']);
    await running.edge.remove('nothing');
    expect(await running.edge.list()).toEqual({ shop: 2 });
    expect((await running.get('blog.localhost')).status).toBe(404);
  });

  test('refuses what does not fit, with the fields, and serves on as before', async () => {
    const broken = { ...environmentWith('shop', 9, [one.instance]), state: 'asleep' } as never;
    await expect(running.edge.put(broken)).rejects.toMatchObject({
      kind: 'invalid-request',
      fields: { state: expect.stringContaining('must be one of') },
    });
    expect((await running.get('shop.localhost')).body).toBe('one');
  });

  test('writes down each request, and hands it to whoever reads records', async () => {
    await running.edge.put(environmentWith('shop', 3, [one.instance]));
    const stopping = new AbortController();
    const read: unknown[] = [];
    const reading = (async () => {
      for await (const { requests } of running.edge.records(stopping.signal)) read.push(...requests);
    })();
    const path = `/found-${Date.now()}`;
    await running.get('shop.localhost', `${path}?a=b`);
    await expect
      .poll(() => read)
      .toContainEqual(expect.objectContaining({ cluster: 'shop', application: 'app', url: `${path}?a`, status: 200, instance: 'one' }));
    await expect.poll(() => running.accessLog('shop')).toContain(`"GET ${path}?a=b HTTP/1.1" 200`);
    stopping.abort();
    await reading;
  });

  test('with ten thousand environments it starts and serves each; a change of one touches no other', { timeout: 240_000 }, async () => {
    const count = 10_000;
    const table = join(running.options.folder, 'table');
    mkdirSync(table, { recursive: true });
    for (let nth = 0; nth < count; nth++)
      writeFileSync(join(table, `many-${nth}.json`), JSON.stringify(environmentWith(`many-${nth}`, 1, [one.instance])));
    await running.reopen({ routerName: 'many' });
    const written = () => new Map(readdirSync(table).map((name) => [name, statSync(join(table, name)).mtimeMs]));
    const before = written();
    await running.edge.put(environmentWith('shop', 1000, [one.instance]));
    expect([...written()].filter(([name, at]) => at !== before.get(name)).map(([name]) => name)).toEqual(['shop.json']);
    const { pid } = await running.edge.status();
    process.kill(pid, 'SIGKILL');
    await expect.poll(async () => (await running.edge.status()).pid, { timeout: 60_000 }).not.toBe(pid);
    for (const nth of [0, count - 1]) expect((await running.get(`many-${nth}.localhost`)).body).toBe('one');
    await running.edge.keepOnly(['shop']);
    expect(readdirSync(table).toSorted()).toEqual(['boot', 'shop.json']);
  });
});

test('a process that takes long to start is waited for', { timeout: 120_000 }, async () => {
  await using running = await startRunningEdge();
  const { pid, processes } = await running.edge.status();
  const [first] = processes.map((serving) => serving.pid);
  process.kill(first ?? 0, 'SIGKILL');
  const next = await startedBy(pid, first);
  process.kill(next, 'SIGSTOP');
  await sleep(slowStartMilliseconds);
  process.kill(next, 'SIGCONT');
  await expect.poll(async () => (await running.edge.status()).processes.map((serving) => serving.pid), { timeout: 60_000 }).toEqual([next]);
});

/** Longer than a process that serves may take to answer. */
const slowStartMilliseconds = 17_000;

/** In its first moment as the program that it is to be. */
async function startedBy(parent: number, before: number | undefined): Promise<number> {
  const isServing = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/process.ts');
  for (;;) {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    const started = children.find((child) => child !== before && isServing(child));
    if (started !== undefined) return started;
    await sleep(1);
  }
}
