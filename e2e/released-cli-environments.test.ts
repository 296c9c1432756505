import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, type Installation, plainEnvironment } from './installation.ts';
import { createProject } from './project.ts';
import { openReleasedCli, type ReleasedCli } from './released-cli.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 600_000;
const workerSecondsMax = 60;
const deletionMilliseconds = 60_000;
/** What the client ends with when the code arrived and could not be deployed. */
const deploymentFailed = 87;

test(
  'the released CLI pushes a stack, looks at it, branches, activates, pauses, resumes, redeploys, synchronizes, merges and deletes',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const { apiToken } = await (await installation.start()).credentials();
    await using cli = await openReleasedCli(installation.url, installation.sshPort);
    const guestbook = await openGuestbook(installation, cli, apiToken);
    const { run, list, page, sign } = guestbook;

    await guestbook.commit('one');
    const pushed = await run('push', '--yes', '-e', 'main');
    expect(pushed.stderr).toContain("Building application 'guestbook'");
    const main = (await run('environment:url', '--primary', '--pipe', '-e', 'main')).stdout.trim();
    expect(pushed.stderr).toContain(`${main} is served by application \`guestbook\``);
    const addresses = await guestbook.addresses('main');
    expect(addresses.filter((address) => address.startsWith('https:'))).toEqual([main, main.replace('//', '//www.')]);
    expect(addresses).toHaveLength(4);
    await sign('main');
    expect(await sign('main')).toMatchObject({ version: 'one', guests: 2, files: 2 });
    await guestbook.untilClerkIsAtWork('main');

    expect(await list('route:list')).toEqual([
      'https://{default}/\tupstream\tguestbook:http',
      `https://www.{default}/\tredirect\t${main}`,
      `http://{default}/\tredirect\t${main}`,
      `http://www.{default}/\tredirect\t${main.replace('//', '//www.')}`,
    ]);
    expect(await list('app:list')).toEqual(['guestbook\tnodejs:24']);
    expect(await list('service:list')).toEqual([expect.stringMatching(/^store\tredis-persistent:8\.0\t\d+\t/)]);
    expect(await list('worker:list')).toEqual([expect.stringMatching(/^guestbook--clerk\tnodejs:24\t.*start: 'node clerk\.mjs'/)]);
    expect(await list('mount:list')).toEqual([expect.stringMatching(/^files\tsource: storage source_path: files/)]);

    await run('environment:branch', 'feature/poster', 'main', '--yes');
    expect(guestbook.git('rev-parse', '--abbrev-ref', 'HEAD@{upstream}')).toBe('offshoot/feature/poster');
    await guestbook.untilClerkIsAtWork('feature/poster');
    expect(await sign('feature/poster')).toMatchObject({ version: 'one', guests: 3, files: 3 });
    expect(await page('main')).toMatchObject({ guests: 2, files: 2, clerk: 'at work in main' });

    await run('environment:pause', '-e', 'feature/poster', '--yes');
    expect(await guestbook.environment('feature/poster')).toMatchObject({ status: 'paused' });
    expect(await guestbook.statusFor('feature/poster')).toBe(503);
    await run('environment:resume', '-e', 'feature/poster', '--yes');
    expect(await guestbook.environment('feature/poster')).toMatchObject({ status: 'active' });
    const resumed = await page('feature/poster');
    expect(resumed).toMatchObject({ guests: 3, files: 3 });
    await run('environment:redeploy', '-e', 'feature/poster', '--yes');
    const redeployed = await page('feature/poster');
    expect(redeployed).toMatchObject({ guests: 3, files: 3 });
    expect(redeployed.start).not.toBe(resumed.start);

    guestbook.git('checkout', '--quiet', '-b', 'quiet');
    await guestbook.commit('two');
    expect((await run('push', '--yes', '--target', 'quiet')).stderr).toContain('Environment quiet is not active');
    expect(await guestbook.environment('quiet')).toMatchObject({ status: 'inactive', has_deployment: false });
    await run('environment:activate', '-e', 'quiet', '--yes');
    expect(await guestbook.environment('quiet')).toMatchObject({ status: 'active', has_deployment: true });
    expect(await sign('quiet')).toMatchObject({ version: 'two', guests: 3, files: 3 });
    for (const _ of [3, 4]) await sign('main');
    await run('environment:synchronize', 'data', '-e', 'quiet', '--yes');
    expect(await page('quiet')).toMatchObject({ version: 'two', guests: 4, files: 4 });
    await run('environment:merge', 'quiet', '--yes');
    const merged = await page('main');
    expect(merged).toMatchObject({ version: 'two', guests: 4, files: 4 });
    expect(await guestbook.environment('main')).toMatchObject({ head_commit: guestbook.git('rev-parse', 'quiet') });

    const [gone = ''] = await guestbook.addresses('quiet');
    await run('environment:delete', 'quiet', '--delete-branch', '--yes');
    expect((await visit(gone)).status).toBe(404);
    // The client waits for the deactivation alone, and says of the branch that it is being deleted.
    await expect.poll(() => guestbook.environments(), { timeout: deletionMilliseconds }).toEqual(['feature/poster', 'main']);

    guestbook.git('checkout', '--quiet', '-B', 'main', 'quiet');
    await guestbook.commit('broken');
    const refused = await guestbook.runTo(deploymentFailed, 'push', '--yes', '-e', 'main');
    expect(refused.stderr).toContain("Unable to build application 'guestbook'");
    expect(await page('main')).toEqual(merged);
  },
);

