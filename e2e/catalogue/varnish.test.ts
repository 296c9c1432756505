/** Varnish as people wire it: a route leads to it, and it to the instances of an app, whichever run at the moment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { firstPerson, openProject, type Project } from '../open-project.ts';
import { visit, visitConstantly } from '../visit.ts';

const millisecondsMax = 500_000;
let installation: Installation;
let project: Project;

const configuration = (type: string) => `
applications:
  shop:
    type: nodejs:24
    web: {commands: {start: exec node server.mjs}}
services:
  cache:
    type: ${type}
    relationships: {shop: 'shop:http'}
    configuration:
      vcl: !include {type: string, path: cache.vcl}
routes:
  https://{default}/: {type: upstream, upstream: 'cache:http', cache: {enabled: false}}
`;

const rules = `
sub vcl_recv {
  set req.backend_hint = shop.backend();
  if (req.url ~ "^/fresh") { return (pass); }
}
sub vcl_deliver { set resp.http.X-Hits = obj.hits; }
`;

const server = (words: string) => `
import { createServer } from 'node:http';
let count = 0;
createServer((request, response) => {
  response.setHeader('cache-control', 'max-age=600');
  response.end(['${words}', request.method, request.url, request.headers['x-forwarded-proto'] ? 'forwarded' : '', ++count].join(' '));
}).listen(Number(process.env.PORT));
`;

const files = (type: string, words: string) => ({
  '.upsun/config.yaml': configuration(type),
  '.upsun/cache.vcl': rules,
  'server.mjs': server(words),
});

beforeAll(async () => {
  if (!canRunContainers) return;
  installation = await createInstallation(plainHttp);
  const platform = await installation.start();
  project = await openProject(await firstPerson(installation.url, platform), { activitySecondsMax: 400, lookMilliseconds: 0 });
}, millisecondsMax);
afterAll(() => installation?.[Symbol.asyncDispose](), millisecondsMax);

describe.runIf(canRunContainers)(`varnish${whyNoContainers}`, { timeout: millisecondsMax }, () => {
  test('keeps pages of the app as its rules say, and finds the instances of each deployment', async () => {
    await project.write(files('varnish:7.7', 'first'), 'First');
    expect(await project.push('main')).toContain('is served by service `cache`');
    const address = await project.address('main');
    const page = (path: string) => visit(new URL(path, address).href);
    expect(await page('/kept')).toMatchObject({ status: 200, text: 'first GET /kept forwarded 1', headers: { 'x-hits': '0' } });
    expect(await page('/kept')).toMatchObject({ status: 200, text: 'first GET /kept forwarded 1', headers: { 'x-hits': '1' } });
    expect((await page('/fresh')).text).toBe('first GET /fresh forwarded 2');

    await using visits = visitConstantly(new URL('/fresh', address).href, ({ status }) => status === 200);
    await project.write({ 'server.mjs': server('second') }, 'Second');
    await project.push('main');
    expect((await page('/fresh')).text).toMatch(/^second GET/);
    expect((await page('/kept')).text).toBe('first GET /kept forwarded 1');
    expect((await visits.stop()).failures).toEqual([]);

    await project.act('/environments/main/branch', { name: 'other' });
    expect((await visit(new URL('/kept', await project.address('other')).href)).text).toBe('second GET /kept forwarded 1');
  });

  test('becomes another version with a push, and rules that are wrong leave what runs as it is', async () => {
    const address = await project.address('main');
    await project.write(files('varnish:9.0', 'third'), 'Third');
    await project.push('main');
    expect((await visit(new URL('/kept', address).href)).text).toBe('third GET /kept forwarded 1');
    await project.write({ '.upsun/cache.vcl': 'sub vcl_recv { set nonsense; }' }, 'Fourth');
    await project.push('main').catch((error: Error) => error.message);
    const { result, log } = await project.lastActivity('main');
    expect(result).toBe('failure');
    expect(log).toContain('nonsense');
    expect((await visit(new URL('/fresh', address).href)).text).toMatch(/^third GET/);
  });

  test('is refused in front of an app that nothing inside can reach', async () => {
    const config = configuration('varnish:7.7').replace(
      'web: {commands: {start: exec node server.mjs}}',
      'web: {locations: {/: {root: web}}}',
    );
    await project.write({ '.upsun/config.yaml': config, 'web/index.html': 'hello' }, 'Fifth');
    expect(await project.push('main').catch((error: Error) => error.message)).toContain('Nothing would answer there');
  });
});
