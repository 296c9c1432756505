/** Stacks of every kind on one installation, with all that can go wrong with them; in the end the machine is switched off and on again. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../server/testing/images.ts';
import { processesIn, processesOfStack, stacksIn } from './containers.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, repository, type Installation } from './installation.ts';
import { composedFiles, ledgerFiles, pairFiles } from './kinds-of-stacks.ts';
import { firstPerson, openProject, read, type Person, type Project } from './open-project.ts';
import type { RunningPlatform } from './running-platform.ts';
import { visit } from './visit.ts';

const startMilliseconds = 240_000;
const workerSecondsMax = 60;
/** From the platform's start until all that ran before answers. */
const comeBackSecondsMax = 60;

let installation: Installation;
let platform: RunningPlatform;
let person: Person;
const projects: Project[] = [];
/** Pages that tell of data, which is still to be there after the machine was off. */
const kept: { address: string; path: string; text: string }[] = [];
const newProject = async () => {
  const project = await openProject(person);
  projects.push(project);
  return project;
};

beforeAll(async () => {
  if (!canRunContainers) return;
  installation = await createInstallation(plainHttp);
  platform = await installation.start();
  person = await firstPerson(installation.url, platform);
}, startMilliseconds);
afterAll(() => installation?.[Symbol.asyncDispose](), startMilliseconds);

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

const toldByPhp = `<?php
[$peers, $config] = array_map(fn ($name) => json_decode(file_get_contents("/run/$name.json"), true), ['peers', 'config']);
$routes = json_decode(base64_decode(getenv('PLATFORM_ROUTES')), true);
$loaded = array_map('extension_loaded', ['yaml', 'soap', 'pdo_pgsql']);
echo PHP_SAPI, ' ', json_encode([ini_get('memory_limit'), ...$loaded, array_keys($peers), $config['routes'] === $routes && $config['info']['limits']['memory'] > 0]);
`;

/** As a browser sends it. */
async function sign(address: string, name: string, picture: Buffer) {
  const form = new FormData();
  form.set('name', name);
  form.set('words', 'What a place');
  form.set('picture', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'pixel.png');
  const encoded = new Response(form);
  const [type, body] = [encoded.headers.get('content-type') ?? '', Buffer.from(await encoded.arrayBuffer())];
  return visit(address, { method: 'POST', body, headers: { 'content-type': type } });
}

const visitsTo = async (address: string) => Number(/ visit (\d+);/.exec(await read(address, '/'))?.[1]);

/** What everything answers, by address, also what the tests before this one left. Numbers, which are counted on, are left out. */
async function answers(addresses: readonly string[]): Promise<Record<string, string>> {
  const answer = async (address: string) => {
    const { status, text } = await visit(address).catch((error: Error) => ({ status: 0, text: error.message }));
    return [address, status === 200 ? text.replaceAll(/\d+/g, '#') : `status ${status}`] satisfies [string, string];
  };
  return Object.fromEntries(await Promise.all(addresses.map(answer)));
}

async function deployedAddresses(): Promise<string[]> {
  const all = projects.map(async (project) => {
    const environments: { id: string; has_deployment: boolean }[] = await project.api('GET', '/environments');
    return Promise.all(environments.filter(({ has_deployment }) => has_deployment).map(({ id }) => project.address(id)));
  });
  return (await Promise.all(all)).flat();
}

