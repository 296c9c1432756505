/** What tenants put into their volumes, and into their variables, for programs of ours that run as root: it leads nowhere and gives nothing. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeContainer, linesOf, run, runShell, shell } from '../conformance.ts';
import type { Container, Mount, Runtime } from '../runtime.ts';
import { openRuncRuntime } from './runc.ts';
import { type TestMachine, canRun, makeTestMachine } from './test-machine.ts';

const tenant = { uid: 1000, gid: 1000 };
const megabyte = 1024 * 1024;
const waiting = { timeout: 60_000, interval: 50 };

describe.skipIf(!canRun)('files of tenants (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime;
  let volume: string;
  let secrets: string;
  const idle = (name: string, changes: Partial<Container> = {}): Container => {
    const { probe: _, ...rest } = describeContainer(machine.layers, name);
    return { ...rest, user: tenant, argv: shell('exec sleep 1000'), ...changes };
  };
  const mounted = (...mounts: Omit<Mount, 'from' | 'writable'>[]) => ({
    mounts: mounts.map((mount) => ({ from: volume, writable: true, ...mount })),
  });

  beforeAll(async () => {
    machine = makeTestMachine();
    runtime = await openRuncRuntime(machine.options);
    ({ path: volume } = await machine.options.volumes.create('shared', 8 * megabyte));
    chownSync(volume, tenant.uid, tenant.gid);
    secrets = join(machine.folder, 'secrets');
    mkdirSync(secrets);
    writeFileSync(join(secrets, 'secret'), 'of the machine');
  });
  afterEach(async () => {
    for (const { name } of await runtime.list()) await runtime.remove(name);
    for (const entry of readdirSync(volume)) rmSync(join(volume, entry), { recursive: true });
  });
  afterAll(async () => {
    await runtime.close();
    await machine.remove();
  });

  test('no mount tells where an image, a container or its files are on the machine', async () => {
    await runtime.ensure(idle('reader', { ...mounted({ at: '/data' }), files: { '/tmp/told.json': '{}' } }));
    const { out } = await runShell(runtime, 'reader', 'cat /proc/self/mountinfo /proc/self/mounts');
    expect(out).toMatch(/ overlay overlay .*lowerdir=0:1:2:3/);
    expect(out).toContain('/.offshoot/files');
    for (const path of [machine.folder, '/run/offshoot', machine.instance, secrets]) expect(out).not.toContain(path);
  });

  test('links of an image lead to no file of the machine, and a file of names that never ends stops nobody', async () => {
    const layerOf = (name: string) => {
      const layer = join(machine.folder, name);
      mkdirSync(layer);
      return layer;
    };
    const [links, folder, endless] = [layerOf('links'), layerOf('folder'), layerOf('endless')];
    mkdirSync(join(links, 'etc'));
    symlinkSync(join(secrets, 'secret'), join(links, 'etc/passwd'));
    symlinkSync('/dev/zero', join(links, 'etc/group'));
    const names = layerOf('names');
    writeFileSync(join(names, 'passwd'), 'of the machine');
    symlinkSync(names, join(folder, 'etc'));
    mkdirSync(join(endless, 'etc'));
    writeFileSync(join(endless, 'etc/passwd'), '\n'.repeat(900_000));
    for (const [name, layer] of Object.entries({ links, folder, endless })) {
      await runtime.ensure(idle(name, { layers: [...machine.layers, layer] }));
      const { out } = await runShell(runtime, name, 'cat /etc/passwd /etc/group; id -un');
      expect(out).not.toContain('of the machine');
      expect(out.trimEnd().split('\n').at(-1)).toBe('app');
    }
  });

  test('a program that is setuid root, and a device, are a plain program and nothing', async () => {
    const [program, device] = [join(volume, 'busybox'), join(volume, 'zero')];
    copyFileSync('/bin/busybox', program);
    chownSync(program, 0, 0);
    chmodSync(program, 0o6755);
    execFileSync('mknod', ['-m', '666', device, 'c', '1', '5']);
    await runtime.ensure(idle('runner', mounted({ at: '/data' })));
    const ids = await runShell(runtime, 'runner', '/data/busybox id -u; grep -E "^(Uid|Gid|CapEff|NoNewPrivs)" /proc/self/status');
    expect(ids.out.trim().split('\n')).toEqual([
      '1000',
      expect.stringMatching(/^Uid:(\s1000){4}$/),
      expect.stringMatching(/^Gid:(\s1000){4}$/),
      'CapEff:\t0000000000000000',
      'NoNewPrivs:\t1',
    ]);
    expect((await runShell(runtime, 'runner', 'head -c 1 /data/zero')).code).not.toBe(0);
    expect(
      (
        await runShell(
          runtime,
          'runner',
          'mkdir /tmp/own && cp /data/busybox /tmp/own && chmod 6755 /tmp/own/busybox && /tmp/own/busybox id -u',
        )
      ).out,
    ).toBe('1000\n');
  });

  test('LD_PRELOAD, PATH and the like of a tenant are heard by programs of the tenant alone', async () => {
    const said = "object '/data/evil.so' from LD_PRELOAD cannot be preloaded";
    const env = {
      LD_PRELOAD: '/data/evil.so',
      LD_LIBRARY_PATH: '/data',
      PATH: '/data:/bin',
      GODEBUG: 'inittrace=1',
      PERL5OPT: '-Mevil',
      BASH_ENV: '/data/evil',
    };
    for (const program of ['runc', 'conmon', 'sh', 'tini']) {
      writeFileSync(join(volume, program), '#!/bin/busybox sh\n/bin/busybox touch /data/ran\nexec /bin/busybox sh "$@"\n');
      chmodSync(join(volume, program), 0o755);
    }
    const argv: [string, ...string[]] = [
      '/usr/bin/node',
      '-e',
      "console.log('up'); process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 1000)",
    ];
    await runtime.ensure(idle('app', { ...mounted({ at: '/data' }), env, argv, restart: 'always' }));
    const started = async (times: number) => {
      const lines = await linesOf(runtime.logs('app', {}));
      expect(lines.filter((line) => line === 'up')).toHaveLength(times);
      // By Node once each time, and not by the init before it.
      expect(lines.filter((line) => line.includes(said))).toHaveLength(times);
      expect(lines).toHaveLength(2 * times);
    };
    await expect.poll(() => started(1).then(() => true), waiting).toBe(true);
    const executed = await run(runtime, 'app', { argv: ['/usr/bin/node', '-e', ''] });
    expect(executed.err.split('\n').filter(Boolean)).toEqual([expect.stringContaining(said)]);
    const monitor = Number(readFileSync(join('/run/offshoot', machine.instance, 'containers/app/monitor-pid'), 'utf8'));
    expect(readFileSync(`/proc/${monitor}/environ`, 'utf8')).not.toMatch(/evil|inittrace/);

    await runShell(runtime, 'app', '/bin/busybox kill -9 1; /bin/busybox kill 1');
    await expect.poll(() => started(2).then(() => true), waiting).toBe(true);
    expect(readdirSync(volume)).not.toContain('ran');
  });

  test('a folder that is swapped for a link while it is being mounted is mounted as what it was, or not at all', async () => {
    const place = join(volume, 'z/s1');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'own'), '');
    chownSync(join(volume, 'z'), tenant.uid, tenant.gid);
    const swapping = `const { renameSync, symlinkSync } = require('node:fs');
      for (;;) for (const part of ['/data/z/s1', '/data/z']) {
        try { renameSync(part, part + '.old'); symlinkSync(process.argv[1], part); } catch {}
        try { renameSync(part, '/data/link'); } catch {}
        try { renameSync(part + '.old', part); } catch {}
      }`;
    await runtime.ensure(idle('swapper', { ...mounted({ at: '/data' }), argv: ['/usr/bin/node', '-e', swapping, secrets] }));
    await expect.poll(() => readdirSync(volume), waiting).toContain('link');
    const outcomes: string[] = [];
    for (let round = 0; round < 8; round++) {
      const victim = idle('victim', mounted({ below: 'z/s1', at: '/victim' }, { below: 'z', at: '/above' }));
      const outcome = await runtime.ensure(victim).then(
        async () => (await runShell(runtime, 'victim', 'ls -R /victim /above; cat /victim/secret /above/secret')).out,
        (error: unknown) => String(error),
      );
      outcomes.push(outcome);
      await runtime.remove('victim');
    }
    expect(outcomes.filter((outcome) => outcome.includes('secret') || outcome.includes('of the machine'))).toEqual([]);
    expect(outcomes.filter((outcome) => outcome.includes(machine.folder))).toEqual([]);
    expect(statSync(secrets)).toMatchObject({ uid: 0, gid: 0 });
    expect(readdirSync(secrets)).toEqual(['secret']);
  });

  test('what stands where a mount inside a mount is to be is neither followed, waited for nor told with the way to it', async () => {
    symlinkSync(secrets, join(volume, 'link'));
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    writeFileSync(join(volume, 'file'), '');
    mkdirSync(join(volume, 'folder'));
    for (const part of ['link', 'fifo', 'file']) {
      const nested = mounted({ at: '/data' }, { below: 'folder', at: `/data/${part}/inner` });
      await expect(runtime.ensure(idle('nested', nested))).rejects.toThrow(`${part} is not a folder, or a link that leads elsewhere`);
      await expect(runtime.ensure(idle('nested', nested))).rejects.not.toThrow(machine.folder);
    }
    expect(readdirSync(secrets)).toEqual(['secret']);
    await runtime.ensure(idle('nested', mounted({ at: '/data' }, { below: 'folder', at: '/data/new/inner' })));
    expect(statSync(join(volume, 'new/inner'))).toMatchObject(tenant);
  });
});
