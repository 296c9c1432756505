/** What a container reaches of the networks around its machine, and how much of the machine it takes for that. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeContainer, getInside, run, shell } from '../conformance.ts';
import { machineHost, type Container, type Runtime } from '../runtime.ts';
import { openRuncRuntime } from './runc.ts';
import { type TestMachine, canRun, makeTestMachine } from './test-machine.ts';
import { openWorld, type World } from './test-world.ts';

const waiting = { timeout: 60_000, interval: 100 };
const answerMilliseconds = 10_000;
const silenceMilliseconds = 1500;

/** Prints how a connection to each address goes: open, or why not. */
const tryEach = `const [milliseconds, ...all] = process.argv.slice(1);
  const connect = (at) => new Promise((resolve) => {
    const [host, port = 80] = at.split('#');
    const socket = require('node:net').connect({ host, port: Number(port), timeout: Number(milliseconds) });
    const end = (how) => { socket.destroy(); resolve(how); };
    socket.once('connect', () => end('open')); socket.once('timeout', () => end('silence')); socket.once('error', ({ code }) => end(code));
  });
  Promise.all(all.map(connect)).then((all) => process.stdout.write(all.join(' '), () => process.exit()));`;

/** Opens connections, a few at a time, and keeps them until its input ends. Prints how many it got, and what the others were told. */
const openMany = `const [host, wanted] = process.argv.slice(1);
  const open = () => new Promise((resolve) => {
    const socket = require('node:net').connect({ host, port: 80 });
    socket.once('connect', () => resolve('open')); socket.once('error', ({ code }) => resolve(code));
  });
  const told = {};
  (async () => {
    for (let begun = 0; begun < Number(wanted); begun += 100)
      for (const how of await Promise.all(Array.from({ length: 100 }, open))) told[how] = (told[how] ?? 0) + 1;
    console.log(JSON.stringify(told));
    process.stdin.resume().once('end', () => process.exit());
  })();`;

