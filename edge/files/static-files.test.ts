import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Exchange, Reply } from '../exchange.ts';
import { answerFromFiles, type FileAnswer, locationOf } from './static-files.ts';
import type { Location, Upstream } from '../routing/table.ts';

let folder = '';
const at = (path: string) => join(folder, path);
const put = async (path: string, text: string | Buffer) => {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), text);
};
const script = 'console.log("some text that is worth compressing");\n'.repeat(100);

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'edge-files-')));
  await put('slug/web/index.html', '<h1>front</h1>');
  await put('slug/web/index.php', '<?php front');
  await put('slug/web/admin/index.php', '<?php admin');
  await put('slug/web/style.css', 'body {}');
  await put('slug/web/app.js', script);
  await put('slug/web/both.js', script);
  await put('slug/web/both.js.br', 'as brotli');
  await put('slug/web/both.js.gz', 'as gzip');
  await put('slug/web/docs/index.html', 'docs');
  await put('slug/web/empty/nothing-to-see.txt', 'x');
  await put('slug/web/image.jpg', Buffer.alloc(1000, 1));
  await put('slug/web/large.bin', Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251)));
  await put('slug/web/sites/settings.php', '<?php secret');
  await put('slug/web/käse & brot.txt', 'bread');
  await put('slug/web/.well-known/x.txt', 'dotted');
  await put('slug/storage/public/stored.txt', 'stored');
  await put('slug/secret.txt', 'not below the root');
  await put('uploads/photo.txt', 'photo');
  await put('outside/passwd.txt', 'OUTSIDE');
  await symlink('/app/storage/public', at('slug/web/absolute'));
  await symlink('../storage/public', at('slug/web/relative'));
  await symlink('relative/stored.txt', at('slug/web/through-two.txt'));
  await symlink('/app/web/uploads/photo.txt', at('slug/web/into-mount.txt'));
  await symlink(at('outside'), at('slug/web/out'));
  await symlink('/etc/passwd', at('slug/web/etc.txt'));
  await symlink('../../../../../../../../../../etc/passwd', at('slug/web/etc-relative.txt'));
  await symlink('/proc/self/environ', at('slug/web/environ.txt'));
  await symlink('loop-b', at('slug/web/loop-a'));
  await symlink('loop-a', at('slug/web/loop-b'));
  await symlink(`${'x/../'.repeat(500)}style.css`, at('slug/web/winding.css'));
  await symlink('../../outside', at('uploads/out'));
  await symlink('/app/web/uploads/..', at('uploads/up'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const location = (more: Partial<Location> = {}): Location => ({
  root: 'web',
  index: ['index.html'],
  expires: '-1s',
  passthru: false,
  allow: true,
  scripts: true,
  headers: {},
  rules: {},
  request_buffering: { enabled: true, max_request_size: '250m' },
  ...more,
});
const upstream = (locations: Record<string, Partial<Location>>, more: Partial<Upstream> = {}): Upstream => ({
  protocol: 'http',
  instances: [],
  app_root: '/app',
  locations: Object.fromEntries(Object.entries(locations).map(([path, it]) => [path, location(it)])),
  files: [
    { at: '/app', folder: at('slug'), is_immutable: true },
    { at: '/app/web/uploads', folder: at('uploads'), is_immutable: false },
  ],
  ...more,
});
const php = (locations: Record<string, Partial<Location>>) => upstream(locations, { protocol: 'fastcgi' });
const get = (url: string, headers: Record<string, string> = {}, method = 'GET'): Exchange => {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return { method, scheme: 'http', host: 'example.com', authority: 'example.com', path, query, headers, address: '192.0.2.1' };
};
const ask = async (to: Upstream, url: string, headers: Record<string, string> = {}, method = 'GET') =>
  answerFromFiles(to, get(url, headers, method));

interface Shown {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}
async function shown(reply: Reply): Promise<Shown> {
  const headers = Object.fromEntries(reply.headers.map(([name, value]) => [name.toLowerCase(), value]));
  if (typeof reply.body !== 'object' || !('file' in reply.body))
    return { status: reply.status, headers, body: Buffer.from(reply.body ?? '') };
  const { file, start, bytes } = reply.body;
  const body = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(body, 0, bytes, start);
  await file.close();
  return { status: reply.status, headers, body: body.subarray(0, bytesRead) };
}
const replied = async (to: Upstream, url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Shown> => {
  const answer = await ask(to, url, headers, method);
  if (answer.kind !== 'reply') throw new Error(`${url}: ${answer.kind}`);
  return shown(answer.reply);
};
/** The text, or the status, or the kind of answer. */
const told = async (to: Upstream, url: string, headers: Record<string, string> = {}, method = 'GET') => {
  const answer = await ask(to, url, headers, method);
  if (answer.kind !== 'reply') return answer.kind;
  const { status, body } = await shown(answer.reply);
  return status === 200 ? body.toString() : status;
};

test('files below the root of the location are sent as what they are', async () => {
  const site = upstream({ '/': {} });
  const { status, headers, body } = await replied(site, '/style.css');
  expect([status, body.toString(), headers['content-type']]).toEqual([200, 'body {}', 'text/css; charset=utf-8']);
  expect(headers).toMatchObject({ 'accept-ranges': 'bytes', vary: 'Accept-Encoding', etag: expect.stringMatching(/^"[\w-]+"$/) });
  expect(headers['cache-control']).toBeUndefined();
  expect((await replied(site, '/image.jpg')).headers).not.toHaveProperty('vary');
  expect(await told(site, '/k%C3%A4se%20%26%20brot.txt')).toBe('bread');
  expect(await told(site, '/.well-known/x.txt')).toBe('dotted');
  expect(await told(site, '/nothing')).toBe('not-found');
  expect(await told(site, '/style.css/')).toBe('not-found');
  expect(await told(site, '/style.css/more')).toBe('not-found');
});

test('the location with the longest path governs, cut at slashes, and its root stands for its path', async () => {
  const site = upstream({
    '/': { root: null, passthru: true },
    '/static': { root: 'web' },
    '/static/deep/': { root: 'storage/public', index: [] },
  });
  expect(await told(site, '/static/style.css')).toBe('body {}');
  expect(await told(site, '/static/deep/stored.txt')).toBe('stored');
  expect(await told(site, '/static/deep/style.css')).toBe('not-found');
  expect(await told(site, '/statics/style.css')).toBe('pass');
  expect(await told(site, '/static../secret.txt')).toBe('pass');
  expect(locationOf(site, '/static/de%65p/x')?.root).toBe('storage/public');
  expect(await told(upstream({}), '/style.css')).toBe('pass');
  expect(await told(upstream({ '/only': {} }), '/style.css')).toBe('pass');
});

test('a folder is its index, and needs its slash', async () => {
  const site = upstream({ '/': { index: ['missing.html', 'index.html'] } });
  expect(await told(site, '/')).toBe('<h1>front</h1>');
  expect(await told(site, '/docs/')).toBe('docs');
  expect((await replied(site, '/docs?a=b')).headers.location).toBe('/docs/?a=b');
  expect((await replied(site, '/docs')).status).toBe(301);
  expect(await told(site, '/empty')).toBe('not-found');
  expect(await told(site, '/empty/')).toBe('forbidden');
  expect(await told(upstream({ '/': { passthru: true } }), '/empty/')).toBe('pass');
  expect(await told(upstream({ '/': { passthru: true, index: [] } }), '/')).toBe('pass');
});

test('what is missing, not allowed or not to be read goes to the application where it may', async () => {
  const site = upstream({ '/': { passthru: true } });
  expect(await told(site, '/nothing')).toBe('pass');
  expect(await told(site, '/style.css', {}, 'POST')).toBe('pass');
  expect(await told(upstream({ '/': { passthru: true, allow: false } }), '/style.css')).toBe('pass');
  expect(await told(upstream({ '/': { allow: false } }), '/style.css')).toBe('forbidden');
  expect(await told(upstream({ '/': { passthru: '/index.php' } }), '/nothing')).toBe('pass');
  const { status, headers } = await replied(upstream({ '/': {} }), '/style.css', {}, 'POST');
  expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
});

test('of the rules the first that matches changes what holds; its headers replace those of the location', async () => {
  const site = upstream({
    '/': {
      allow: false,
      expires: '1h',
      headers: { 'X-Of': 'location' },
      rules: {
        '\\.css$': { allow: true, expires: '2w' },
        '\\.(css|jpg)$': { allow: true, headers: { 'X-Rule': 'yes' } },
        '^/sites/.*\\.txt$': { allow: true },
      },
    },
  });
  const askedAt = Date.now();
  const css = await replied(site, '/style.css');
  expect(css.headers).toMatchObject({ 'cache-control': 'max-age=1209600', 'x-of': 'location' });
  const expiresAt = Date.parse(css.headers.expires ?? '') - 1_209_600_000;
  // It is told in whole seconds.
  expect(expiresAt).toBeGreaterThan(askedAt - 1000);
  expect(expiresAt).toBeLessThanOrEqual(Date.now());
  const jpg = await replied(site, '/image.jpg');
  expect(jpg.headers).toMatchObject({ 'cache-control': 'max-age=3600', 'x-rule': 'yes' });
  expect(jpg.headers).not.toHaveProperty('x-of');
  expect(await told(site, '/app.js')).toBe('forbidden');
  expect(await told(site, '/%73tyle.c%73s')).toBe('body {}');
  expect(await told(site, '/')).toBe('forbidden');
});

test('a rule that cannot be decided lets nothing through', async () => {
  expect(await told(upstream({ '/': { passthru: true, rules: { '(broken': { allow: false } } } }), '/style.css')).toBe('unavailable');
  const slow = upstream({ '/': { rules: { '^(/?[a-z]+)+$x': { allow: false } } } });
  expect(await told(slow, `/${'a'.repeat(2000)}`)).toBe('unavailable');
});

test('headers of the user win, except those that say how a reply is sent', async () => {
  const headers = {
    'cache-control': 'public, immutable',
    'Content-Type': 'text/x-own',
    'Content-Length': '1',
    'Transfer-Encoding': 'x',
    'X-Frame-Options': 'DENY',
  };
  const reply = await ask(upstream({ '/': { expires: '1d', headers } }), '/style.css');
  const lines = reply.kind === 'reply' ? reply.reply.headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`) : [];
  expect(lines).toEqual(expect.arrayContaining(['cache-control: public, immutable', 'content-type: text/x-own', 'x-frame-options: DENY']));
  expect(lines.filter((line) => /^(content-type|content-length|transfer-encoding|expires)/.test(line))).toEqual([
    'content-type: text/x-own',
  ]);
});

test('texts are compressed, by the file beside them or by ourselves, as the client likes it', async () => {
  const site = upstream({ '/': {} });
  const encoded = async (url: string, accept: string) => {
    const { headers, body } = await replied(site, url, { 'accept-encoding': accept });
    expect(headers.vary).toBe(url.endsWith('.jpg') ? undefined : 'Accept-Encoding');
    return [headers['content-encoding'], body] as const;
  };
  expect(await encoded('/both.js', 'gzip, br')).toEqual(['br', Buffer.from('as brotli')]);
  expect(await encoded('/both.js', 'gzip, br;q=0.5')).toEqual(['gzip', Buffer.from('as gzip')]);
  expect(await encoded('/both.js', 'br;q=0, *')).toEqual(['gzip', Buffer.from('as gzip')]);
  expect(await encoded('/both.js', 'identity, deflate')).toEqual([undefined, Buffer.from(script)]);
  const [brotli, made] = await encoded('/app.js', 'br');
  expect([brotli, brotliDecompressSync(made).toString()]).toEqual(['br', script]);
  const [gzip, zipped] = await encoded('/app.js', 'gzip;q=1.0');
  expect([gzip, gunzipSync(zipped).toString()]).toEqual(['gzip', script]);
  expect((await encoded('/style.css', 'br'))[0]).toBeUndefined();
  expect((await encoded('/image.jpg', 'br'))[0]).toBeUndefined();
  expect(
    (await replied(upstream({ '/': { headers: { 'cache-control': 'no-transform' } } }), '/app.js', { 'accept-encoding': 'br' })).headers,
  ).not.toHaveProperty('content-encoding');
});

test('each way it is sent has a tag of its own, and a client that has it is told so', async () => {
  const site = upstream({ '/': { expires: '5m' } });
  const plain = await replied(site, '/app.js');
  const brotli = await replied(site, '/app.js', { 'accept-encoding': 'br' });
  const beside = await replied(site, '/both.js', { 'accept-encoding': 'br' });
  expect(new Set([plain, brotli, beside].map(({ headers }) => headers.etag)).size).toBe(3);
  for (const [url, accept, { headers }] of [
    ['/app.js', '', plain],
    ['/app.js', 'br', brotli],
    ['/both.js', 'br', beside],
  ] as const) {
    const again = await replied(site, url, { 'accept-encoding': accept, 'if-none-match': `W/"other", ${headers.etag}` });
    expect([again.status, again.body.length, again.headers.etag, again.headers['cache-control'], again.headers['content-type']]).toEqual([
      304,
      0,
      headers.etag,
      'max-age=300',
      undefined,
    ]);
  }
  const since = plain.headers['last-modified'] ?? '';
  expect((await replied(site, '/app.js', { 'if-modified-since': since })).status).toBe(304);
  expect((await replied(site, '/app.js', { 'if-modified-since': 'Thu, 01 Jan 2015 00:00:00 GMT' })).status).toBe(200);
  expect((await replied(site, '/app.js', { 'if-modified-since': since, 'if-none-match': '"other"' })).status).toBe(200);
  expect((await replied(site, '/large.bin', { 'if-none-match': '*' })).status).toBe(304);
});

test('files with the time of no time say nothing about it, and differ between deployments', async () => {
  for (const slug of ['slug-1', 'slug-2']) {
    await put(`${slug}/web/same.txt`, slug);
    await utimes(at(`${slug}/web/same.txt`), 1, 1);
  }
  const of = (slug: string) =>
    replied(upstream({ '/': {} }, { files: [{ at: '/app', folder: at(slug), is_immutable: true }] }), '/same.txt');
  const [one, two] = [await of('slug-1'), await of('slug-2')];
  expect(one.headers.etag).not.toBe(two.headers.etag);
  expect(one.headers).not.toHaveProperty('last-modified');
});

test.each<[string, number, string | undefined, [number, number] | undefined]>([
  ['bytes=0-9', 206, 'bytes 0-9/200000', [0, 10]],
  ['bytes=199990-', 206, 'bytes 199990-199999/200000', [199_990, 200_000]],
  ['bytes=-5', 206, 'bytes 199995-199999/200000', [199_995, 200_000]],
  ['bytes=-900000', 206, 'bytes 0-199999/200000', [0, 200_000]],
  ['bytes=100-900000', 206, 'bytes 100-199999/200000', [100, 200_000]],
  ['bytes=200000-', 416, 'bytes */200000', undefined],
  ['bytes=-0', 416, 'bytes */200000', undefined],
  ['bytes=5-2', 200, undefined, [0, 200_000]],
  ['bytes=0-1,5-6', 200, undefined, [0, 200_000]],
  ['bytes=-', 200, undefined, [0, 200_000]],
  ['lines=0-1', 200, undefined, [0, 200_000]],
  ['bytes=99999999999999999999-', 200, undefined, [0, 200_000]],
])('of a range %s comes %d', async (range, status, contentRange, [start, end] = [0, 0]) => {
  const whole = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  const reply = await replied(upstream({ '/': {} }), '/large.bin', { range });
  expect([reply.status, reply.headers['content-range']]).toEqual([status, contentRange]);
  expect(reply.body.equals(whole.subarray(start, end))).toBe(true);
});

test('a range is cut only out of what the client has a part of, and out of what is not compressed', async () => {
  const site = upstream({ '/': {} });
  const { headers } = await replied(site, '/app.js');
  const status = async (ifRange: string) => (await replied(site, '/app.js', { range: 'bytes=0-1', 'if-range': ifRange })).status;
  expect(await status(headers.etag ?? '')).toBe(206);
  expect(await status(headers['last-modified'] ?? '')).toBe(206);
  expect(await status(`W/${headers.etag}`)).toBe(200);
  expect(await status('"other"')).toBe(200);
  const part = await replied(site, '/app.js', { range: 'bytes=0-6', 'accept-encoding': 'br' });
  expect([part.body.toString(), part.headers['content-encoding']]).toEqual(['console', undefined]);
});

test('HEAD has the headers of GET', async () => {
  const site = upstream({ '/': {} });
  for (const url of ['/style.css', '/large.bin', '/app.js'])
    expect((await replied(site, url, { 'accept-encoding': 'br' }, 'HEAD')).headers).toEqual(
      (await replied(site, url, { 'accept-encoding': 'br' })).headers,
    );
});

const scriptOf = (answer: FileAnswer) => (answer.kind === 'script' ? { ...answer, kind: undefined } : answer.kind);

test('for PHP a script that is there is run, with what comes after it as its path', async () => {
  const site = php({ '/': { index: ['index.php'] } });
  const front = { script: '/app/web/index.php', scriptName: '/index.php', root: '/app/web', pathInfo: '' };
  expect(scriptOf(await ask(site, '/index.php'))).toEqual(front);
  expect(scriptOf(await ask(site, '/', {}, 'POST'))).toEqual(front);
  expect(scriptOf(await ask(site, '/index.php/a/b.php'))).toEqual({ ...front, pathInfo: '/a/b.php' });
  expect(scriptOf(await ask(site, '/admin/'))).toEqual({
    script: '/app/web/admin/index.php',
    scriptName: '/admin/index.php',
    root: '/app/web',
    pathInfo: '',
  });
  expect(scriptOf(await ask(site, '/missing.php'))).toBe('not-found');
  expect(scriptOf(await ask(site, '/image.jpg/x.php'))).toBe('not-found');
  expect(scriptOf(await ask(site, '/style.css'))).toBe('reply');
});

test('the source of a script is never sent', async () => {
  for (const more of [{ scripts: false }, { rules: { '^/sites/': { scripts: false } } }]) {
    expect(await told(php({ '/': more }), '/sites/settings.php')).toBe('forbidden');
    expect(await told(php({ '/': more }), '/sites/settings.PHP')).toBe('not-found');
  }
  expect(scriptOf(await ask(php({ '/': { scripts: false, passthru: '/index.php' } }), '/sites/settings.php'))).toMatchObject({
    scriptName: '/index.php',
  });
});

test('for PHP the front controller is a path of the site, found by its own location', async () => {
  const site = php({
    '/': { passthru: '/index.php' },
    '/files': { root: 'storage/public', passthru: '/index.php' },
    '/admin': { root: 'web/admin', passthru: '/admin/index.php', index: ['index.php'] },
  });
  const front = { script: '/app/web/index.php', scriptName: '/index.php', root: '/app/web', pathInfo: '' };
  expect(scriptOf(await ask(site, '/a/pretty/path'))).toEqual(front);
  expect(scriptOf(await ask(site, '/files/not-there.txt'))).toEqual(front);
  expect(await told(site, '/files/stored.txt')).toBe('stored');
  expect(scriptOf(await ask(site, '/admin/users'))).toEqual({
    script: '/app/web/admin/index.php',
    scriptName: '/admin/index.php',
    root: '/app/web/admin',
    pathInfo: '',
  });
  expect(scriptOf(await ask(php({ '/': { passthru: '/gone.php' } }), '/a'))).toBe('not-found');
  expect(scriptOf(await ask(php({ '/': { passthru: '/style.css' } }), '/a'))).toBe('not-found');
  expect(scriptOf(await ask(php({ '/': { passthru: true, index: ['index.php'] } }), '/a'))).toEqual(front);
  const rules = { '^/go/(.*)$': { passthru: '/index.php?to=$1' } };
  expect(scriptOf(await ask(php({ '/': { rules } }), '/go/a%20b'))).toEqual({ ...front, query: 'to=a%20b' });
});

test('links lead where they lead in the container, and nowhere else', async () => {
  const site = upstream({ '/': { index: [] } });
  expect(await told(site, '/absolute/stored.txt')).toBe('stored');
  expect(await told(site, '/relative/stored.txt')).toBe('stored');
  expect(await told(site, '/through-two.txt')).toBe('stored');
  expect(await told(site, '/into-mount.txt')).toBe('photo');
  expect(await told(site, '/uploads/photo.txt')).toBe('photo');
  expect(await told(site, '/uploads/up/style.css')).toBe('body {}');
  for (const path of [
    '/out/passwd.txt',
    '/etc.txt',
    '/etc-relative.txt',
    '/environ.txt',
    '/loop-a',
    '/uploads/out/passwd.txt',
    '/winding.css',
  ])
    expect([path, await told(site, path)]).toEqual([path, 'not-found']);
});

test('no spelling of a path leads out of the root', async () => {
  const site = upstream({ '/': { index: [] }, '/static': { root: 'web' } });
  const steps = ['..', '%2e%2e', '.%2e', '%2E.', '%252e%252e', '..%00', '..%5c', '..\\', '%c0%ae%c0%ae', '..;', '...', '．．'];
  const slashes = ['/', '%2f', '%5c', '\\', '//', '/./', '%252f'];
  const paths = steps.flatMap((step) =>
    slashes.flatMap((slash) => [
      `/${step}${slash}secret.txt`,
      `/docs/${step}${slash}${step}${slash}secret.txt`,
      `/static/${step}${slash}secret.txt`,
      `/static${step}${slash}secret.txt`,
    ]),
  );
  for (const path of [
    ...paths,
    '//etc/passwd',
    '/%2fetc/passwd',
    '/\0',
    '/%00',
    '/style.css%00.jpg',
    '/docs//index.html',
    '/./style.css',
    '/docs/../style.css',
    '/%',
  ]) {
    expect([path, await told(site, path)]).toEqual([path, expect.stringMatching(/^(?:not-found|bad-request)$/)]);
  }
});

test('a path as long as a request may have costs no more than others', async () => {
  for (const site of [upstream({ '/': {}, '/a': {}, '/b/c': {} }), php({ '/': { passthru: '/index.php' } })]) {
    for (const path of ['/'.repeat(30_000), '/a'.repeat(15_000), '/a.php'.repeat(5000), '/%61'.repeat(7500), `/${'..'.repeat(15_000)}`]) {
      const start = process.threadCpuUsage();
      await ask(site, path);
      expect(process.threadCpuUsage(start).user / 1000).toBeLessThan(50);
    }
  }
});

test('what is no file is none: pipes, sockets, devices, folders', async () => {
  const pipe = spawn('mkfifo', [at('uploads/pipe.txt')]);
  await new Promise((resolve) => pipe.on('exit', resolve));
  expect(await told(upstream({ '/': { index: [] } }), '/uploads/pipe.txt')).toBe('not-found');
});

test('what changes is seen at once where it may change', async () => {
  const site = upstream({ '/': {} });
  expect(await told(site, '/uploads/new.txt')).toBe('not-found');
  await put('uploads/new.txt', 'one');
  const { headers } = await replied(site, '/uploads/new.txt');
  await put('uploads/new.txt', 'two');
  expect((await replied(site, '/uploads/new.txt', { 'if-none-match': headers.etag ?? '' })).body.toString()).toBe('two');
  await rm(at('uploads/new.txt'));
  expect(await told(site, '/uploads/new.txt')).toBe('not-found');
});

/** A program that swaps a folder for a link to the outside and back, as fast as it can. */
const exchanging = `
const { renameSync, symlinkSync, mkdirSync, writeFileSync } = require('node:fs');
const [inside, outside] = process.argv.slice(1);
mkdirSync(inside + '/real'); writeFileSync(inside + '/real/passwd.txt', 'inside'); writeFileSync(inside + '/real/large.txt', Buffer.alloc(100000, 'i'));
symlinkSync(outside, inside + '/link');
console.log('ready');
for (;;) {
  renameSync(inside + '/real', inside + '/kept');
  renameSync(inside + '/link', inside + '/real');
  renameSync(inside + '/real', inside + '/link');
  renameSync(inside + '/kept', inside + '/real');
}
`;

test('while the application swaps folders for links, not one byte from outside is sent', async () => {
  await put('outside/large.txt', Buffer.alloc(100_000, 'O'));
  await mkdir(at('uploads/race'));
  const child = spawn(process.execPath, ['-e', exchanging, at('uploads/race'), at('outside')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const site = upstream({ '/': {} });
    const seen = new Map<string, number>();
    const until = performance.now() + 6000;
    const isRare = (text: string) => (seen.get(text) ?? 0) <= 10;
    while (performance.now() < until || isRare('inside') || isRare('not-found')) {
      for (const path of ['/uploads/race/real/passwd.txt', '/uploads/race/real/large.txt']) {
        const text = String(await told(site, path)).slice(0, 10);
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    }
    expect([...seen.keys()].filter((text) => !['inside', 'iiiiiiiiii', 'not-found'].includes(text))).toEqual([]);
    expect(seen.get('inside')).toBeGreaterThan(10);
    expect(seen.get('not-found')).toBeGreaterThan(10);
  } finally {
    child.kill('SIGKILL');
    // What it was in the middle of is done before the folder is removed.
    await exited;
  }
});
