/** Domains and the routes of what runs, over HTTP and with real activities, on a machine that only remembers what it is told. */
import { sql } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../../testing/activities.ts';
import { openMemoryMachine, type MemoryMachine } from '../../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../../testing/platform.ts';
import { commitFiles } from '../../../testing/repository.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { currentlyDeployed } from '../queries.ts';
import { keepStacksRunning } from '../running/reconcilers.ts';
import { allInstancesOf } from '../stack/containers.ts';
import { adoptRoutes } from './adopt-routes.ts';

const timeout = 60_000;

let folder: string;
let machine: MemoryMachine;
let home: TestPlatform;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-domains-'));
  machine = openMemoryMachine(folder);
  home = await openTestPlatform(undefined, async () => machine);
});
afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));

const usual = `
  'https://{default}/': { type: upstream, upstream: 'app:http' }
  'https://www.{default}/': { type: redirect, to: 'https://{default}/' }
`;

/** A project whose production runs, with these routes. */
async function running(routes = usual) {
  const { platform } = home;
  const owner = await home.person();
  const { projectId } = await sampleProject(owner);
  const at = `/projects/${projectId}`;
  const push = async (lines: string) => {
    const config = `applications: { app: { type: 'nodejs:22', build: { flavor: none }, web: { commands: { start: exec node server.js } } } }\nroutes:${lines}`;
    const before = await platform.git.branch(projectId, 'main');
    const head = commitFiles(platform.git.path(projectId), before, { '.upsun/config.yaml': config });
    await platform.git.moveBranch(projectId, 'main', before, head);
    await sql`update environments set head_commit = ${head} where project_id = ${projectId} and id = 'main'`.execute(platform.db);
  };
  const begin = async (method: string, path: string, body?: object): Promise<{ id: string }> => {
    const { json, text } = await owner.send(method, `${at}${path}`, body);
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${method} ${path}: ${text}`);
    return activity;
  };
  const ended = async (activity: { id: string }) => {
    await workThrough(platform);
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${activity.id} order by position`.execute(platform.db);
    const { state, result } = await activityRow(platform, activity.id);
    return { state, result, log: rows.map(({ message }) => message).join('') };
  };
  const act = async (method: string, path: string, body?: object) => {
    const end = await ended(await begin(method, path, body));
    if (end.result !== 'success') throw new Error(`${method} ${path}: ${end.log}`);
    return end;
  };
  const environment = (id: string) =>
    platform.db.selectFrom('environments').selectAll().where('project_id', '=', projectId).where('id', '=', id).executeTakeFirstOrThrow();
  const table = async (id = 'main') => machine.edge.table.get(`${projectId}-${(await environment(id)).machine_name}`);
  const hostsServed = async (id = 'main') => [...new Set((await table(id))?.routes.map(({ host }) => host))].toSorted();
  const hostsClaimed = async (id = 'main') => {
    const rows = await platform.db
      .selectFrom('hosts')
      .select('host')
      .where('project_id', '=', projectId)
      .where('environment_id', '=', id)
      .execute();
    return rows.map(({ host }) => host).toSorted();
  };
  const deployed = async (id = 'main') => {
    const found = await currentlyDeployed(platform.db, platform.secrets, projectId, id);
    if (!found) throw new Error(`Nothing is deployed in ${id}`);
    return found;
  };
  const project = {
    projectId,
    owner,
    at,
    push,
    begin,
    ended,
    act,
    environment,
    table,
    hostsServed,
    hostsClaimed,
    deployed,
    generated: async (id = 'main') => `${(await environment(id)).machine_name}-${projectId}.offshoot.localhost`,
    /** What is on the machine for it, with when each was started; and what its containers should be. */
    containers: async (id = 'main') => {
      const { stack_id } = await environment(id);
      const { stack, generations } = await deployed(id);
      return {
        there: (await machine.runtime.list()).filter(({ network }) => network === stack_id),
        wanted: allInstancesOf(stack, generations),
      };
    },
  };
  await push(routes);
  await act('POST', '/environments/main/activate', {});
  return project;
}

const domain = (label: string) => `${label}-${crypto.randomUUID()}.example`;
const withWww = (...names: string[]) => names.flatMap((name) => [name, `www.${name}`]).toSorted();