describe.runIf(canRunContainers)(`stacks${whyNoContainers}`, () => {
  test('Python with MariaDB runs, and its branch has its rows, and neither reaches nor opens what belongs to the other', async () => {
    const ledger = await newProject();
    await ledger.write(ledgerFiles, 'First');
    expect(await ledger.push('main')).toContain('the ledger is ready');
    const main = await ledger.address('main');
    for (const [n, words] of ['one', 'two', 'three'].entries())
      expect((await visit(new URL(`/?n=${n}&words=${words}`, main).href, { method: 'POST' })).text).toBe('written');
    await ledger.act('/environments/main/branch', { name: 'audit' });
    const audit = await ledger.address('audit');
    expect(await read(audit, '/words')).toBe('one,two,three');
    await visit(new URL('/?n=9&words=nine', audit).href, { method: 'POST' });
    expect([await read(main, '/lines'), await read(audit, '/lines')]).toEqual(['3', '4']);

    const told = await Promise.all([main, audit].map(async (address) => (await read(address, '/told')).split(' ')));
    expect(told[0]?.filter((word) => told[1]?.includes(word))).toEqual(['3306']);
    for (const [from, own = [], others = []] of [
      [main, told[0], told[1]],
      [audit, told[1], told[0]],
    ] as const) {
      const reach = (host = '', port = '') => read(from, `/reach?host=${host}&port=${port}`);
      const opens = (password = '') => read(from, `/open?password=${encodeURIComponent(password)}`);
      expect([await reach(own[0], own[1]), await reach(own[3], '8888'), await opens(own[2])]).toEqual(['reached', 'reached', 'opened']);
      expect(await reach(others[0], others[1])).toMatch(/^not reached/);
      expect(await reach(others[3], '8888')).toMatch(/^not reached/);
      expect(await opens(others[2])).toMatch(/^refused/);
    }
    kept.push({ address: main, path: '/words', text: 'one,two,three' }, { address: audit, path: '/words', text: 'one,two,three,nine' });
  });

  test('the guestbook that is shipped runs: PHP, PostgreSQL, a deploy hook, and a picture that the edge serves, also in a branch', async () => {
    const guestbook = await newProject();
    await guestbook.copyFrom(join(repository, 'examples', 'guestbook'), 'First');
    expect(await guestbook.push('main')).toContain('The guestbook is ready');
    const main = await guestbook.address('main');
    expect(await sign(main, 'Ada <Lovelace>', pixel)).toMatchObject({ status: 303 });
    const page = await read(main, '/');
    expect(page).toContain('<strong>Ada &lt;Lovelace&gt;</strong>: What a place');
    const picture = /src="(\/pictures\/[0-9a-f]{16}\.png)"/.exec(page)?.[1] ?? '';
    const seen = await visit(new URL(picture, main).href);
    expect(seen).toMatchObject({ status: 200, headers: { 'content-type': 'image/png', 'cache-control': 'max-age=3600' } });
    expect(seen.bytes.equals(pixel)).toBe(true);

    await guestbook.act('/environments/main/branch', { name: 'preview' });
    const preview = await guestbook.address('preview');
    expect(await read(preview, '/')).toContain('<strong>guest 1</strong>: What a place');
    expect((await visit(new URL(picture, preview).href)).bytes.equals(pixel)).toBe(true);

    // What PHP is to have is said in the configuration, for the app and for commands alike.
    await guestbook.git('checkout', '--quiet', '-b', 'preview');
    const before = readFileSync(join(guestbook.folder, '.upsun/config.yaml'), 'utf8');
    const wanted = 'runtime: { extensions: [yaml], disabled_extensions: [soap] }\n    variables: { php: { memory_limit: 99M } }';
    const config = before.replace('type: php:8.4', `type: php:8.4\n    ${wanted}`).replace('deploy: php', 'deploy: php web/told.php; php');
    await guestbook.write({ '.upsun/config.yaml': config, 'web/told.php': toldByPhp }, 'Other extensions');
    const told = '["99M",true,false,true,["guestbook.0"],true]';
    expect(await guestbook.push('preview')).toContain(`cli ${told}`);
    expect(await read(preview, '/told.php')).toBe(`fpm-fcgi ${told}`);
    for (const address of [main, preview]) kept.push({ address, path: '/', text: await read(address, '/') });
  });

  test('a compose file with three services is imported and runs, and its branch has its rows', async () => {
    const composed = await newProject();
    await composed.write(composedFiles, 'As it was');
    const { stdout } = await promisify(execFile)(join(repository, 'offshoot'), ['import', composed.folder]);
    expect(stdout).toContain('It is a valid configuration');
    expect(stdout).toContain('apk add --no-cache postgresql-client');
    await composed.write({}, 'Imported');
    await composed.push('main');
    const main = await composed.address('main');
    expect([await read(main, '/'), await read(main, '/')]).toEqual(['Hello 1 :1', 'Hello 2 :2']);
    await composed.act('/environments/main/branch', { name: 'try' });
    expect(await read(await composed.address('try'), '/')).toMatch(/^Hello 3 :/);
  });

  test('the counter and the static site that are shipped run', async () => {
    const [counter, site] = [await newProject(), await newProject()];
    await counter.copyFrom(join(repository, 'examples', 'counter'), 'First');
    await site.copyFrom(join(repository, 'examples', 'static-site'), 'First');
    await Promise.all([counter.push('main'), site.push('main')]);
    const counting = await counter.address('main');
    expect(await read(counting, '/')).toMatch(/^Welcome to main: visit 1; /);
    await eventually('the worker ticks', async () => /ticked [1-9]/.test(await read(counting, '/')), workerSecondsMax);
    const there = await site.address('main');
    expect(await read(there, '/')).toContain('<h1>Hello</h1>');
    expect(await visit(new URL('/style.css', there).href)).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringContaining('text/css'), 'cache-control': 'max-age=86400' },
    });
    expect(await visit(new URL('/none', there).href)).toMatchObject({ status: 404 });

    const first = await site.git('rev-parse', 'HEAD');
    const withSubmodule = async (url: string) => {
      await site.write({ '.gitmodules': `[submodule "first"]\n\tpath = public/first\n\turl = ${url}\n` }, 'Where it is');
      await site.git('update-index', '--add', '--cacheinfo', `160000,${first},public/first`);
      await site.git('commit', '--quiet', '-m', 'With a submodule');
      return site.push('main');
    };
    expect(await withSubmodule(`../${site.project}.git`)).toContain(`Fetching submodule public/first: ${first.slice(0, 7)}`);
    expect(await read(there, '/first/public/')).toContain('<h1>Hello</h1>');
    expect(await withSubmodule('git@example.org:a/b.git')).toContain(
      "The submodule 'public/first' cannot be fetched: its address git@example.org:a/b.git is not one that can be visited",
    );
    expect(await read(there, '/first/public/')).toContain('<h1>Hello</h1>');
  });

  test('of two applications in one repository only what changed is built, and what fails leaves everything as it was', async () => {
    const pair = await newProject();
    await pair.write(pairFiles({ front: 'one', back: 'one' }), 'First');
    await pair.push('main');
    const main = await pair.address('main');
    expect(await read(main, '/')).toBe('front one (calm) before back one');
    await eventually('the worker of the back works', async () => (await read(main, '/bell')).endsWith('before rings'), workerSecondsMax);

    await pair.write(pairFiles({ front: 'two', back: 'one' }), 'Another front');
    const pushed = await pair.push('main');
    expect(pushed).toMatch(/Building application 'front'.*\n(?!\s+Reusing)/);
    expect(pushed).toMatch(/Building application 'back'.*\n\s+Reusing existing build/);
    expect(await read(main, '/')).toBe('front two (calm) before back one');

    const failures = [
      {
        what: 'a configuration that is wrong',
        files: { '.upsun/config.yaml': 'applications:\n  front:\n    type: nodejs:24\n    web:\n      commands: {start: [node]}\n' },
        says: [/\.upsun\/config\.yaml:5:\d+: applications\.front\.web\.commands\.start: /],
      },
      {
        what: 'a build hook that fails',
        files: pairFiles({ front: 'three', back: 'one', build: 'echo no such tool >&2; exit 7' }),
        says: [/no such tool/, /exit(ed)? (with )?(status|code) 7|code:? 7/],
      },
      {
        what: 'a start command that fails',
        files: pairFiles({ front: 'three', back: 'one', start: 'echo the shop cannot open; exit 3' }),
        says: [/Application 'front' ended with code 3/, /the shop cannot open/, /main is as it was/],
      },
    ];
    for (const { what, files, says } of failures) {
      await pair.write(files, what);
      const said = await pair.push('main');
      const { result, log } = await pair.lastActivity('main');
      expect({ what, result }).toEqual({ what, result: 'failure' });
      for (const words of says) expect([what, log, said]).toEqual([what, expect.stringMatching(words), expect.stringMatching(words)]);
      expect([what, await read(main, '/')]).toEqual([what, 'front two (calm) before back one']);
      expect(await pair.environment('main')).toMatchObject({ status: 'active', deployment_state: { last_deployment_successful: false } });
    }
    await pair.write(pairFiles({ front: 'three', back: 'one' }), 'Good again');
    await pair.push('main');
    expect(await read(main, '/')).toBe('front three (calm) before back one');

    const variable = await pair.act('/environments/main/variables', { name: 'env:MOOD', value: 'merry' });
    expect(variable.log).not.toContain('Executing build hook');
    expect(variable.log.match(/Reusing existing build/g)).toHaveLength(2);
    expect(await read(main, '/')).toBe('front three (merry) before back one');
  });

  test('what is paused has no process left; after the machine was off, all that was active answers again with its data, and what was paused stays so', async () => {
    const counter = await newProject();
    await counter.copyFrom(join(repository, 'examples', 'counter'), 'First');
    await counter.push('main');
    const others = stacksIn(installation.data);
    await counter.act('/environments/main/branch', { name: 'resting' });
    const [main, resting] = [await counter.address('main'), await counter.address('resting')];
    for (let visits = 1; visits <= 40; visits++) expect(await visitsTo(main)).toBe(visits);
    const stack = stacksIn(installation.data).find((id) => !others.includes(id)) ?? '';
    expect(processesOfStack(stack).length).toBeGreaterThan(3);
    await counter.act('/environments/resting/pause');
    expect(processesOfStack(stack)).toEqual([]);
    expect((await visit(resting)).status).toBe(503);

    const addresses = await deployedAddresses();
    const before = await answers(addresses);
    await platform.stop();
    const visitsBefore = await visitsTo(main);
    expect(visitsBefore).toBeGreaterThan(40);
    expect(await installation.run(['shutdown'])).toMatchObject({ code: 0 });
    expect(processesIn(installation.data)).toEqual([]);
    expect(existsSync(join('/run/offshoot', readFileSync(join(installation.data, 'runtime/instance'), 'utf8')))).toBe(false);
    await expect(visit(main)).rejects.toThrow('ECONNREFUSED');

    const starting = installation.start();
    const strangers = new Set<string>();
    const isBack = async () => {
      const now = Object.entries(await answers(addresses));
      for (const [address, text] of now)
        if (!text.startsWith('status ') && text !== before[address]) strangers.add(`${address} was answered: ${text}`);
      return now.every(([address, text]) => text === before[address]);
    };
    await eventually('everything answers as before', isBack, comeBackSecondsMax, () => platform.said);
    platform = await starting;
    // Addresses of containers are given out anew: nobody may be sent to what now has somebody else's.
    expect([...strangers]).toEqual([]);
    expect(await visitsTo(main)).toBeGreaterThan(visitsBefore);
    for (const { address, path, text } of kept) expect([address, await read(address, path)]).toEqual([address, text]);
    expect((await visit(resting)).status).toBe(503);
    expect(await counter.environment('resting')).toMatchObject({ status: 'paused' });
    const { log } = await counter.act('/environments/resting/resume');
    expect(log).toContain('Opening application counter and its relationships');
    expect(await visitsTo(resting)).toBe(1);
  });
});
