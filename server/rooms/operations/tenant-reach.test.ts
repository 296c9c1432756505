/**
 * What code of a tenant reaches of the networks around it, from wherever it runs: builds, hooks, crons, tasks and source operations scan the machine, a
 * neighbour and private networks. And what becomes of an app that never opens its port, or a hook that does not stop talking.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../drivers/runtime/runc/test-world.ts';
import { crons } from '../crons/room.ts';
import { openOperatedProject, type OperatedProject } from './test-operated-project.ts';
import { workThrough } from '../../testing/activities.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const portSecondsMax = 5;

/** Prints which of the given addresses answer, and whether the machine does at the address that containers see. */
const scan = `
const { readFileSync } = require('node:fs');
const { connect } = require('node:net');
const { targets, port } = JSON.parse(readFileSync(__dirname + '/targets.json', 'utf8'));
const own = require('node:os').networkInterfaces().eth0[0].address.split('.').map(Number);
const gateway = [own[0], own[1], own[2], (own[3] & 128) | 1].join('.');
const answers = (at) => new Promise((resolve) => {
  const [host, port] = at.split(':');
  const socket = connect({ host, port, timeout: 1500 });
  const end = (found) => { socket.destroy(); resolve(found); };
  socket.once('connect', () => end([at])); socket.once('timeout', () => end([])); socket.once('error', () => end([]));
});
Promise.all([...targets, gateway + ':' + port].map(answers)).then((found) => console.log('reached ' + found.flat().join(' ') + '.'));
`;
const floodLines = 30_000;

const filesOf = (start: string, hooks: object = {}) => ({
  '.upsun/config.yaml': JSON.stringify({
    applications: {
      app: {
        type: 'nodejs:22',
        build: { flavor: 'none' },
        hooks,
        web: { commands: { start } },
        crons: { scan: { spec: '0 * * * *', commands: { start: 'node scan.js' } } },
        source: { root: '/', operations: { scan: { command: 'node scan.js' } } },
      },
    },
    tasks: { scan: { type: 'nodejs:22', source: { root: '/' }, run: { command: 'node scan.js' } } },
    routes: { 'http://{default}/': { type: 'upstream', upstream: 'app:http' } },
  }),
  'scan.js': scan,
  'server.js': `require('node:http').createServer((_, reply) => reply.end('"first"')).listen(process.env.PORT, '0.0.0.0');`,
  'silent.js': 'setInterval(() => {}, 1000);',
});

describe.runIf(canRunContainers)(`the code of a tenant${whyNoContainers}`, { timeout }, () => {
  let all: TestDeployments;
  let world: World;
  let listener: Server;
  let project: OperatedProject;
  let targets: { targets: string[]; port: number };

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
    world = openWorld(`reach${process.pid}`.slice(-8));
    await world.ready;
    listener = createServer((_, reply) => reply.end('of the machine')).listen(0, '0.0.0.0');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const neighbour = await all.project();
    await neighbour.push(filesOf('exec node server.js'));
    const [instance] = await neighbour.instances();
    if (!instance || 'socket' in instance.address) throw new Error('There is no neighbour');
    const machine = Object.values(networkInterfaces())
      .flat()
      .flatMap((link) => (link?.family === 'IPv4' && !link.internal ? `${link.address}:${port}` : []))
      .slice(0, 4);
    const beyond = [...world.private, ...world.metadata].map((address) => `${address}:80`);
    targets = { targets: [`${world.near}:80`, `${instance.address.host}:${instance.address.port}`, ...machine, ...beyond], port };
    project = await openOperatedProject(all);
  }, imagesMillisecondsMax);
  afterAll(async () => {
    listener?.close();
    world?.remove();
    await all?.close();
  });

  const commit = (start: string, hooks: object = {}) =>
    project.commit({ ...filesOf(start, hooks), 'targets.json': JSON.stringify(targets) });
  const onlyTheInternet = () => `reached ${world.near}:80.`;

  test('reaches the internet and nothing else from builds, hooks, tasks, crons and source operations', async () => {
    for (const target of targets.targets) expect((await fetch(`http://${target}/`)).status).toBe(200);
    const flood = `node -e 'for (let n = 1; n <= ${floodLines}; n++) console.log("flood " + n)'`;
    await commit('exec node server.js', { build: 'node scan.js', deploy: `node scan.js; ${flood}`, post_deploy: 'node scan.js' });
    const deployed = await project.act('/activate', { resources: { init: 'minimum' } });
    expect(deployed.result).toBe('success');
    expect(deployed.log.match(/reached .*/g)).toEqual([onlyTheInternet(), onlyTheInternet(), onlyTheInternet()]);

    const flooded = deployed.log.match(/flood \d+/g) ?? [];
    expect(flooded.length).toBeLessThan(floodLines - 5000);
    expect(flooded.at(-1)).toBe(`flood ${floodLines}`);
    expect(deployed.log).toMatch(/W: \d+ more lines are left out here/);

    expect((await project.act('/tasks/scan/run', {})).log).toContain(onlyTheInternet());
    expect((await project.act('/source-operation', { operation: 'scan' })).log).toContain(onlyTheInternet());
    const lookForCrons = async () => {
      for (const { run } of crons.reconcilers ?? []) await run(all.home.platform, new AbortController().signal);
    };
    await lookForCrons();
    await sql`update crons set next_at = now() - interval '1 second' where project_id = ${project.projectId}`.execute(all.home.platform.db);
    await lookForCrons();
    await workThrough(all.home.platform);
    const { json } = await project.owner.send('GET', `/projects/${project.projectId}/activities?type=environment.cron`);
    expect((await project.look(json[0].id)).log).toContain(onlyTheInternet());
  });

  test('that never opens its port is given up in time and in words, and the old one goes on serving', async () => {
    const { runtime } = all.machine;
    const { ensure } = runtime;
    // The same wait for the port as always, only shorter.
    runtime.ensure = (container) =>
      ensure({ ...container, ...(container.probe && { probe: { ...container.probe, secondsMax: portSecondsMax } }) });
    try {
      await commit('exec node silent.js');
      const failed = await project.act('/redeploy', {});
      expect(failed.result).toBe('failure');
      expect(failed.log).toMatch(/did not open port \d+ within \d+ seconds/);
    } finally {
      runtime.ensure = ensure;
    }
    expect(await project.ask()).toBe('first');
    await commit('exec node server.js');
    expect(await project.act('/redeploy', {})).toMatchObject({ result: 'success' });
  });
});