test('a domain changes where production is found, and no container', { timeout }, async () => {
  const project = await running();
  const [generated, name] = [await project.generated(), domain('shop')];
  expect(await project.hostsServed()).toEqual(withWww(generated));
  const before = await project.containers();
  const { stack } = await project.deployed();
  machine.failNextStart();

  const { log } = await project.act('POST', '/domains', { name });
  expect(log).toContain(`http://${name}:8000/`);
  expect(log).toContain('Its apps keep running');
  expect([await project.hostsServed(), await project.hostsClaimed()]).toEqual([withWww(name), withWww(name)]);
  expect(await project.table()).toMatchObject({ state: 'open', restrict_robots: false, deployment: stack.deployment.id });
  expect(await project.containers()).toEqual(before);
  const { json } = await project.owner.send('GET', `${project.at}/environments/main/deployments/current`);
  expect(json.routes[`http://${name}:8000/`]).toMatchObject({ primary: true, original_url: 'https://{default}/' });
  expect((await project.owner.send('GET', `${project.at}/environments/main`)).json._links['pf:routes']).toContainEqual({
    href: `http://${name}:8000/`,
  });

  await project.act('DELETE', `/domains/${name}`);
  expect([await project.hostsServed(), await project.hostsClaimed()]).toEqual([withWww(generated), withWww(generated)]);
  expect(await project.table()).toMatchObject({ restrict_robots: true });
  expect(await project.containers()).toEqual(before);
  expect((await project.deployed()).stack).not.toHaveProperty('told_routes');
  machine.startWell();
});

test('the next deployment tells apps of their routes', { timeout }, async () => {
  const project = await running();
  const before = await project.containers();
  await project.act('POST', '/domains', { name: domain('told') });
  expect((await project.deployed()).stack).toHaveProperty('told_routes');
  await project.act('PATCH', '/environments/main', { http_access: { basic_auth: { ada: 'secret word' } } });
  expect((await project.deployed()).stack).not.toHaveProperty('told_routes');
  const names = ({ there }: typeof before) => there.map(({ name }) => name);
  expect(names(await project.containers())).not.toEqual(names(before));
});

test('{default} is the default domain, and {all} is all of them', { timeout }, async () => {
  const project = await running(`
  'https://{default}/': { type: upstream, upstream: 'app:http' }
  'https://{all}/api': { type: upstream, upstream: 'app:http' }
`);
  const [one, two] = [domain('one'), domain('two')];
  await project.act('POST', '/domains', { name: one });
  await project.act('POST', '/domains', { name: two });
  const places = async () => (await project.table())?.routes.map(({ host, path }) => `${host}${path}`).toSorted();
  expect(await places()).toEqual([`${one}/`, `${one}/api/`, `${two}/api/`]);
  await project.act('PATCH', `/domains/${two}`, { is_default: true });
  expect(await places()).toEqual([`${one}/api/`, `${two}/`, `${two}/api/`]);
});

test('a preview has the domains that stand in beside its generated host, until those of production go', { timeout }, async () => {
  const project = await running();
  const name = domain('prod');
  await project.act('POST', '/domains', { name });
  await project.act('POST', '/environments/main/branch', { name: 'preview' });
  const generated = await project.generated('preview');
  expect(await project.hostsServed('preview')).toEqual(withWww(generated));
  const before = [await project.containers(), await project.containers('preview')];
  await project.act('POST', '/environments/preview/domains', { name: `stage.${name}`, replacement_for: name });
  expect(await project.hostsServed('preview')).toEqual(withWww(generated, `stage.${name}`));
  const { json } = await project.owner.send('GET', `${project.at}/environments/preview/deployments/current`);
  const primary = Object.entries<{ primary: boolean }>(json.routes).filter(([, route]) => route.primary);
  expect(primary.map(([url]) => url)).toEqual([`http://stage.${name}:8000/`]);
  expect(await project.hostsServed()).toEqual(withWww(name));

  await project.act('DELETE', `/domains/${name}`);
  expect([await project.hostsServed('preview'), await project.hostsClaimed('preview')]).toEqual([withWww(generated), withWww(generated)]);
  expect(await project.hostsServed()).toEqual(withWww(await project.generated()));
  expect([await project.containers(), await project.containers('preview')]).toEqual(before);
});

