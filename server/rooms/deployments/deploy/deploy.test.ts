import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachStepTwice, failAtEachStep } from '../../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import type { CodeDeployment } from './deploy-request.ts';
import { collectStacks, keepDomainsReached, keepStacksRunning } from '../running/reconcilers.ts';
import { definitions, openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

/** Tells its version, how often it was started on this data, and what it is told. */
const server = (version: string) => `
const { appendFileSync, readFileSync } = require('node:fs');
appendFileSync('/app/data/starts', '.');
console.log('version ${version} says hello');
require('node:http').createServer((request, reply) => {
  const starts = readFileSync('/app/data/starts', 'utf8').length;
  reply.end(JSON.stringify({ version: '${version}', starts, color: process.env.COLOR, startedAt: performance.timeOrigin }));
}).listen(process.env.PORT, '0.0.0.0');
`;

interface Configured {
  relationship?: string;
  services?: string;
  start?: string;
  hooks?: string;
  workers?: string;
}

const configuration = ({
  relationship = 'cache:redis',
  services,
  start = 'exec node server.js',
  hooks = '{}',
  workers = '{}',
}: Configured) => `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    variables: { env: { COLOR: blue } }
    mounts: { data: { source: storage, source_path: data }, cache: { source: tmp } }
    relationships: { store: '${relationship}' }
    web: { commands: { start: ${JSON.stringify(start)} } }
    workers: ${workers}
    hooks: ${hooks}
  site:
    type: static:1
    web: { locations: { /: { root: '', index: [index.html] } } }
services: ${services ?? '{ cache: { type: "redis:8.0" } }'}
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
  http://{default}/site/: { type: upstream, upstream: 'site:http' }
`;

const files = (version: string, configured: Configured = {}): Content => ({
  '.upsun/config.yaml': configuration(configured),
  'server.js': server(version),
  'index.html': 'a site',
});

describe.runIf(canRunContainers)(`deployments${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'static:1', 'redis:8.0', 'postgresql:17']) await all.machine.images.ensure(type);
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const statesTold = () => all.edge.told.splice(0).map((line) => line.split(' ')[1]);

  test('the first makes everything, an unchanged one nothing, a changed one replaces the app that changed', { timeout }, async () => {
    const project = await all.project();
    const hooks =
      '{ deploy: "echo deploying with $STORE_HOST; jq -c .info.limits /run/config.json; jq -c keys /run/peers.json; echo careful >&2", post_deploy: "echo afterwards" }';
    const log = await project.push(files('one', { hooks }));
    expect(log).toMatch(/Creating environment main\n.*deploying with store\.internal\n.*Opening environment\n.*afterwards/s);
    expect(log).toMatch(/Creating environment main\n.*W: careful\n.*Opening environment\n/s);
    expect(log).toMatch(/\{"cpu":[\d.]+,"memory":\d+\}\n.*\n? *\["app\.0"\]\n/);
    expect(await project.ask()).toMatchObject({ version: 'one', starts: 1, color: 'blue' });
    await expect.poll(() => project.inside('cat /var/log/app.log /var/log/deploy.log')).toMatch(/version one says hello.*deploying with/s);
    expect((await project.table())?.upstreams['site']).toMatchObject({ instances: [], files: [{ at: '/app', is_immutable: true }] });
    expect(await project.row()).toMatchObject({ status: 'active', last_deployment: { successful: true, reason: null } });
    const [running, before] = [await project.ask(), await project.found()];
    expect(before).toEqual({ containers: ['…-app-app-1-0', '…-service-cache'], volumes: ['stack-…-storage-app'] });

    statesTold();
    const again = await project.push(files('one', { hooks }));
    expect(again).not.toContain('Executing deploy hook');
    expect(again).toContain('Executing post_deploy hook');
    expect([await project.ask(), await project.found(), statesTold()]).toEqual([running, before, ['open']]);

    await project.push(files('two'));
    expect(await project.ask()).toMatchObject({ version: 'two', starts: 2 });
    expect(statesTold()).toEqual(['holding', 'open']);
    await expect.poll(() => project.inside('cat /var/log/app.log')).toMatch(/version one.*version two/s);
    expect((await project.found()).containers).toEqual(['…-app-app-3-0', '…-service-cache']);
  });

  test('with rolling, new instances take over without a pause', { timeout }, async () => {
    const project = await all.project();
    await project.push(files('one'));
    statesTold();
    await project.push(files('two'), { strategy: 'rolling' });
    expect(statesTold()).toEqual(['open']);
    expect(await project.ask()).toMatchObject({ version: 'two' });
    expect((await project.found()).containers).toEqual(['…-app-app-2-0', '…-service-cache']);
  });

  test('a version that does not start, or is not configured well, leaves the old one serving', { timeout }, async () => {
    const project = await all.project();
    await project.push(files('one'));
    const before = await project.found();
    const failed = await project.attempt(files('two', { start: 'echo the end is near; exit 7' }));
    expect(failed.result).toBe('failure');
    expect(failed.log).toMatch(/E: Application 'app' ended with code 7 before it was ready\.\nIts last lines:\n {2}the end is near/);
    expect([await project.ask(), await project.found()]).toMatchObject([{ version: 'one' }, before]);
    expect((await project.row()).last_deployment).toMatchObject({ successful: false, reason: expect.stringContaining('with code 7') });
    expect(await project.attempt({ '.upsun/config.yaml': 'applications: [nonsense' })).toMatchObject({ result: 'failure' });
    expect(await project.ask()).toMatchObject({ version: 'one' });
    expect((await project.table())?.state).toBe('open');
  });

  test('one that fails and cannot be taken back does not say that all is as it was, but what does not run', { timeout }, async () => {
    const project = await all.project();
    await project.push(files('one', { start: 'test ! -e /app/data/broken || exit 3; exec node server.js' }));
    const { id } = await project.beginDeploy(files('two', { start: 'touch /app/data/broken; exit 7' }));
    // Its last attempt: it would be taken back again and again before.
    const { db } = all.home.platform;
    await db.updateTable('activities').set({ attempts: 4 }).where('id', '=', id).execute();
    const { result, log } = await project.ended({ id });
    expect(result).toBe('failure');
    expect(log).toContain("main is not as it was:\n  Application 'app' does not run: it ended with exit code 3.");
    expect(log).not.toContain('main is as it was');
    await project.does('remove');
  });

  test(
    'a redeploy starts a service that ended together with its monitor, and whoever is asked says meanwhile that it does not run',
    { timeout },
    async () => {
      const project = await all.project();
      await project.push(files('one'));
      const service = `${(await project.row()).stack_id}-service-cache`;
      const bundle = join(all.folder, 'run', 'containers', service);
      for (const file of ['monitor-pid', 'pid']) process.kill(Number(readFileSync(join(bundle, file), 'utf8')), 'SIGKILL');
      const { runtime } = all.machine;
      await expect.poll(async () => (await runtime.state(service)).status).not.toBe('running');
      await project.push(files('one'));
      expect((await runtime.state(service)).status).toBe('running');
      await project.does('remove');
    },
  );

  test('a branch starts with the data of its parent, goes its own way, and takes it over again when asked', { timeout }, async () => {
    const project = await all.project();
    const hooks = '{ sanitize: "echo clean >>/app/data/sanitized" }';
    const configured = { relationship: 'store:postgresql', services: '{ store: { type: "postgresql:17" } }', hooks };
    const content = files('one', configured);
    const query = (statement: string) =>
      `PGPASSWORD=$STORE_PASSWORD psql -qtA -h $STORE_HOST -U $STORE_USERNAME $STORE_PATH -c "${statement}"`;
    const sums = async () => Promise.all(['main', 'branch'].map((id) => project.inside(query('select sum(n) from sales'), id)));
    await project.push(content);
    await project.inside(query('create table sales (n integer); insert into sales values (1), (2)'));
    await project.inside('echo kept >/app/data/file');
    await project.addEnvironment('branch');
    // Also here whatever is done may be done again.
    const twice = (changes: Partial<CodeDeployment>) =>
      eachStepTwice(all.home.platform, () => project.beginDeploy(content, { environment: 'branch', ...changes }), definitions);
    expect(await twice({ cloneFrom: 'main' })).toContain('sanitize data');
    expect(await project.inside('cat /app/data/file /app/data/sanitized', 'branch')).toBe('kept\nclean\nclean');
    expect(await project.inside('ls /app/data')).not.toContain('sanitized');
    await project.inside(query('insert into sales values (10)'), 'branch');
    await project.inside(query('insert into sales values (100)'));
    expect(await sums()).toEqual(['103', '13']);
    expect(await project.inside('echo $STORE_PASSWORD')).not.toBe(await project.inside('echo $STORE_PASSWORD', 'branch'));

    const broken = files('two', { ...configured, start: 'exit 1' });
    expect(await project.attempt(broken, { environment: 'branch', replaceData: 'main' })).toMatchObject({ result: 'failure' });
    expect(await sums()).toEqual(['103', '13']);
    expect(await twice({ replaceData: 'main' })).toContain('replace data');
    expect(await sums()).toEqual(['103', '103']);
    expect((await project.found('branch')).volumes).toEqual(['stack-…-data-store-postgresql', 'stack-…-storage-app']);
  });

  test('workers run beside their app, and post_start holds back an instance until it is ready', { timeout }, async () => {
    const project = await all.project();
    const workers = '{ queue: { commands: { start: "echo working; exec sleep infinity" } } }';
    const content = files('one', { workers });
    const yaml = content['.upsun/config.yaml']?.replace(/start: "exec node server.js"/, '$&, post_start: "echo ready >>/app/data/ready"');
    await project.push({ ...content, '.upsun/config.yaml': yaml ?? '' });
    expect((await project.found()).containers).toEqual(['…-app-app--queue-1-0', '…-app-app-1-0', '…-service-cache']);
    expect(await project.inside('cat /app/data/ready')).toBe('ready');
  });

  test(
    'a firewall holds for its app alone, changes only with what is deployed, and hosts of its own are known inside',
    { timeout },
    async () => {
      const project = await all.project();
      const content = files('one');
      const rules = '{ outbound: [{ ips: [198.51.100.0/24], ports: [443] }, { domains: [nowhere.invalid] }] }';
      const own = `$&\n    firewall: ${rules}\n    additional_hosts: { legacy.internal: 192.0.2.7 }`;
      const yaml = content['.upsun/config.yaml']?.replace('type: nodejs:22', own) ?? '';
      const log = await project.push({ ...content, '.upsun/config.yaml': yaml });
      expect(log).toContain('W: No address was found for nowhere.invalid');
      expect(await project.inside('cat /etc/hosts')).toMatch(/^192\.0\.2\.7 legacy\.internal$/m);
      const [instance] = await project.instances();
      if (!instance || 'socket' in instance.address) throw new Error('There is no instance');
      const { host } = instance.address;
      const ruleset = () => execFileSync('nft', ['list', 'ruleset'], { encoding: 'utf8' });
      const chain = new RegExp(`\\b${host.replaceAll('.', '\\.')} : goto (\\w+)`).exec(ruleset())?.[1] ?? 'missing';
      expect(ruleset()).toMatch(new RegExp(`set ${chain}_0 [^}]*198\\.51\\.100\\.0/24`));
      const before = await project.ask();
      await keepDomainsReached.run(all.home.platform, new AbortController().signal);
      expect([await project.ask(), await project.ask()]).toEqual([before, before]);
      expect(ruleset()).toContain(chain);
      await project.push(content);
      expect(ruleset()).not.toMatch(new RegExp(`\\b${chain}\\b`));
    },
  );

  test('a paused environment runs nothing and keeps its data; it resumes; removed, it leaves nothing behind', { timeout }, async () => {
    const project = await all.project();
    await project.push(files('one'));
    const { stack_id } = await project.row();
    await project.does('pause');
    expect((await project.found()).containers).toEqual([]);
    expect([(await project.row()).status, (await project.table())?.state]).toEqual(['paused', 'paused']);
    await project.does('resume');
    expect([(await project.row()).status, (await project.table())?.state]).toEqual(['active', 'open']);
    expect(await project.ask()).toMatchObject({ version: 'one', starts: 2 });
    await project.does('remove');
    expect(await all.found(stack_id)).toEqual({ containers: [], volumes: [] });
    expect([await project.table(), await project.row()]).toMatchObject([undefined, { status: 'inactive', stack_id: null }]);
  });

  test('whatever dies is started again, what was left frozen goes on, and what belongs to nobody goes', { timeout }, async () => {
    const project = await all.project();
    const { machine, edge, home } = all;
    const reconcile = async () => {
      for (const reconciler of [keepStacksRunning, collectStacks]) await reconciler.run(home.platform, new AbortController().signal);
    };
    await project.push(files('one'));
    const { stack_id } = await project.row();
    const [instance] = await project.instances();
    // As after a reboot: nothing runs, and the edge knows nothing.
    for (const { name } of (await machine.runtime.list()).filter(({ network }) => network === stack_id)) await machine.runtime.remove(name);
    edge.table.clear();
    const unknown = 'stack-aaaaaaaaaaaaa-data-db-postgresql';
    const { path } = await machine.volumes.create(unknown, 2 ** 24);
    // What somebody who was killed was about to make.
    const scratch = join(path.slice(0, path.indexOf(`/volumes/${unknown}`)), 'scratch');
    mkdirSync(join(scratch, '4194305-1-1', 'half'), { recursive: true });
    await reconcile();
    expect(readdirSync(scratch)).toEqual([]);
    expect(await project.ask()).toMatchObject({ version: 'one', starts: 2 });
    statesTold();
    await machine.runtime.pause(instance?.id ?? '');
    await reconcile();
    expect(await machine.runtime.state(instance?.id ?? '')).toMatchObject({ status: 'running' });
    expect(statesTold()).toEqual([]);
    const { db } = home.platform;
    await sql`update environments set stack_id = null, status = 'inactive' where project_id = ${project.projectId}`.execute(db);
    await sql`update deployments set status = 'replaced' where project_id = ${project.projectId}`.execute(db);
    await reconcile();
    expect(await all.found(stack_id)).toEqual({ containers: [], volumes: [] });
    expect(await project.table()).toBeUndefined();
    expect(await machine.volumes.volume(unknown)).toBeDefined();
  });

  test('each step can be done twice', { timeout }, async () => {
    const project = await all.project();
    const hooks = '{ deploy: "echo deploying", post_deploy: "echo afterwards" }';
    const twice = (begin: () => Promise<{ id: string }>) => eachStepTwice(all.home.platform, begin, definitions);
    const steps = await twice(() => project.beginDeploy(files('one', { hooks })));
    expect(steps).toEqual(
      expect.arrayContaining(['make volumes', 'open services', 'open applications', 'open environment', 'make current']),
    );
    expect(await project.ask()).toMatchObject({ version: 'one', starts: 1 });
    await twice(() => project.beginDeploy(files('two', { hooks })));
    expect(await project.ask()).toMatchObject({ version: 'two', starts: 2 });
    expect((await project.found()).containers).toHaveLength(2);
    const { stack_id } = await project.row();
    await twice(() => project.begin('pause'));
    await twice(() => project.begin('resume'));
    expect(await project.ask()).toMatchObject({ version: 'two', starts: 3 });
    await twice(() => project.begin('remove'));
    expect(await all.found(stack_id)).toEqual({ containers: [], volumes: [] });
  });

  test.each(['stopstart', 'rolling'] as const)(
    'a machine that is booted anew at any step of a deployment (%s) runs what was asked for in the end, and hooks find their services',
    { timeout },
    async (strategy) => {
      const project = await all.project();
      const reach = "require('node:net').connect(process.env.STORE_PORT, process.env.STORE_HOST, () => process.exit());";
      const hooks = '{ deploy: "node reach.js && echo deployed", post_deploy: "node reach.js && echo afterwards" }';
      const reaching = (version: string) => ({ ...files(version, { hooks }), 'reach.js': reach });
      await project.push(reaching('one'));
      const { stack_id } = await project.row();
      const reboot = async () => {
        const { runtime } = all.machine;
        for (const { name, network } of await runtime.list()) if (network === stack_id) await runtime.remove(name);
        all.edge.table.clear();
      };
      const deployment = await project.beginDeploy(reaching('two'), { strategy });
      const steps = await eachStepTwice(all.home.platform, async () => deployment, definitions, 'complete', reboot);
      expect(steps).toEqual(expect.arrayContaining(['open applications', 'run deploy hooks', 'open environment', 'clean up']));
      expect(await project.ask()).toMatchObject({ version: 'two' });
      expect((await project.table())?.state).toBe('open');
      const { log } = await project.ended(deployment);
      expect(log).toMatch(/deployed[^]*afterwards/);
      expect(log).not.toContain('W: ');
      await project.does('remove');
    },
  );

  test('a first deployment that fails at any step before it is current leaves nothing', { timeout: 2 * timeout }, async () => {
    const project = await all.project();
    const settled = new Set(['clean up']);
    const failed = await failAtEachStep(
      all.home.platform,
      () => project.beginDeploy(files('one')),
      async (step) => {
        const { stack_id, status } = await project.row();
        const { rows } = await sql<{ stack_id: string }>`
          select stack_id from deployments where project_id = ${project.projectId} and status = 'failed'`.execute(all.home.platform.db);
        const left = await Promise.all(rows.map((row) => all.found(row.stack_id)));
        expect(left.flatMap(({ containers, volumes }) => [...containers, ...volumes])).toEqual([]);
        const isServing = stack_id !== null && status === 'active' && (await project.table())?.state === 'open';
        expect([step, isServing]).toEqual([step, settled.has(step)]);
        expect((await project.table()) === undefined).toBe(!isServing);
      },
      definitions,
    );
    expect(failed).toEqual(expect.arrayContaining(['prepare deployment', 'make volumes', 'open applications', 'make current', 'clean up']));
  });

  test('one that replaces another and fails leaves the other serving, until it is current', { timeout: 2 * timeout }, async () => {
    const project = await all.project();
    await project.push(files('0'));
    const { volumes } = await project.found();
    let [serving, asked] = [0, 0];
    await failAtEachStep(
      all.home.platform,
      () => project.beginDeploy(files(String((asked += 1)))),
      async (step) => {
        if (step === 'clean up') serving = asked;
        expect([step, await project.ask()]).toMatchObject([step, { version: String(serving) }]);
        expect((await project.table())?.state).toBe('open');
        expect((await project.found()).volumes).toEqual(volumes);
      },
      definitions,
    );
    expect(await project.ask()).toMatchObject({ version: String(asked) });
    expect((await project.found()).containers).toHaveLength(2);
  });
});
