import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { activity, startActivity } from '../../kernel/activity.ts';
import { eachStepTwice } from '../../testing/activities.ts';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { createEnvironment } from '../environments/work.ts';
import { projectById, type Project } from '../projects/public.ts';
import type { BuildParts } from './build-app.ts';
import { buildApps, type BuildRequest } from './build-apps.ts';
import { buildNameOf, cacheNameOf, type Slug } from './slugs.ts';
import { collect } from './reconcilers.ts';
import { hooksOf, modelOf, testApp, testWork, variable } from './test-build.ts';
import type { App } from './config/model.ts';

const buildMillisecondsMax = 600_000;
const entropy = 'e'.repeat(56);

describe.runIf(canRunContainers)(`builds${whyNoContainers}`, () => {
  let containers: TestContainers;
  let home: TestPlatform;
  let parts: BuildParts;
  let project: string;
  let commits = 0;

  beforeAll(async () => {
    containers = await openTestContainers();
    await containers.images.ensure('nodejs:22');
    home = await openTestPlatform();
    const { runtime, images, volumes } = containers;
    const { git: repositories, db, config } = home.platform;
    parts = { runtime, images, volumes, git: repositories, db, config };
  }, buildMillisecondsMax);
  beforeEach(async () => {
    ({ projectId: project } = await sampleProject(await home.person()));
    await parts.git.create(project, 'main');
  });
  afterAll(async () => {
    for (const { name } of await containers.runtime.list()) await containers.runtime.remove(name);
    await containers.close();
  });

  const commit = (files: Record<string, string>) => commitFiles(parts.git.path(project), undefined, files, `Change ${(commits += 1)}`);
  const request = (commitId: string, apps: App[], changes: Partial<BuildRequest> = {}): BuildRequest => ({
    project: { id: project, entropy },
    environment: { id: 'main' },
    commit: commitId,
    model: modelOf(...apps),
    variables: [],
    ...changes,
  });
  const build = async (asked: BuildRequest) => {
    const work = testWork();
    const slugs = await buildApps(work, parts, asked);
    return { slugs, ...work };
  };
  const folderOf = async (slug: Slug | undefined) => (await parts.volumes.volume(slug?.volume ?? ''))?.path ?? '';
  const fileIn = async (slug: Slug | undefined, path: string) => readFileSync(join(await folderOf(slug), path), 'utf8');
  const leftovers = async () => [
    ...(await parts.runtime.list()).map(({ name }) => name),
    ...(await parts.volumes.list()).map(({ name }) => name).filter((name) => name.startsWith('build-')),
  ];

  test('an application is built once, and its slug is used by every environment with the same tree', async () => {
    const first = commit({ 'server.js': 'one', 'files/kept.txt': 'hidden' });
    const mount = { source: 'storage', source_path: 'x', service: null } as const;
    const app = testApp({
      hooks: hooksOf(
        'sleep 1000 & echo building in $PWD\necho careful >&2\nid -u >built.txt; echo $PLATFORM_CACHE_DIR; touch $PLATFORM_CACHE_DIR/kept',
      ),
      mounts: { '/var/uploads': mount, '/files': mount },
    });
    const { slugs, lines, commands } = await build(request(first, [app]));
    const slug = slugs['app'];
    expect(lines).toEqual([
      `Building application 'app' (runtime type: nodejs:22, tree: ${slug?.tree_id.slice(0, 7)})`,
      '  Executing build hook...',
      // Of two streams, in any order.
      ...Array.from({ length: 3 }, () => expect.anything()),
      expect.stringContaining("    W: The mount '/files' has a path that overlaps with a non-empty folder."),
      expect.stringMatching(/^ {2}Storing the application \(\d+\.\d MB\)\.$/),
    ]);
    expect(lines).toEqual(expect.arrayContaining(['    building in /app', '    W: careful']));
    expect(commands).toEqual([{ app: 'app', type: 'build', exit_code: 0 }]);
    expect(slug?.slug_id).toBe(`${project}-app-${slug?.tree_id}-${slug?.config_id}`);
    expect([await fileIn(slug, 'built.txt'), await fileIn(slug, 'server.js')]).toEqual(['1000\n', 'one']);
    expect(lstatSync(join(await folderOf(slug), 'var/uploads'))).toMatchObject({ uid: 1000, gid: 1000 });
    const sealed = await folderOf(slug);
    expect(() => writeFileSync(join(sealed, 'server.js'), 'changed')).toThrow(/read-only|EROFS/);
    expect(await leftovers()).toEqual([]);

    const again = await build(request(first, [app], { environment: { id: 'other' } }));
    expect(again.slugs).toEqual(slugs);
    expect(again.lines.slice(1)).toEqual(['  Reusing existing build for this tree ID']);
    const onlyDeployed = { ...app, hooks: { ...app.hooks, deploy: 'echo' }, crons: {}, web: { ...app.web, locations: {} } };
    expect((await build(request(first, [onlyDeployed]))).slugs).toEqual(slugs);
    const told = await build(request(first, [app], { variables: [variable('env:NEW', 'x')] }));
    expect(told.slugs['app']?.slug_id).not.toBe(slug?.slug_id);
  });

  test('a build has the files of submodules; another commit of one is another slug', async () => {
    const { projectId: library } = await sampleProject(await home.person());
    const { git } = parts;
    const built = async (text: string) => {
      const submodule = commitFiles(git.path(library), undefined, { 'lib.txt': text });
      await git.moveBranch(library, 'main', await git.branch(library, 'main'), submodule);
      const list = `[submodule "lib"]\n\tpath = lib\n\turl = ../${library}.git\n`;
      const first = commitFiles(git.path(project), undefined, { '.gitmodules': list, 'own/a': '1' }, 'Change', { lib: submodule });
      const { tree = '' } = (await git.commit(project, first)) ?? {};
      const fetching = { log: () => {}, signal: testWork().signal, projectAt: () => undefined, mayUse: () => Promise.resolve() };
      await git.withSubmodules(project, tree, fetching);
      const own = testApp({ name: 'own', source: { root: '/own', operations: {} } });
      return (await build(request(first, [testApp({ hooks: hooksOf('cat lib/lib.txt >built.txt') }), own]))).slugs;
    };
    const [one, two] = [await built('one'), await built('two')];
    expect([await fileIn(one['app'], 'built.txt'), await fileIn(two['app'], 'built.txt')]).toEqual(['one', 'two']);
    expect(one['app']?.slug_id).not.toBe(two['app']?.slug_id);
    expect(one['own']).toEqual(two['own']);
  });

  test('a build is told what builds may see, and nothing else; secrets are not in its log', async () => {
    const secret = 'hunter2-very-secret';
    const variables = [
      variable('env:plain', 'yes'),
      variable('env:secret', secret, { is_sensitive: true }),
      variable('env:RUNTIME', 'never', { visible_build: false }),
      variable('env:ELSEWHERE', 'never', { application_scope: ['another'] }),
      variable('shop:currency', '{"code":"EUR"}', { is_json: true }),
    ];
    const hook = 'env >env.txt; env; echo "$SECRET" >&2; printf %s "$SECRET" | sed "s/^/long /"; echo $SECRET >secret.txt';
    const app = testApp({ hooks: hooksOf(hook), variables: { env: { plain: 'overridden', own: 7 }, theme: { dark: true } } });
    const { slugs, lines } = await build(request(commit({ a: 'a' }), [app], { variables }));
    const seen = Object.fromEntries((await fileIn(slugs['app'], 'env.txt')).split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
    expect(seen).toMatchObject({
      CI: 'true',
      PLAIN: 'yes',
      OWN: '7',
      SECRET: secret,
      PLATFORM_APP_DIR: '/app',
      PLATFORM_APPLICATION_NAME: 'app',
      PLATFORM_OUTPUT_DIR: '/app',
      PLATFORM_PROJECT: project,
      PLATFORM_PROJECT_ENTROPY: entropy,
      PLATFORM_TREE_ID: slugs['app']?.tree_id,
      PLATFORM_VENDOR: 'offshoot',
    });
    const decoded = (name: string) => JSON.parse(Buffer.from(String(seen[name]), 'base64').toString()) as object;
    expect(decoded('PLATFORM_VARIABLES')).toEqual({ 'shop:currency': { code: 'EUR' }, 'theme:dark': true });
    expect(Object.keys(decoded('PLATFORM_APPLICATION'))).not.toEqual(expect.arrayContaining(['crons']));
    expect(
      Object.keys(seen).filter((name) => /RUNTIME|ELSEWHERE|PLATFORM_(BRANCH|ROUTES|RELATIONSHIPS|ENVIRONMENT)|^PORT$/.test(name)),
    ).toEqual([]);
    for (const hidden of [secret, entropy]) expect(lines.join('\n')).not.toContain(hidden);
    expect(lines).toContain('    long *****');
    expect(await fileIn(slugs['app'], 'secret.txt')).toBe(`${secret}\n`);
  });

  test('a hook that fails leaves no slug and says so; only its last command counts', async () => {
    const first = commit({ a: 'a' });
    const work = testWork();
    const failing = request(first, [testApp({ hooks: hooksOf('false; echo before; exit 3') })]);
    await expect(buildApps(work, parts, failing)).rejects.toThrow(
      "Unable to build application 'app': the build hook ended with exit code 3.",
    );
    expect(work.commands).toEqual([{ app: 'app', type: 'build', exit_code: 3 }]);
    expect(await leftovers()).toEqual([]);
    expect(await parts.db.selectFrom('slugs').selectAll().where('project_id', '=', project).execute()).toEqual([]);
    await build(request(first, [testApp({ hooks: hooksOf('false\ntrue') })]));
  });

  test('what a hostile build leaves leads nowhere, and what it prints has an end', { timeout: 300_000 }, async () => {
    const mounts = { '/web/uploads': { source: 'storage', source_path: 'x', service: null } } as const;
    const first = commit({ a: 'a' });
    for (const hook of ['rm -rf web; ln -s /etc web', 'mkdir web; ln -s /tmp web/uploads', 'mkdir web; touch web/uploads'])
      await expect(build(request(first, [testApp({ hooks: hooksOf(hook), mounts })]))).rejects.toThrow(
        /its mount '\/web\/uploads' cannot be made/,
      );
    expect(existsSync('/etc/uploads')).toBe(false);

    const endless = 'head -c 30000000 /dev/zero | tr "\\0" x; echo; seq 1 400000; printf "a\\rb\\033[2Jc\\n"; echo the end';
    const { lines } = await build(request(first, [testApp({ hooks: hooksOf(endless) })]));
    const characters = lines.reduce((sum, line) => sum + line.length, 0);
    expect(characters).toBeLessThan(3_000_000);
    expect(lines.length).toBeLessThan(21_000);
    expect(lines.filter((line) => line.length > 5000)).toEqual([]);
    expect(lines.slice(-3)).toEqual(['    bc', '    the end', expect.stringContaining('Storing')]);
  });

  test('a build that is cancelled ends long before its commands would, also where they do not listen, and leaves nothing', async () => {
    const work = testWork();
    const hooks = hooksOf('trap "" TERM INT; echo started; sleep 600');
    const building = buildApps(work, parts, request(commit({ a: 'a' }), [testApp({ hooks })]));
    await Promise.race([work.said('started'), building]);
    work.cancel();
    await expect(building).rejects.toThrow('cancelled');
    expect(await leftovers()).toEqual([]);
  });

  test('two who need the same slug at once build it once', async () => {
    const hook = 'echo only once; until [ -e $PLATFORM_CACHE_DIR/go ]; do sleep 0.05; done';
    const asked = request(commit({ a: 'a' }), [testApp({ hooks: hooksOf(hook) })]);
    const [one, two] = [testWork(), testWork()];
    const building = Promise.all([one, two].map((work) => buildApps(work, parts, asked)));
    const oneOf = (text: string) => Promise.race([one.said(text), two.said(text), building]);
    await Promise.all([oneOf('only once'), oneOf('Waiting')]);
    writeFileSync(join((await parts.volumes.volume(cacheNameOf(project, 0)))?.path ?? '', 'app', 'go'), '');
    const [slugs, others] = await building;
    expect(slugs).toEqual(others);
    const isBuilder = ({ lines }: typeof one) => lines.some((line) => line.includes('only once'));
    expect([one, two].filter(isBuilder)).toHaveLength(1);
    const waiter = isBuilder(one) ? two : one;
    expect(waiter.lines.slice(1)).toEqual(['  Waiting for another build of this tree.', '  Reusing existing build for this tree ID']);
  });

  test('code of a fork leaves nothing for builds of others: neither in their cache nor as what they run', async () => {
    const { db } = home.platform;
    const { id, ...rest } = (await projectById(db, project)) ?? { id: project };
    const fork = { project: { id, ...rest } as Project, parent: 'main', is_pr: true, is_from_fork: true };
    for (const pr of ['pr-5', 'pr-6']) await db.transaction().execute((tx) => createEnvironment(tx, { ...fork, id: pr }));
    const hook = 'cat $PLATFORM_CACHE_DIR/kept >found || true; echo $PLATFORM_TREE_ID >>$PLATFORM_CACHE_DIR/kept';
    const [evil, good] = [commit({ a: 'evil' }), commit({ a: 'good' })];
    const found = async (commitId: string, environment: string) => {
      const asked = request(commitId, [testApp({ hooks: hooksOf(hook) })], { environment: { id: environment } });
      return fileIn((await build(asked)).slugs['app'], 'found');
    };
    expect(await found(evil, 'pr-5')).toBe('');
    // The fork keeps its own, and what comes out of that is nobody else's, also where the code is the same.
    expect(await found(good, 'pr-5')).not.toBe('');
    expect(await found(good, 'main')).toBe('');
    expect(await found(good, 'pr-6')).toBe('');

    const caches = async () => (await parts.volumes.list()).flatMap(({ name }) => (name.startsWith(`cache-${project}-`) ? [name] : []));
    expect(await caches()).toHaveLength(3);
    await sql`delete from environments where project_id = ${project} and id = 'pr-5'`.execute(db);
    await collect(db, containers, new AbortController().signal);
    expect((await caches()).toSorted()).toEqual([cacheNameOf(project, 0), cacheNameOf(project, 0, 'pr-6')]);
  });

  test('several applications are built side by side, each from its own folder, and are heard one after the other', async () => {
    const first = commit({ 'one/a': '1', 'two/a': '2' });
    const loud = hooksOf('for n in 1 2 3 4 5; do echo $PLATFORM_APPLICATION_NAME $n; sleep 0.1; done');
    const appIn = (name: string) => testApp({ name, source: { root: `/${name}`, operations: {} }, hooks: loud });
    const { slugs, lines } = await build(request(first, [appIn('one'), appIn('two')]));
    const heard = lines.map((line) => /^ {4}(one|two) /.exec(line)?.[1]).filter((name) => name !== undefined);
    expect(heard).toEqual(['one', 'one', 'one', 'one', 'one', 'two', 'two', 'two', 'two', 'two']);
    expect([await fileIn(slugs['one'], 'a'), await fileIn(slugs['two'], 'a')]).toEqual(['1', '2']);
    const failing = [appIn('one'), testApp({ name: 'two', source: { root: '/two', operations: {} }, hooks: hooksOf('exit 1') })];
    const changed = commit({ 'one/a': '3', 'two/a': '4' });
    await expect(build(request(changed, failing))).rejects.toThrow("Unable to build application 'two'");
    await expect(build(request(changed, [appIn('three')]))).rejects.toThrow('is not a folder of this commit');
  });

  test('tools and dependencies are installed before the hook, and tools are part of the slug', { timeout: 300_000 }, async () => {
    const files = {
      'tool/package.json': '{"name":"tool","version":"1.0.0","bin":{"say-hello":"./hello.js"}}',
      'tool/hello.js': '#!/usr/bin/env node\nconsole.log("hello from the tool")\n',
      'library/package.json': '{"name":"library","version":"1.0.0"}',
      'library/index.js': 'module.exports = "hello from the library"',
      'package.json': '{"name":"shop","version":"1.0.0","dependencies":{"library":"file:./library"}}',
    };
    const app = testApp({
      dependencies: { nodejs: { tool: 'file:/app/tool' } },
      build: { flavor: 'default', caches: {} },
      hooks: hooksOf(`say-hello; node -p 'require("library")'`),
    });
    const { slugs, lines } = await build(request(commit(files), [app]));
    const steps = [
      'Installing build',
      'Installing nodejs build dependencies: tool',
      'Found a `package.json`',
      'Executing',
      'the tool',
      'the library',
    ];
    expect(lines.map((line) => steps.find((step) => line.includes(step))).filter((step) => step !== undefined)).toEqual(steps);
    expect(lstatSync(join(await folderOf(slugs['app']), '.global/bin/say-hello')).isSymbolicLink()).toBe(true);
    expect(existsSync(join(await folderOf(slugs['app']), '.npm'))).toBe(false);
    const missing = testApp({ type: 'static:1', dependencies: { ruby: { sass: '*' } } });
    await expect(build(request(commit({ a: 'a' }), [missing]))).rejects.toThrow('exit code 127: there is no gem in static:1');
  });

  test('old slugs, what killed builds left, and caches that were cleared are collected; what is needed stays', async () => {
    const { db, volumes, runtime } = parts;
    const never = new AbortController().signal;
    const first = commit({ a: 'a' });
    const builtWith = async (value: string) =>
      (await build(request(first, [testApp({ hooks: hooksOf('true') })], { variables: [variable('env:X', value)] }))).slugs['app'];
    const [old, deployed, fresh] = [await builtWith('old'), await builtWith('deployed'), await builtWith('fresh')];
    await sql`update slugs set last_used_at = now() - interval '30 days' where id in (${old?.slug_id}, ${deployed?.slug_id})`.execute(db);
    const environment = { project_id: project, environment_id: 'main', stack_id: 's', number: 1, status: 'current', commit_id: first };
    const document = {
      model: '{}',
      sizes: '{}',
      routes: '{}',
      settings: '{}',
      secrets_sealed: '',
      slugs: JSON.stringify({ app: deployed }),
    };
    await db.connection().execute(async (connection) => {
      // Only its slugs matter here, not that there is an environment.
      await sql`set session_replication_role = replica`.execute(connection);
      await connection
        .insertInto('deployments')
        .values({ id: crypto.randomUUID(), ...environment, ...document })
        .execute();
      await sql`set session_replication_role = origin`.execute(connection);
    });
    const killed = buildNameOf(fresh as Slug, 'deadbeef');
    await volumes.create(killed, 2 ** 30);
    await containers.start({ name: killed, layers: (await parts.images.ensure('nodejs:22')).layers, argv: ['sleep', 'infinity'] });
    await volumes.create(`slug-${project}-0123`, 2 ** 30);
    await sql`update projects set build_cache_generation = 1 where id = ${project}`.execute(db);

    const mine = (names: string[]) => names.filter((name) => name.includes(project)).sort();
    const expected = [cacheNameOf(project, 0), killed, killed, old?.volume ?? '', `slug-${project}-0123`].sort();
    expect(mine(await collect(db, { runtime, volumes }, never))).toEqual(expected);
    expect(mine((await volumes.list()).map(({ name }) => name))).toEqual(mine([deployed?.volume ?? '', fresh?.volume ?? '']));
    expect(await leftovers()).toEqual([]);
    expect(await collect(db, { runtime, volumes }, never)).toEqual([]);
    expect(
      (await build(request(first, [testApp({ hooks: hooksOf('true') })], { variables: [variable('env:X', 'old')] }))).slugs['app'],
    ).toEqual(old);
    expect(await volumes.volume(cacheNameOf(project, 1))).toBeDefined();
  });

  test('an activity that is interrupted after each step ends with the same slug', async () => {
    const first = commit({ a: 'a' });
    const asked = request(first, [testApp({ hooks: hooksOf('echo built >b') })]);
    let slugs: Record<string, Slug> = {};
    const definition = activity({
      type: 'environment.test-build',
      queue: 'default',
      input: Type.Object({}),
      run: async (work) => void (slugs = await buildApps(work, parts, asked)),
    });
    const begin = () => home.platform.db.transaction().execute((tx) => startActivity(tx, definition, { project_id: project, input: {} }));
    expect(await eachStepTwice(home.platform, begin, [definition])).toEqual(['build app']);
    expect(await fileIn(slugs['app'], 'b')).toBe('built\n');
    expect(await leftovers()).toEqual([]);
  });
});