test('each step can be done twice; a failure at any step leaves routes, hosts and edge as they were', { timeout }, async () => {
  const project = await running();
  const name = domain('steps');
  const interrupted = await eachStepTwice(home.platform, () => project.begin('POST', '/domains', { name }));
  expect(interrupted).toEqual(['look at environments', 'resolve routes', 'tell the edge', 'settle hosts']);
  expect([await project.hostsServed(), await project.hostsClaimed()]).toEqual([withWww(name), withWww(name)]);
  const before = [(await project.deployed()).stack, await project.hostsServed()];
  let added: string | undefined;
  await failAtEachStep(
    home.platform,
    async () => {
      if (added) await sql`delete from domains where name = ${added}`.execute(home.platform.db);
      added = domain('fails');
      return project.begin('POST', '/domains', { name: added, is_default: true });
    },
    async (step) => {
      expect([step, (await project.deployed()).stack, await project.hostsServed()]).toEqual([step, ...before]);
      expect(await project.hostsClaimed()).toEqual(withWww(name));
    },
  );
});

test('what is paused has its new domain when it goes on; what is inactive when it is activated', { timeout }, async () => {
  const project = await running();
  await project.act('POST', '/environments/main/branch', { name: 'preview' });
  const name = domain('rest');
  await project.act('POST', '/domains', { name });
  await project.act('POST', '/environments/preview/pause');
  await project.act('POST', '/environments/preview/domains', { name: `stage.${name}`, replacement_for: name });
  expect(await project.table('preview')).toMatchObject({ state: 'paused' });
  expect(await project.hostsServed('preview')).toContain(`stage.${name}`);
  expect((await project.deployed('preview')).stack).not.toHaveProperty('told_routes');
  await project.act('POST', '/environments/preview/resume');
  expect(await project.table('preview')).toMatchObject({ state: 'open' });

  await project.act('POST', '/environments/preview/deactivate');
  const { log } = await project.act('PATCH', `/environments/preview/domains/stage.${name}`, { attributes: { a: 'b' } });
  expect(log).toContain('is not active');
  await project.act('POST', '/environments/preview/activate', {});
  expect(await project.hostsServed('preview')).toContain(`stage.${name}`);
});

test(
  'where deployments are manual, a domain waits for one; what runs, what ran and another start do not bring it',
  { timeout },
  async () => {
    const project = await running();
    const [generated, name] = [await project.generated(), domain('manual')];
    await project.push(`${usual}  'https://docs.{default}/': { type: upstream, upstream: 'app:http' }\n`);
    await project.act('POST', '/environments/main/redeploy');
    await project.owner.send('PATCH', `${project.at}/environments/main/settings`, { enable_manual_deployments: true });
    const { state } = await project.ended(await project.begin('POST', '/domains', { name }));
    expect(state).toBe('staged');
    const before = [`docs.${generated}`, ...withWww(generated)].toSorted();
    expect(await project.hostsServed()).toEqual(before);
    await project.act('POST', '/environments/main/redeploy');
    expect(await project.hostsServed()).toEqual(before);
    await home.platform.db.updateTable('installation').set({ routed_for: null }).execute();
    await adoptRoutes(home.platform);
    expect(Object.keys((await project.deployed()).stack.routes).join()).not.toContain(name);
    await project.act('POST', '/environments/main/rollback', {});
    expect(await project.hostsServed()).toEqual(withWww(generated));
    await project.act('POST', '/environments/main/deploy', {});
    expect(await project.hostsServed()).toEqual(withWww(name));
  },
);

