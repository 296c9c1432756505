/** What is left after a kill, and after a remove. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeContainer, linesOf, runShell, shell } from '../conformance.ts';
import type { Container, Runtime } from '../runtime.ts';
import { openRuntimeFolders, readText } from './runtime-folders.ts';
import { commandOf } from './processes.ts';
import { openRuncRuntime } from './runc.ts';
import { stateOf } from './state.ts';
import { type TestMachine, canRun, inventoryOf, makeTestMachine, pretendReboot } from './test-machine.ts';

const chaosKills = 50;
const waiting = { timeout: 60_000, interval: 100 };

describe.skipIf(!canRun)('containers and their platform (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime | undefined;
  const children: ChildProcess[] = [];
  const container = (name: string, changes: Partial<Container> = {}) => describeContainer(machine.layers, name, changes);
  const idle = (name: string, changes: Partial<Container> = {}) => {
    const { probe: _, ...rest } = container(name);
    return { ...rest, argv: shell('exec sleep 1000'), ...changes };
  };

  const restricted = { outbound: [{ ips: ['192.0.2.0/24'], ports: [443] }], hosts: { 'legacy.example': '192.0.2.1' } };
  const rules = () => execFileSync('nft', ['list', 'table', 'inet', `offshoot_${machine.instance}`], { encoding: 'utf8' });

  beforeEach(() => {
    machine = makeTestMachine();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await runtime?.close();
    await machine.remove();
  });

  /** Another process that, once it is told to go, opens the runtime and goes on with `work`, a piece of program. */
  async function loadElsewhere(work: string): Promise<ChildProcess> {
    const program = `
      import { openRuncRuntime } from ${JSON.stringify(new URL('runc.ts', import.meta.url).href)};
      import { openMemoryVolumes } from ${JSON.stringify(new URL('test-machine.ts', import.meta.url).href)};
      const { folder, instance, containers } = JSON.parse(process.argv[1]);
      console.log('loaded');
      for await (const word of process.stdin) break;
      const runtime = await openRuncRuntime({ folder: folder + '/runtime', instance, volumes: openMemoryVolumes(folder + '/volumes') });
      ${work}`;
    const { folder, instance } = machine;
    const containers = [
      container('web', { restart: 'always' }),
      idle('a', { outbound: [] }),
      idle('b', { network: 'two' }),
      idle('c', { network: 'two', ...restricted }),
    ];
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program, JSON.stringify({ folder, instance, containers })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  const go = (child: ChildProcess) => child.stdin?.write('go');

  async function killed(child: ChildProcess) {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  test('they go on after kill -9 of the platform, are started again meanwhile, and found by name', async () => {
    const child = await loadElsewhere(`
      await runtime.ensure(containers[0]);
      const left = await runtime.exec('web', { argv: ['/bin/sh', '-c', 'sleep 4321; true'] });
      await left.signal('SIGCONT');
      console.log((await runtime.state('web')).address);
      setInterval(() => {}, 1000);`);
    go(child);
    const [address] = await once(child.stdout!, 'data');
    await killed(child);
    const reply = async () => (await fetch(`http://${String(address).trim()}:8080/`)).text();
    expect(await reply()).toBe('web');
    runtime = await openRuncRuntime(machine.options);
    const found = await runtime.state('web');
    expect(found).toMatchObject({ status: 'running', restarts: 0 });
    expect(await runtime.ensure(container('web', { restart: 'always' }))).toEqual(found);
    const opened = runtime;
    await expect.poll(async () => (await runShell(opened, 'web', 'ps -o args | grep 432[1]')).out, waiting).toBe('');
    await runShell(runtime, 'web', 'kill 1');
    await runtime.close();
    runtime = undefined;
    await expect.poll(() => reply().catch(() => ''), waiting).toBe('web');
    runtime = await openRuncRuntime(machine.options);
    // It answers a moment before its monitor has written down that it runs.
    const again = runtime;
    await expect.poll(() => again.state('web'), waiting).toMatchObject({ status: 'running', restarts: 1 });
    await expect.poll(() => linesOf(again.logs('web', {})), waiting).toEqual(['ready', 'asked to stop', 'ready']);
  });

  const numberOf = (name: string, file: string) => Number(readText(join('/run/offshoot', machine.instance, 'containers', name, file)));
  const monitorOf = (name: string) => numberOf(name, 'monitor-pid');
  const inside = (name: string) => numberOf(name, 'pid');

  test('whose monitor is killed runs on, is heard, and is started again when it ends', async () => {
    const opened = (runtime = await openRuncRuntime(machine.options));
    const counting = idle('web', { argv: shell('n=0; while sleep 0.1; do echo $((n += 1)); done'), restart: 'always' });
    const { startedAt } = await opened.ensure(counting);
    const lines = () => linesOf(opened.logs('web', {}));
    await expect.poll(lines, waiting).toContain('2');
    process.kill(monitorOf('web'), 'SIGKILL');
    await expect.poll(() => commandOf(monitorOf('web')), waiting).toContain('monitor.pl');
    const count = Number((await lines()).at(-1));
    await expect.poll(lines, waiting).toContain(String(count + 20));
    const heard = await lines();
    expect(heard).toEqual(heard.map((_, index) => String(index + 1)));
    expect(await opened.state('web')).toMatchObject({ status: 'running', restarts: 0, startedAt });

    process.kill(inside('web'), 'SIGKILL');
    await expect.poll(() => opened.state('web'), waiting).toMatchObject({ status: 'running', restarts: 1 });
    expect(commandOf(monitorOf('web'))).toContain('conmon');
    await expect.poll(async () => (await lines()).filter((line) => line === '1'), waiting).toHaveLength(2);
  });

  test('that ended without a monitor while nobody looked are not said to be starting again, and are started again', async () => {
    runtime = await openRuncRuntime(machine.options);
    await runtime.ensure(container('web', { restart: 'always' }));
    await runtime.ensure(idle('done'));
    await runtime.close();
    runtime = undefined;
    for (const name of ['web', 'done']) {
      process.kill(monitorOf(name), 'SIGKILL');
      process.kill(inside(name), 'SIGKILL');
    }
    const { instance, folder } = machine;
    const folders = openRuntimeFolders(join(folder, 'runtime'), { instance });
    await expect.poll(() => stateOf(folders, 'web').status, waiting).toBe('stopped');
    const opened = (runtime = await openRuncRuntime(machine.options));
    await expect.poll(() => opened.state('web'), waiting).toMatchObject({ status: 'running', restarts: 1 });
    expect(await opened.state('done')).toMatchObject({ status: 'stopped' });
  });

  const statOf = (pid: number) => readText(`/proc/${pid}/stat`) ?? '';
  const programsOf = (parent: number | undefined, program: string) =>
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && commandOf(pid).includes(program) && new RegExp(`\\) [RSD] ${parent} `).test(statOf(pid)));
  /** What was started ahead to prepare the next container. */
  const waitingPreparers = () => programsOf(process.pid, 'prepare.pl').filter((pid) => statOf(pid).includes(') S '));

  test('what is paused goes on when the one who paused it is killed, and nobody comes back for it', async () => {
    const child = await loadElsewhere(`
      await Promise.all(containers.slice(0, 2).map((container) => runtime.ensure(container)));
      const { address } = await runtime.state('web');
      await Promise.all(['web', 'a', 'web'].map((name) => runtime.pause(name)));
      await runtime.resume('a');
      const states = await Promise.all(['web', 'a'].map((name) => runtime.state(name)));
      console.log(JSON.stringify([address, ...states.map(({ status }) => status)]));
      setInterval(() => {}, 1000);`);
    go(child);
    const [said] = await once(child.stdout!, 'data');
    const [address, ...states] = JSON.parse(String(said));
    expect(states).toEqual(['paused', 'running']);
    const guards = programsOf(child.pid, 'thaw.pl');
    expect(guards).toHaveLength(1);
    const ask = () => fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(300) }).then((reply) => reply.text(), String);
    expect(await ask()).toContain('Timeout');
    // As a terminal does that closes, or a service that is stopped: it is not for it.
    for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT'] as const) process.kill(guards[0] ?? 0, signal);
    await killed(child);
    await expect.poll(ask, waiting).toBe('web');
    await expect.poll(() => guards.map(commandOf), waiting).toEqual(['']);
  });

  test('what watches over the paused is out of the way when nothing is, and when the runtime is closed', async () => {
    runtime = await openRuncRuntime(machine.options);
    await runtime.ensure(idle('a'));
    const guards = () => programsOf(process.pid, 'thaw.pl');
    await runtime.pause('a');
    const [first] = guards();
    await expect.poll(() => /^0::(.*)$/m.exec(readText(`/proc/${first}/cgroup`) ?? '')?.[1], waiting).toContain('-monitors');
    await runtime.resume('a');
    await runtime.pause('a');
    await expect.poll(guards, waiting).toHaveLength(1);
    expect(guards()).not.toContain(first);
    expect(await runtime.state('a')).toMatchObject({ status: 'paused' });
    for (const pid of guards()) process.kill(pid, 'SIGKILL');
    await expect.poll(guards, waiting).toEqual([]);
    await runtime.ensure(idle('b'));
    await runtime.pause('b');
    expect(guards()).toHaveLength(1);
    await runtime.close();
    expect(guards()).toEqual([]);
    runtime = await openRuncRuntime(machine.options);
    expect((await runtime.list()).map(({ status }) => status)).toEqual(['running', 'running']);
  });

  test('their monitors are not among the processes of the platform, also when what was to start them is killed while it waits', async () => {
    runtime = await openRuncRuntime(machine.options);
    const cgroupOfMonitor = async (name: string) => {
      await runtime?.ensure(idle(name));
      const pid = readText(join('/run/offshoot', machine.instance, 'containers', name, 'monitor-pid'));
      return /^0::(.*)$/m.exec(readText(`/proc/${pid}/cgroup`) ?? '')?.[1];
    };
    const monitors = `/offshoot-${machine.instance}-monitors`;
    expect(await cgroupOfMonitor('first')).toBe(monitors);
    await expect.poll(waitingPreparers, waiting).toHaveLength(1);
    expect(await cgroupOfMonitor('prepared')).toBe(monitors);
    await expect.poll(waitingPreparers, waiting).toHaveLength(1);
    for (const pid of waitingPreparers()) process.kill(pid, 'SIGKILL');
    await expect.poll(waitingPreparers, waiting).toEqual([]);
    expect(await cgroupOfMonitor('unprepared')).toBe(monitors);
    for (const name of ['first', 'prepared', 'unprepared']) await runtime.remove(name);
    expect(waitingPreparers()).toEqual([]);
  });

  test('after a remove the machine has what it had before', async () => {
    runtime = await openRuncRuntime(machine.options);
    const before = inventoryOf(machine);
    expect(Object.values(before).flat()).toEqual([]);
    for (let round = 0; round < 2; round++) {
      const names = Array.from({ length: 5 }, (_, index) => `c${index}`);
      await Promise.all(
        names.map((name, index) =>
          runtime!.ensure(idle(name, { network: index % 2 ? 'one' : 'two', restart: 'always', ...(index < 3 && restricted) })),
        ),
      );
      expect(rules().match(/goto outbound_/g)).toHaveLength(3);
      expect(Object.entries(inventoryOf(machine)).filter(([, found]) => found.length === 0)).toEqual([]);
      await Promise.all(names.map((name) => runtime!.remove(name)));
      await expect.poll(() => inventoryOf(machine), waiting).toEqual(before);
    }
  });

  test('one that was made, and never let go on because its maker was killed, is made anew', async () => {
    runtime = await openRuncRuntime(machine.options);
    await runtime.ensure(container('web'));
    const run = join('/run/offshoot', machine.instance);
    const bundle = join(run, 'containers', 'web');
    execFileSync('runc', ['--root', join(run, 'runc'), 'delete', '--force', 'web']);
    execFileSync('runc', ['--root', join(run, 'runc'), 'create', '--bundle', bundle, 'web'], { stdio: 'ignore' });
    rmSync(join(bundle, 'token'));
    expect(await runtime.state('web')).toMatchObject({ status: 'starting' });
    expect(await runtime.ensure(container('web'))).toMatchObject({ status: 'running' });
  });

  test('what a reboot leaves is made whole by ensure', async () => {
    runtime = await openRuncRuntime(machine.options);
    await runtime.ensure(container('web'));
    await runtime.close();
    pretendReboot(machine);
    runtime = await openRuncRuntime(machine.options);
    expect(await runtime.state('web')).toMatchObject({ status: 'stopped' });
    expect(await runtime.ensure(container('web'))).toMatchObject({ status: 'running' });
    const again = runtime;
    await expect.poll(() => linesOf(again.logs('web', {})), waiting).toEqual(['ready', 'ready']);
  });

  test('one whose description a power failure has emptied is made anew, and the others are there', async () => {
    runtime = await openRuncRuntime(machine.options);
    for (const name of ['emptied', 'whole']) await runtime.ensure(idle(name));
    await runtime.close();
    pretendReboot(machine);
    truncateSync(join(openRuntimeFolders(machine.options.folder, machine.options).containers, 'emptied', 'container.json'));
    runtime = await openRuncRuntime(machine.options);
    expect(await runtime.list()).toMatchObject([{ name: 'whole', status: 'stopped' }]);
    expect(await runtime.ensure(idle('emptied'))).toMatchObject({ status: 'running' });
  });

  test(
    `killed at ${chaosKills} random moments of ensuring and removing, what should exist does, and nothing else`,
    { timeout: 600_000 },
    async () => {
      runtime = await openRuncRuntime(machine.options);
      const kept = await runtime.ensure(idle('kept'));
      const before = inventoryOf(machine);
      await runtime.close();
      const work = `
      console.log('open');
      const loop = async (container) => { for (;;) { await runtime.ensure(container); await runtime.remove(container.name); } };
      await Promise.all(containers.slice(1).map(loop));`;
      // The next ones get ready while the one before works.
      const loading = Array.from({ length: 2 }, () => loadElsewhere(work));
      for (let kill = 0; kill < chaosKills; kill++) {
        const child = await loading.shift()!;
        go(child);
        loading.push(loadElsewhere(work));
        await once(child.stdout!, 'data');
        await sleep(randomInt(400));
        await killed(child);
      }
      for (const child of loading) await killed(await child);
      runtime = await openRuncRuntime(machine.options);
      await runtime.removeLeftovers(new Set(['kept']));
      await expect.poll(() => inventoryOf(machine), waiting).toEqual(before);
      expect(rules()).not.toContain('outbound');
      expect(await runtime.list()).toEqual([kept]);
      expect(await runtime.ensure(idle('a'))).toMatchObject({ status: 'running' });
    },
  );
});