describe.skipIf(!canRun)('from inside a container (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime;
  let world: World;
  const idle = (name: string, changes: Partial<Container> = {}) => {
    const { probe: _, ...rest } = describeContainer(machine.layers, name, {});
    return { ...rest, argv: shell('exec sleep 1000'), ...changes };
  };
  const tries = async (name: string, addresses: readonly string[], milliseconds = answerMilliseconds) =>
    (await run(runtime, name, { argv: ['/usr/bin/node', '-e', tryEach, String(milliseconds), ...addresses] })).out.split(' ');
  const reopen = async (allowPrivateAddresses: readonly string[]) => {
    await runtime.close();
    runtime = await openRuncRuntime({ ...machine.options, allowPrivateAddresses });
    await runtime.removeLeftovers(new Set((await runtime.list()).map(({ name }) => name)));
  };

  beforeAll(async () => {
    machine = makeTestMachine();
    runtime = await openRuncRuntime(machine.options);
    world = openWorld(machine.instance);
    await world.ready;
    await runtime.ensure(idle('inside'));
    await runtime.ensure(idle('restricted', { outbound: [{ ips: ['10.0.0.0/8', '192.168.0.0/16', '169.254.0.0/16'], ports: [] }] }));
  });
  afterAll(async () => {
    await runtime.close();
    world.remove();
    await machine.remove();
  });

  test('private, shared, link-local and reserved networks are refused at once, whatever an app allows itself', async () => {
    const all = [...world.private, '127.0.0.1', '224.0.0.1', '240.0.0.1', '0.0.0.1'];
    for (const address of world.private) expect(await (await fetch(`http://${address}/`)).text()).toBe(world.machine);
    expect((await getInside(runtime, 'inside', `http://${world.near}/`)).out).toBe(world.machine);
    expect(await tries('inside', all)).not.toContain('open');
    expect(await tries('inside', world.private)).toEqual(world.private.map(() => 'ECONNREFUSED'));
    expect(await tries('restricted', world.private)).toEqual(world.private.map(() => 'ECONNREFUSED'));
  });

  test('those that the operator names are reached, unless the app allows itself less; what clouds keep secret never is', async () => {
    const [ten = '', shared = '', ...others] = world.private;
    await reopen([`${ten}/32`, `${shared.replace(/\d+$/, '0')}/24`, 'fd00::/8']);
    expect(await tries('inside', [ten, shared])).toEqual(['open', 'open']);
    expect(await tries('restricted', [ten])).toEqual(['open']);
    expect(await tries('restricted', [shared], silenceMilliseconds)).toEqual(['silence']);
    expect(await tries('inside', others)).toEqual(others.map(() => 'ECONNREFUSED'));
    await reopen(['0.0.0.0/0', '::/0']);
    expect(await tries('inside', world.private)).toEqual(world.private.map(() => 'open'));
    expect(await tries('inside', world.metadata, silenceMilliseconds)).toEqual(world.metadata.map(() => 'silence'));
    await reopen([]);
    expect(await tries('inside', [ten, shared])).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
  });

  test('of the machine one port is reached once it is admitted, by name, also by those who allow themselves less, and after a restart', async () => {
    const servers = [createServer(), createServer()];
    for (const server of servers) await once(server.listen(0, '0.0.0.0'), 'listening');
    const all = servers.map((server) => `${machineHost}#${(server.address() as AddressInfo).port}`);
    expect(await tries('inside', all, silenceMilliseconds)).toEqual(['silence', 'silence']);
    const [port = 0] = servers.map((server) => (server.address() as AddressInfo).port);
    await runtime.admit({ purpose: 'test', port, as: port, whileNobodyListens: 'refuse' });
    expect(await tries('inside', all, silenceMilliseconds)).toEqual(['open', 'silence']);
    expect(await tries('restricted', all, silenceMilliseconds)).toEqual(['open', 'silence']);
    await reopen([]);
    await runtime.ensure(idle('later', { network: 'later' }));
    expect(await tries('later', all, silenceMilliseconds)).toEqual(['open', 'silence']);
    await runtime.remove('later');
    for (const server of servers) server.close();
  });

  test('a port can be another one to containers; who connects to it is known, and waits while nobody listens', async () => {
    const server = createServer((socket) => void socket.end(String(socket.remoteAddress)));
    await once(server.listen(0, '0.0.0.0'), 'listening');
    const { port } = server.address() as AddressInfo;
    await runtime.admit({ purpose: 'mail', port, as: 25, whileNobodyListens: 'wait' });
    const heard = `require('node:net').connect({ host: '${machineHost}', port: 25 }).setEncoding('utf8').once('data', (said) => console.log(said))`;
    const hear = (name: string) => run(runtime, name, { argv: ['/usr/bin/node', '-e', heard] });
    for (const name of ['inside', 'restricted']) {
      const { address } = await runtime.state(name);
      expect((await hear(name)).out.trim()).toBe(address);
      expect(await runtime.containerAt(address ?? '')).toEqual({ name, network: expect.any(String) });
    }
    expect(await runtime.containerAt('192.0.2.1')).toBeUndefined();
    server.close();
    await once(server, 'close');
    expect(await tries('inside', [`${machineHost}#25`], silenceMilliseconds)).toEqual(['silence']);
    const hearing = hear('inside');
    // A connection in the state 02 was asked for and is not there yet.
    await expect.poll(async () => (await run(runtime, 'inside', { argv: shell('cat /proc/net/tcp') })).out, waiting).toMatch(/:0019 02 /);
    const next = createServer((socket) => void socket.end('back'));
    await once(next.listen(port, '0.0.0.0'), 'listening');
    expect((await hearing).out.trim()).toBe('back');
    await runtime.admit({ purpose: 'mail', port, as: port, whileNobodyListens: 'refuse' });
    expect(await tries('inside', [`${machineHost}#25`], silenceMilliseconds)).toEqual(['silence']);
    next.close();
  });

  test('IPv6 leads nowhere, neither to the machine nor through it', async () => {
    const bridge = execFileSync('ip', ['-br', 'link', 'show', 'type', 'bridge'], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '')
      .find((link) => link.startsWith(`of-${machine.instance}-`));
    const ip = (...args: string[]) => execFileSync('ip', ['-6', ...args]);
    const own = world.six.replace('fd0f', 'fd0e').replace(/2$/, '1');
    const inside = own.replace(/1$/, '2');
    // As on a machine whose bridges and containers have got addresses of IPv6, and which forwards it.
    writeFileSync(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, '0');
    for (const link of [bridge, world.link]) writeFileSync(`/proc/sys/net/ipv6/conf/${link}/forwarding`, '1');
    ip('addr', 'add', `${own}/64`, 'dev', bridge ?? '', 'nodad');
    const namespace = join('/run/offshoot', machine.instance, 'containers/inside/network-namespace');
    const within = (...command: string[]) => execFileSync('nsenter', [`--net=${namespace}`, ...command]);
    within('sh', '-c', 'echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6');
    within('ip', '-6', 'addr', 'add', `${inside}/64`, 'dev', 'eth0', 'nodad');
    within('ip', '-6', 'route', 'add', 'default', 'via', own);
    expect(await (await fetch(`http://[${world.six}]/`)).text()).toContain(':');
    expect(await tries('inside', [world.six, own], silenceMilliseconds)).toEqual(['silence', 'silence']);
  });

  test('ten thousand connections at once are two thousand, and a neighbour has its own', { timeout: 120_000 }, async () => {
    const limits = { cpu: 1, memoryBytes: 512 * 1024 ** 2, pids: 100, diskBytes: 64 * 1024 ** 2 };
    await runtime.ensure(idle('greedy', { network: 'greedy', limits }));
    await runtime.ensure(idle('modest', { network: 'modest' }));
    const flood = await runtime.exec('greedy', { argv: ['/usr/bin/node', '-e', openMany, world.near, '10000'] });
    let said = '';
    flood.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said, waiting).toContain('\n');
    const told = JSON.parse(said) as Record<string, number>;
    expect(told).toEqual({ open: expect.any(Number), ECONNREFUSED: expect.any(Number) });
    expect(told['open']).toBeGreaterThan(1000);
    expect(told['open']).toBeLessThanOrEqual(2000);
    expect(await tries('modest', [world.near])).toEqual(['open']);
    // Whoever has the rules of the machine written anew is still counted.
    await runtime.ensure(idle('another', { network: 'another' }));
    expect(await tries('greedy', [world.near])).toEqual(['ECONNREFUSED']);
    flood.stdin.end();
    await flood.exited;
    await expect.poll(() => tries('greedy', [world.near]), waiting).toEqual(['open']);
    for (const name of ['greedy', 'modest', 'another']) await runtime.remove(name);
  });
});