test('where the operator turns TLS on, what runs is reached over https from the next start on, and back', { timeout }, async () => {
  const project = await running();
  const { platform } = home;
  const { signal } = new AbortController();
  const start = async (tls: boolean) => {
    platform.config.tls = machine.tls = tls;
    await adoptRoutes(platform);
    await keepStacksRunning.run(platform, signal);
  };
  const host = await project.generated();
  const found = async () => ({
    urls: Object.keys((await project.deployed()).stack.routes).filter((url) => url.includes(`//${host}`)),
    edge: (await project.table())?.routes.filter((route) => route.host === host).map(({ scheme, type }) => `${scheme} ${type}`),
  });
  const containers = await project.containers();
  const plain = { urls: [`http://${host}:8000/`], edge: ['http upstream'] };
  expect(await found()).toEqual(plain);
  try {
    await start(true);
    expect(await found()).toEqual({
      urls: [`https://${host}:8443/`, `http://${host}:8000/`],
      edge: ['https upstream', 'http redirect'],
    });
    expect((await project.containers()).there).toEqual(containers.there);
    const changedAt = () => sql`select updated_at from deployments where project_id = ${project.projectId}`.execute(platform.db);
    const before = await changedAt();
    expect(await adoptRoutes(platform)).toBe(0);
    expect((await changedAt()).rows).toEqual(before.rows);
  } finally {
    await start(false);
  }
  expect(await found()).toEqual(plain);
});

test('a host in a route is refused in what another project claimed, and in what one gave up', { timeout }, async () => {
  const [mine, theirs] = [await running(), await running()];
  const name = domain('claimed');
  await mine.act('POST', '/domains', { name });
  const routed = `\n  'https://other.${name}/': { type: upstream, upstream: 'app:http' }\n`;
  await theirs.push(routed);
  const attempt = async () => (await theirs.ended(await theirs.begin('POST', '/environments/main/redeploy'))).log;
  expect(await attempt()).toContain('in a domain that another project has');
  await mine.act('DELETE', `/domains/${name}`);
  expect(await attempt()).toContain('not known to be yours');
  expect(await theirs.hostsServed()).toEqual(withWww(await theirs.generated()));
});

test(
  'what others serve by their routes alone can be claimed by them, or by whoever proves that it is theirs, who gets it',
  { timeout },
  async () => {
    const name = domain('routed');
    const theirs = await running(`\n  'https://shop.${name}/': { type: upstream, upstream: 'app:http' }\n`);
    const mine = await running();
    for (const wanted of [`shop.${name}`, name, `*.${name}`])
      expect((await mine.owner.send('POST', `${mine.at}/domains`, { name: wanted })).status).toBe(400);
    const { message } = (await mine.owner.send('POST', `${mine.at}/domains`, { name })).json;
    const [, record = '', value = ''] = /TXT record (\S+) to "([^"]+)"/.exec(message) ?? [];
    home.domainRecords.texts.set(record, value);
    expect(await theirs.hostsServed()).toEqual([`shop.${name}`]);
    await mine.act('POST', '/domains', { name: `shop.${name}` });
    expect(await mine.hostsServed()).toEqual(withWww(`shop.${name}`));
    await keepStacksRunning.run(home.platform, new AbortController().signal);
    expect([await theirs.hostsServed(), await theirs.hostsClaimed()]).toEqual([[], []]);
    const refused = await theirs.ended(await theirs.begin('POST', '/environments/main/redeploy'));
    expect(refused).toMatchObject({ result: 'failure', log: expect.stringContaining('which belongs to another project') });
    const others = domain('own');
    const owners = await running(`\n  'https://shop.${others}/': { type: upstream, upstream: 'app:http' }\n`);
    expect((await owners.owner.send('POST', `${owners.at}/domains`, { name: others })).status).toBe(201);
  },
);

test('where the operator asks for proofs, hosts of routes are refused that are in no domain of the project', { timeout }, async () => {
  const project = await running();
  const { config } = home.platform;
  const name = domain('required');
  await project.push(`\n  'https://shop.${name}/': { type: upstream, upstream: 'app:http' }\n`);
  config.domainVerification = 'required';
  try {
    const refused = await project.ended(await project.begin('POST', '/environments/main/redeploy'));
    expect(refused).toMatchObject({ result: 'failure', log: expect.stringContaining('not known to be yours') });
  } finally {
    config.domainVerification = 'released';
  }
  expect(await project.ended(await project.begin('POST', '/environments/main/redeploy'))).toMatchObject({ result: 'success' });
  expect(await project.hostsServed()).toEqual([`shop.${name}`]);
});