/** A project whose working copy the client finds, and visitors of its environments. */
async function openGuestbook({ url }: Installation, cli: ReleasedCli, apiToken: string) {
  const token = await accessToken(url, apiToken);
  const project = await createProject(url, token);
  const folder = join(cli.home, 'guestbook');
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      encoding: 'utf8',
      env: plainEnvironment(),
    }).trim();
  await mkdir(folder);
  git('init', '--quiet', '--initial-branch', 'main');
  git('remote', 'add', 'offshoot', `${project}@git.offshoot.localhost:${project}.git`);

  const runTo = async (code: number, ...args: string[]) => {
    const ended = await cli.run(args, apiToken, folder);
    expect({ args, ...ended }).toMatchObject({ code });
    return ended;
  };
  const run = (...args: string[]) => runTo(0, ...args);
  const get = async (path: string) => (await send(url, token, 'GET', `/projects/${project}${path}`)).json;
  const environment = (id: string) => get(`/environments/${encodeURIComponent(id)}`);
  const addresses = async (id: string): Promise<string[]> =>
    (await environment(id))._links['pf:routes'].map(({ href }: { href: string }) => href);
  const ask = async (id: string, method: string) => {
    const [address = ''] = await addresses(id);
    return visit(address, { method });
  };
  const read = async (id: string, method: string) => {
    const { status, text } = await ask(id, method);
    expect({ id, status, text }).toMatchObject({ status: 200 });
    return JSON.parse(text);
  };
  return {
    git,
    run,
    runTo,
    environment,
    addresses,
    /** The rows of a list about the main environment. */
    list: async (command: string) =>
      (await run(command, '-e', 'main', '--format', 'plain', '--no-header')).stdout.split('\n').filter((row) => row !== ''),
    environments: async () => (await get('/environments')).map(({ id }: { id: string }) => id).toSorted(),
    page: (id: string) => read(id, 'GET'),
    /** Answers the page with one guest more. */
    sign: (id: string) => read(id, 'POST'),
    statusFor: async (id: string) => (await ask(id, 'GET')).status,
    untilClerkIsAtWork: (id: string) =>
      eventually(`the clerk of ${id} is at work`, async () => (await read(id, 'GET')).clerk === `at work in ${id}`, workerSecondsMax),
    async commit(version: string) {
      for (const [file, text] of Object.entries(guestbookFiles(version))) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await writeFile(join(folder, file), text);
      }
      git('add', '--all');
      git('commit', '--quiet', '-m', `Version ${version}`);
    },
  };
}

/**
 * Guests are kept twice, in a service and in a folder; the clerk is a worker who writes into the same folder, and
 * what he wrote before is there until it is replaced. The version `broken` cannot be built.
 */
const guestbookFiles = (version: string): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  guestbook:
    type: nodejs:24
    relationships:
      store: {service: store, endpoint: redis}
    mounts:
      files: {source: storage, source_path: files}
    hooks: {build: grep -v broken version}
    web:
      commands: {start: node server.mjs}
    workers:
      clerk:
        commands: {start: node clerk.mjs}
        mounts:
          files: {source: storage, source_path: files, service: guestbook}
services:
  store: {type: 'redis-persistent:8.0'}
routes:
  https://{default}/: {type: upstream, upstream: 'guestbook:http', primary: true}
  https://www.{default}/: {type: redirect, to: 'https://{default}/'}
`,
  version,
  'server.mjs': `
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

const redis = async (...words) =>
  (await promisify(execFile)('redis-cli', ['-h', process.env.STORE_HOST, '-p', process.env.STORE_PORT, ...words])).stdout.trim();
const read = (file) => readFile(file, 'utf8').catch(() => '');
const [version, start] = [await read('version'), randomUUID()];
createServer(async (request, response) => {
  if (request.method === 'POST') {
    await redis('incr', 'guests');
    await appendFile('files/guests', 'x');
  }
  const [guests, files, clerk] = [await redis('get', 'guests'), await read('files/guests'), await read('files/clerk')];
  response.end(JSON.stringify({ version, start, guests: Number(guests), files: files.length, clerk }));
}).listen(Number(process.env.PORT));
`,
  'clerk.mjs': `
import { rename, writeFile } from 'node:fs/promises';
await writeFile('files/clerk.new', 'at work in ' + process.env.PLATFORM_BRANCH);
await rename('files/clerk.new', 'files/clerk');
setInterval(() => {}, 1000);
process.on('SIGTERM', () => process.exit(0));
`,
});
