/** What a container cannot do, tried from inside as its root user, and what it cannot do to its neighbours. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeContainer, getInside, isSilentInside, run, runShell, shell } from '../conformance.ts';
import type { Container, Runtime } from '../runtime.ts';
import { openRuncRuntime } from './runc.ts';
import { type TestMachine, canRun, makeTestMachine } from './test-machine.ts';
import { openWorld } from './test-world.ts';

const megabyte = 1024 * 1024;
const waiting = { timeout: 60_000, interval: 100 };
const forkBomb = `const { spawn } = require('node:child_process');
  setInterval(() => { for (let n = 0; n < 20; n++) spawn('/bin/sleep', ['1000']).on('error', () => {}); }, 20);`;
const memoryHog = 'const all = []; for (;;) all.push(Buffer.alloc(1e6, 1));';

/** Prints those of the addresses where somebody answers in time, in their order. */
const whoAnswers = `const [milliseconds, ...all] = process.argv.slice(1);
  const answers = (at) => fetch('http://' + at, { signal: AbortSignal.timeout(Number(milliseconds)) }).then(() => [at], () => []);
  Promise.all(all.map(answers)).then((all) => process.stdout.write(all.flat().join(' '), () => process.exit()));`;

describe.skipIf(!canRun)('inside a container (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime;
  const container = (name: string, changes: Partial<Container> = {}) => describeContainer(machine.layers, name, changes);
  const idle = (name: string, changes: Partial<Container> = {}) => {
    const { probe: _, ...rest } = container(name);
    return { ...rest, argv: shell('exec sleep 1000'), ...changes };
  };

  /** The address itself, if nothing answers there. */
  const refused = async (url: string) => ((await isSilentInside(runtime, 'inside', url)) ? url : `${url} answered`);

  beforeAll(async () => {
    machine = makeTestMachine();
    runtime = await openRuncRuntime(machine.options);
    await runtime.ensure(idle('inside', { user: { uid: 0, gid: 0 } }));
  });
  afterAll(async () => {
    await runtime.close();
    await machine.remove();
  });

  test('only its own processes can be seen', async () => {
    const { out } = await runShell(runtime, 'inside', 'ls -d /proc/[0-9]* | wc -l; cat /proc/1/cmdline');
    expect(Number(out.split('\n')[0])).toBeLessThan(8);
    expect(out).toContain('/.offshoot/init');
  });

  test('its root is nobody on the machine, without capabilities and without a way to more', async () => {
    const { out } = await runShell(runtime, 'inside', 'cat /proc/self/uid_map; cat /proc/self/status');
    expect(Number(/^\s*0\s+(\d+)\s+65536$/m.exec(out)?.[1])).toBeGreaterThanOrEqual(0x10000000);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(out).toMatch(new RegExp(`^${set}:\\s0+$`, 'm'));
    expect(out).toMatch(/^NoNewPrivs:\s1$/m);
    expect(out).toMatch(/^Seccomp:\s2$/m);
  });

  test('files of the machine cannot be reached', async () => {
    const secret = join(machine.folder, 'secret');
    writeFileSync(secret, 'secret', { mode: 0o644 });
    for (const path of [secret, `/proc/1/root${secret}`, `/proc/1/cwd${secret}`])
      expect((await runShell(runtime, 'inside', `cat ${path}`)).code).not.toBe(0);
  });

  test('settings of the kernel, mounts, devices and namespaces cannot be touched', async () => {
    const attempts = [
      'echo 1 >/proc/sys/kernel/panic',
      'echo 0 >/proc/sys/net/ipv4/ip_forward',
      'echo b >/proc/sysrq-trigger',
      'mount -t tmpfs none /tmp',
      'mount -o remount,rw /',
      'umount /tmp',
      'unshare -U true',
      'unshare -m true',
      'mknod /tmp/disk b 8 0',
      'mknod /tmp/memory c 1 1',
      'chroot /tmp true',
      'hostname other',
      'ip link set eth0 down',
      'ip addr add 100.64.0.99/25 dev eth0',
      'echo x >/etc/hosts',
      'echo x >/.offshoot/names/hosts',
      'date -s 2000-01-01; [ $(date +%Y) = 2000 ]',
      'dmesg',
      'head -c 1 /proc/kcore | grep .',
      'test -e /dev/vda -o -e /dev/sda -o -e /dev/mem -o -e /dev/kmsg -o -e /dev/loop0',
    ];
    const succeeded: string[] = [];
    for (const attempt of attempts) if ((await runShell(runtime, 'inside', attempt)).code === 0) succeeded.push(attempt);
    expect(succeeded).toEqual([]);
    const control = await runShell(runtime, 'inside', 'echo x >/tmp/file && ip addr show eth0 && mknod /tmp/pipe p');
    expect(control).toMatchObject({ code: 0 });
  });

  const eachMax = 2;
  const [firstLookMilliseconds, looksMax] = [700, 7];

  test('services of the machine cannot be reached, while the machine reaches the container', async () => {
    const server = createServer((_, reply) => reply.end('of the machine')).listen(0, '0.0.0.0');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      await runtime.ensure(idle('elsewhere', { network: 'two' }));
      const found = Object.entries(networkInterfaces()).flatMap(([link, all = []]) =>
        all.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => ({ link, address })),
      );
      // Those of other platforms come and go.
      const bridges = found.filter(({ link }) => link.includes(machine.instance)).map(({ address }) => address);
      expect(bridges).toEqual([expect.stringMatching(/^100\./), expect.stringMatching(/^100\./)]);
      const others = found.map(({ address }) => address).filter((address) => !address.startsWith('100.'));
      // Each is asked by a process of its own, of which the container may not have many.
      const some = [bridges, others].flatMap((kind) => kind.slice(0, eachMax));
      const urls = some.map((address) => `http://${address}:${port}/`);
      expect(await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).toEqual(urls.map(() => 'of the machine'));
      expect(await Promise.all(urls.map(refused))).toEqual(urls);
      const { address } = await runtime.ensure(container('web'));
      expect(await (await fetch(`http://${address}:8080/`)).text()).toBe('web');
    } finally {
      server.close();
      server.closeAllConnections();
      for (const name of ['elsewhere', 'web']) await runtime.remove(name);
    }
  });

  test('the outside can be reached through the machine, but for mail servers and the addresses where clouds keep secrets', async () => {
    const world = openWorld(machine.instance);
    try {
      await world.ready;
      await expect.poll(async () => (await getInside(runtime, 'inside', `http://${world.near}:80/`)).out).toBe(world.machine);
      const forbidden = [`http://${world.near}:25/`, ...world.metadata.map((address) => `http://${address}:80/`)];
      expect(await Promise.all(forbidden.map(refused))).toEqual(forbidden);
      for (const url of forbidden.slice(1)) expect(await (await fetch(url)).text()).toBe(world.machine);
    } finally {
      world.remove();
    }
  });

  test(
    'one with rules of its own reaches only what they let out, its neighbours and names; they change without a restart',
    { timeout: 300_000 },
    async () => {
      const world = openWorld(machine.instance);
      const [near, far, mail, other] = [`${world.near}:80`, `${world.far}:80`, `${world.near}:25`, `${world.near}:8080`];
      const all = [near, far, mail, other];
      const answering = async (name: string, milliseconds: number) => {
        const { out } = await run(runtime, name, { argv: ['/usr/bin/node', '-e', whoAnswers, String(milliseconds), ...all] });
        return out.split(' ').filter(Boolean);
      };
      /** On a busy machine an answer may come late: who is missing is asked once more, with more patience. Who must not answer never does. */
      const expectReached = async (expected: string[], name = 'restricted') => {
        const heard = new Set<string>();
        for (let looks = 0; looks === 0 || (looks < looksMax && heard.size < expected.length); looks++)
          for (const at of await answering(name, firstLookMilliseconds * 2 ** looks)) heard.add(at);
        expect(all.filter((at) => heard.has(at))).toEqual(expected);
      };
      const allowing = (outbound: Container['outbound']) => idle('restricted', outbound ? { outbound } : {});
      try {
        await world.ready;
        await runtime.ensure(container('neighbour', { restart: 'always' }));
        const { startedAt } = await runtime.ensure(allowing([{ ips: [world.near], ports: [80, 25] }]));
        await expectReached([near]);
        await expectReached([near, far, other], 'inside');
        expect((await getInside(runtime, 'restricted', 'http://neighbour.internal:8080/')).out).toBe('neighbour');
        // Nobody answers there: a reply that says so would be one.
        const datagram = `const socket = require('node:dgram').createSocket('udp4'); socket.connect(9, process.argv[1], () => {
        socket.on('error', () => process.exit(0)); socket.send('x'); setTimeout(() => process.exit(1), 500); });`;
        const hears = async (name: string) =>
          (await run(runtime, name, { argv: ['/usr/bin/node', '-e', datagram, world.near] })).code === 0;
        await expect.poll(() => hears('inside'), waiting).toBe(true);
        expect(await hears('restricted')).toBe(false);

        const ranges = [`${world.far}/32`, `${world.machine}/32`, '198.51.100.248/29', '198.51.100.250/30', '2001:db8::/32'];
        await runtime.updateOutbound('restricted', [
          { ips: ranges, ports: [] },
          { ips: [], ports: [] },
          { ips: [world.near], ports: [8080] },
        ]);
        await expectReached([far, other]);
        expect(await runtime.ensure(allowing([{ ips: ['0.0.0.0/0'], ports: [] }]))).toMatchObject({ startedAt, restarts: 0 });
        await expectReached([near, far, other]);
        const metadata = `http://${world.metadata[0]}:80/`;
        expect(await isSilentInside(runtime, 'restricted', metadata)).toBe(true);
        await runtime.ensure(allowing([]));
        await expectReached([]);
        await expect(runtime.updateOutbound('restricted', [{ ips: ['10.0.0.0/33'], ports: [] }])).rejects.toThrow('10.0.0.0/33');
        expect(await runtime.ensure(allowing(undefined))).toMatchObject({ startedAt });
        await expectReached([near, far, other]);

        // Whoever has its address next may reach everything again.
        const { address } = await runtime.ensure(allowing([]));
        await runtime.remove('restricted');
        expect(await runtime.ensure(idle('next'))).toMatchObject({ address });
        await expectReached([near, far, other], 'next');
        expect(execFileSync('nft', ['list', 'table', 'inet', `offshoot_${machine.instance}`], { encoding: 'utf8' })).not.toContain(
          'outbound',
        );
      } finally {
        for (const name of ['neighbour', 'restricted', 'next']) await runtime.remove(name);
        world.remove();
      }
    },
  );

  test('a fork bomb, a memory hog and a disk hog stay inside their limits while a neighbour keeps answering', async () => {
    const limits = { cpu: 0.5, memoryBytes: 48 * megabyte, pids: 30, diskBytes: 8 * megabyte };
    const { address } = await runtime.ensure(container('neighbour'));
    await runtime.ensure(idle('forks', { limits, argv: ['/usr/bin/node', '-e', forkBomb] }));
    await runtime.ensure(
      idle('memory', {
        limits,
        restart: 'always',
        argv: ['/usr/bin/node', '-e', memoryHog],
      }),
    );
    await runtime.ensure(idle('disk', { limits, argv: shell('while :; do cat /dev/zero >/tmp/file$((n += 1)); sleep 0.1; done') }));
    let forks = 0;
    const mostForks = async () => (forks = Math.max(forks, (await runtime.stats('forks')).pids));
    await expect.poll(mostForks, waiting).toBeGreaterThan(5);
    await expect.poll(async () => (await runtime.stats('disk')).diskUsedBytes, waiting).toBeGreaterThan(limits.diskBytes / 2);
    const outside = createServer((_, reply) => reply.end('outside')).listen(0, '127.0.0.1');
    await once(outside, 'listening');
    const millisecondsUntil = async (port: number, host: string, said: string) => {
      const start = performance.now();
      expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe(said);
      return performance.now() - start;
    };
    let slowest = 0;
    try {
      for (const until = performance.now() + 3000; performance.now() < until; await sleep(100)) {
        const [inside, anchor] = await Promise.all([
          millisecondsUntil(8080, address ?? '', 'neighbour'),
          millisecondsUntil((outside.address() as AddressInfo).port, '127.0.0.1', 'outside'),
        ]);
        // What nobody answered in was not theirs: the machine stood still.
        slowest = Math.max(slowest, inside - anchor);
        await mostForks();
      }
    } finally {
      outside.close();
      outside.closeAllConnections();
    }
    expect(slowest).toBeLessThan(3000);
    expect(forks).toBeLessThanOrEqual(limits.pids);
    const { diskUsedBytes } = await runtime.stats('disk');
    expect(diskUsedBytes).toBeGreaterThan(limits.diskBytes / 2);
    expect(diskUsedBytes).toBeLessThanOrEqual(limits.diskBytes);
    await expect.poll(async () => (await runtime.state('memory')).exit?.outOfMemory, waiting).toBe(true);
    for (const name of ['forks', 'memory', 'disk', 'neighbour']) await runtime.remove(name);
    expect(await runtime.list()).toMatchObject([{ name: 'inside', status: 'running' }]);
  });
});
