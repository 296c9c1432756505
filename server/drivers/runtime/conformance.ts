/**
 * What every driver of containers must do, asked of the real thing. The image has `/bin/sh` with the usual small programs, and
 * `/usr/bin/node`.
 */
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connectToSocketAt } from '../../../edge/upstream/unix-socket.ts';
import type { Command, Container, LogLine, Runtime } from './runtime.ts';

export interface OpenedRuntime {
  runtime: Runtime;
  layers: readonly string[];
  /** Another platform comes back to what this one left; the runtime before it is closed. */
  reopen(): Promise<Runtime>;
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;

/** Serves its name on port 8080, and says so. */
const serveName = `require('node:http').createServer((_, reply) => reply.end(process.env.NAME)).listen(8080, () => console.log('ready'));
  process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(0); });`;

/** Serves its name on a socket, and refuses to start where one is left. */
const serveOnSocket = `require('node:http').createServer((_, reply) => reply.end(process.env.NAME)).listen('/tmp/app.sock')`;

/** Prints what is at an address. Who waits for nobody to answer need not wait as long as who waits for an answer. */
const getAndPrint = `fetch(process.argv[1], { signal: AbortSignal.timeout(Number(process.argv[2])) }).then(async (reply) => process.stdout.write(await reply.text()))`;
const answerMillisecondsMax = 60_000;
const silenceMilliseconds = 1000;

export const shell = (script: string): [string, ...string[]] => ['/bin/sh', '-c', script];

export function describeContainer(layers: readonly string[], name: string, changes: Partial<Container> = {}): Container {
  return {
    name,
    layers,
    argv: ['/usr/bin/node', '-e', serveName],
    env: { NAME: name },
    user: { uid: 1000, gid: 1000 },
    workingFolder: '/',
    writable: ['/tmp'],
    mounts: [],
    limits: { cpu: 1, memoryBytes: 128 * megabyte, pids: 50, diskBytes: 32 * megabyte },
    network: 'one',
    names: [`${name}.internal`],
    probe: { kind: 'http', port: 8080, path: '/', secondsMax: 60 },
    restart: 'never',
    stop: { signal: 'SIGTERM', secondsMax: 30 },
    ...changes,
  };
}

export async function run(runtime: Runtime, name: string, command: Command): Promise<{ code: number; out: string; err: string }> {
  const execution = await runtime.exec(name, command);
  execution.stdin.end();
  const [out, err, code] = await Promise.all([text(execution.stdout), text(execution.stderr), execution.exited]);
  return { code, out, err };
}

/** What is answered there to somebody in the container. */
export const getInside = (runtime: Runtime, name: string, url: string, millisecondsMax = answerMillisecondsMax) =>
  run(runtime, name, { argv: ['/usr/bin/node', '-e', getAndPrint, url, String(millisecondsMax)] });

export const isSilentInside = async (runtime: Runtime, name: string, url: string) =>
  (await getInside(runtime, name, url, silenceMilliseconds)).code !== 0;

export const runShell = (runtime: Runtime, name: string, script: string) => run(runtime, name, { argv: shell(script) });

export async function linesOf(lines: AsyncIterable<LogLine>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line.text);
  return found;
}

/** Uses a core for half a second, keeps 40 MB of memory, and hears and says a million bytes to whoever posts that much. */
const useKnownAmounts = `const from = process.cpuUsage();
  while (process.cpuUsage(from).user + process.cpuUsage(from).system < 500_000);
  globalThis.kept = Buffer.alloc(40 * 1024 * 1024, 1);
  require('node:http').createServer((asked, reply) => { asked.resume(); asked.on('end', () => reply.end(Buffer.alloc(1_000_000))); }).listen(8080)`;

const reply = async (address: string | undefined) =>
  (await fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(answerMillisecondsMax) })).text();
const replyAt = (path = '') =>
  new Promise<string>((resolve, reject) => {
    get({ createConnection: () => connectToSocketAt(path) }, (message) => resolve(text(message))).once('error', reject);
  });
const waiting = { timeout: 60_000, interval: 50 };

export function runtimeConformance(driver: string, open: () => Promise<OpenedRuntime>) {
  describe(`containers by ${driver}`, () => {
    let opened: OpenedRuntime;
    let runtime: Runtime;
    const container = (name: string, changes: Partial<Container> = {}) => describeContainer(opened.layers, name, changes);
    const idle = (name: string, changes: Partial<Container> = {}) => {
      const { probe: _, ...rest } = container(name);
      return { ...rest, argv: shell('exec sleep 1000'), ...changes };
    };

    beforeAll(async () => {
      opened = await open();
      runtime = opened.runtime;
    });
    afterEach(async () => {
      for (const { name } of await runtime.list()) await runtime.remove(name);
    });
    afterAll(() => opened.close());

    test('one that is ensured runs and answers; ensured again it is left alone; removed it is gone', async () => {
      expect(await runtime.state('web')).toEqual({ name: 'web', status: 'absent', restarts: 0 });
      const first = await runtime.ensure(container('web'));
      expect(first).toMatchObject({ status: 'running', network: 'one', restarts: 0 });
      expect(await reply(first.address)).toBe('web');
      expect(await runtime.ensure(container('web'))).toEqual(first);
      expect(await runtime.list()).toEqual([first]);
      await runtime.remove('web');
      await runtime.remove('web');
      expect(await runtime.list()).toEqual([]);
    });

    test('many ensures and removes of one name at a time end as the last one says', async () => {
      const asked = ['a', 'b', 'a', 'b'].map((value) => runtime.ensure(idle('web', { env: { VALUE: value } })));
      const removed = runtime.remove('web');
      const again = runtime.ensure(idle('web', { env: { VALUE: 'last' } }));
      await Promise.allSettled([...asked, removed]);
      expect(await again).toMatchObject({ status: 'running' });
      expect((await runShell(runtime, 'web', 'echo $VALUE')).out).toBe('last\n');
    });

    test('one that is described otherwise is replaced, and asked to stop before', async () => {
      await runtime.ensure(container('web'));
      const second = await runtime.ensure(container('web', { env: { NAME: 'other' } }));
      expect(await reply(second.address)).toBe('other');
      await expect.poll(() => linesOf(runtime.logs('web', {})), waiting).toEqual(['ready', 'asked to stop', 'ready']);
    });

    test('one that does not stop when asked is ended', async () => {
      const deaf = idle('web', { argv: shell(`trap '' TERM; while :; do sleep 1; done`), stop: { signal: 'SIGTERM', secondsMax: 0.3 } });
      await runtime.ensure(deaf);
      await runtime.remove('web');
      expect(await runtime.state('web')).toMatchObject({ status: 'absent' });
    });

    test('only the named folders can be written to; they are kept over a restart and gone with the container', async () => {
      await runtime.ensure(idle('web', { writable: ['/tmp', '/var/lib/own'], restart: 'always' }));
      const { out } = await runShell(
        runtime,
        'web',
        'echo 1 >/var/lib/own/file && echo 2 >/tmp/file; echo 3 >/file; echo 4 >/bin/file; id -u; id -g',
      );
      expect(out).toBe('1000\n1000\n');
      expect((await runShell(runtime, 'web', 'cat /var/lib/own/file /tmp/file /file /bin/file')).out).toBe('1\n2\n');
      await runShell(runtime, 'web', 'kill 1');
      await expect.poll(async () => (await runtime.state('web')).restarts, waiting).toBe(1);
      await expect.poll(async () => (await runtime.state('web')).status, waiting).toBe('running');
      expect((await runShell(runtime, 'web', 'cat /var/lib/own/file')).out).toBe('1\n');
      await runtime.remove('web');
      await runtime.ensure(idle('web', { writable: ['/tmp', '/var/lib/own'] }));
      expect((await runShell(runtime, 'web', 'ls /var/lib/own')).out).toBe('');
    });

    test('files of a mounted folder belong inside to those they belong to outside, in every network', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'offshoot-mount-'));
      try {
        writeFileSync(join(folder, 'mine'), 'mine\n', { mode: 0o600 });
        chownSync(folder, 1000, 1000);
        chownSync(join(folder, 'mine'), 1000, 1000);
        for (const network of ['one', 'two']) {
          const mounts = [
            { from: folder, at: '/data', writable: true },
            { from: folder, at: '/data/again', writable: false },
          ];
          await runtime.ensure(idle(network, { network, mounts }));
          const { out } = await runShell(
            runtime,
            network,
            `cat /data/mine; echo ${network} >/data/${network}; stat -c %u:%g /data/${network}; echo no >/data/again/no; ls /data/again`,
          );
          expect(out).toMatch(new RegExp(`^mine\n1000:1000\nagain\nmine\n(one\n)?${network}\n$`));
        }
        expect(readFileSync(join(folder, 'two'), 'utf8')).toBe('two\n');
      } finally {
        for (const name of ['one', 'two']) await runtime.remove(name);
        rmSync(folder, { recursive: true });
      }
    });

    test('a folder inside a mounted one is made where it is missing; links that stand in the way are refused', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'offshoot-mount-'));
      try {
        chownSync(folder, 1000, 1000);
        const below = (path: string) => idle('web', { mounts: [{ from: folder, below: path, at: '/data', writable: true }] });
        await runtime.ensure(below('files/public'));
        const { out } = await runShell(runtime, 'web', 'echo here >/data/file; stat -c %u:%g /data /data/file');
        expect(out).toBe('1000:1000\n1000:1000\n');
        expect(readFileSync(join(folder, 'files/public/file'), 'utf8')).toBe('here\n');
        symlinkSync('/etc', join(folder, 'planted'));
        mkdirSync(join(folder, 'deeper'));
        symlinkSync('..', join(folder, 'deeper', 'up'));
        for (const path of ['planted', 'planted/ssl', 'deeper/up', 'files/public/file'])
          await expect(runtime.ensure(below(path))).rejects.toThrow(/is not a folder, or a link that leads elsewhere/);
        await expect(runtime.ensure(below('../other'))).rejects.toThrow(/not inside/);
      } finally {
        await runtime.remove('web');
        rmSync(folder, { recursive: true });
      }
    });

    test('neighbours find each other by name, also those that come later; other networks cannot', async () => {
      const web = await runtime.ensure(container('web'));
      const get = (name: string, host: string) => getInside(runtime, name, `http://${host}:8080/`);
      const isSilent = (name: string, host: string) => isSilentInside(runtime, name, `http://${host}:8080/`);
      await runtime.ensure(idle('stranger', { network: 'two' }));
      await runtime.ensure(container('late', { names: ['late.internal', 'shared.internal'] }));
      expect(await get('web', 'late.internal')).toMatchObject({ code: 0, out: 'late' });
      expect(await get('late', 'web.internal')).toMatchObject({ code: 0, out: 'web' });
      expect(await get('late', 'shared.internal')).toMatchObject({ code: 0, out: 'late' });
      expect(await isSilent('stranger', 'web.internal')).toBe(true);
      expect(await isSilent('stranger', web.address ?? '')).toBe(true);
      await runtime.remove('late');
      expect(await isSilent('web', 'late.internal')).toBe(true);
    });

    test('names of its own are known to itself only, beside those of its neighbours', async () => {
      const hosts = { 'legacy.example': '192.0.2.1', 'six.example': '2001:db8::1' };
      await runtime.ensure(idle('web', { hosts }));
      await runtime.ensure(idle('other'));
      const known = async (name: string) => (await runShell(runtime, name, 'cat /etc/hosts')).out;
      expect(await known('web')).toMatch(
        /^127\.0\.0\.1 localhost\n[^]* other\.internal\n[^]*\n192\.0\.2\.1 legacy\.example\n2001:db8::1 six\.example\n$/,
      );
      expect(await known('other')).toMatch(/ web\.internal\n/);
      expect(await known('other')).not.toContain('example');
      await runtime.remove('other');
      expect(await known('web')).not.toContain('other.internal');
      expect((await runShell(runtime, 'web', 'echo x >/etc/hosts')).code).not.toBe(0);
      await expect(runtime.ensure(idle('web', { hosts: { 'bad.example': '1.2.3' } }))).rejects.toThrow('1.2.3');
    });

    test('files that it is given are there when it starts, and change in place; it cannot change them', async () => {
      const files = { '/tmp/told.json': '{"size":1}', '/tmp/more.ini': '' };
      const argv = shell('echo $(cat /tmp/told.json); exec sleep 1000');
      const before = await runtime.ensure(idle('web', { files, argv }));
      await expect.poll(() => linesOf(runtime.logs('web', {})), waiting).toEqual(['{"size":1}']);
      const seen = async () => (await runShell(runtime, 'web', 'cat /tmp/told.json /tmp/more.ini')).out;
      await runtime.updateFiles('web', { ...files, '/tmp/more.ini': 'x=1' });
      expect(await seen()).toBe('{"size":1}x=1');
      expect(await runtime.ensure(idle('web', { files: { ...files, '/tmp/told.json': '2' }, argv }))).toEqual(before);
      expect(await seen()).toBe('2');
      expect((await runShell(runtime, 'web', 'echo x >/tmp/told.json')).code).not.toBe(0);
      expect(await seen()).toBe('2');
      for (const path of ['/etc/passwd', '/tmp/below/x', '/tmp/..'])
        await expect(runtime.ensure(idle('bad', { files: { [path]: '' } }))).rejects.toThrow(/directly in a folder/);
    });

    test('peers are told of each other, as they come and go, and strangers are not', async () => {
      const peer = (name: string, group = 'shop') => ({ group, name, at: '/tmp/peers.json' });
      const peersOf = async (name: string) => JSON.parse((await runShell(runtime, name, 'cat /tmp/peers.json')).out) as object;
      const one = await runtime.ensure(idle('one', { peer: peer('shop.0') }));
      expect(await peersOf('one')).toEqual({ 'shop.0': one.address });
      const two = await runtime.ensure(idle('two', { peer: peer('shop.1'), hosts: { 'legacy.example': '192.0.2.1' } }));
      await runtime.ensure(idle('other', { peer: peer('blog.0', 'blog') }));
      await runtime.ensure(idle('elsewhere', { peer: peer('shop.5'), network: 'two' }));
      for (const name of ['one', 'two']) expect(await peersOf(name)).toEqual({ 'shop.0': one.address, 'shop.1': two.address });
      expect((await runShell(runtime, 'two', 'cat /proc/sys/kernel/hostname; grep -c "shop.[01]" /etc/hosts')).out).toBe('shop.1\n2\n');
      await runtime.remove('two');
      expect(await peersOf('one')).toEqual({ 'shop.0': one.address });
    });

    test('a command has input, output, errors, an exit code, its own environment, user and folder', async () => {
      await runtime.ensure(idle('web'));
      const execution = await runtime.exec('web', {
        argv: shell('cat; echo problem >&2; echo $VALUE $(id -u) $(pwd); exit 7'),
        env: { VALUE: 'given' },
        user: { uid: 33, gid: 33 },
        workingFolder: '/tmp',
      });
      execution.stdin.end('hello\n');
      const [out, err, code] = await Promise.all([text(execution.stdout), text(execution.stderr), execution.exited]);
      expect({ out, err, code }).toEqual({ out: 'hello\ngiven 33 /tmp\n', err: 'problem\n', code: 7 });
      expect((await run(runtime, 'web', { argv: ['/no/such/program'] })).code).toBe(127);
    });

    test('a command can be sent signals, and ends when its caller goes away', async () => {
      await runtime.ensure(idle('web'));
      const first = await runtime.exec('web', { argv: shell('exec sleep 1001') });
      await first.signal('SIGTERM');
      expect(await first.exited).toBe(128 + 15);
      const second = await runtime.exec('web', { argv: shell('echo started; sleep 1002; true') });
      await once(second.stdout, 'data');
      second.stdout.destroy();
      expect(await second.exited).toBe(128 + 9);
      expect((await runShell(runtime, 'web', 'ps -o args')).out).not.toMatch(/sleep 100[12]/);
    });

    test('a signal reaches what a command started; a hang-up ends it all, also what does not listen', async () => {
      await runtime.ensure(idle('web'));
      const start = async (script: string) => {
        const execution = await runtime.exec('web', { argv: shell(script) });
        await once(execution.stdout, 'data');
        return execution;
      };
      const first = await start('sleep 1003 & echo started; wait');
      await first.signal('SIGTERM');
      expect(await first.exited).toBe(128 + 15);
      const second = await start('echo started; sleep 1004; true');
      await second.hangUp();
      expect(await second.exited).toBe(128 + 1);
      const third = await start(`trap '' HUP; echo started; sleep 1005; sleep 1006`);
      const fourth = await start('setsid sleep 1009 & echo started; sleep 1006');
      // What it left in a session of its own holds on to its output; nobody waits for that.
      await Promise.all([third.hangUp(), fourth.signal('SIGKILL')]);
      expect([await third.exited, await fourth.exited]).toEqual([128 + 9, 128 + 9]);
      expect((await runShell(runtime, 'web', 'ps -o args')).out).not.toMatch(/sleep 100[3-6]/);
    });

    test('who reads slowly gets all that was written before the end', async () => {
      await runtime.ensure(idle('web'));
      const execution = await runtime.exec('web', { argv: shell('head -c 200000 /dev/zero') });
      execution.stdin.end();
      let bytes = 0;
      for await (const chunk of execution.stdout) {
        bytes += (chunk as Buffer).length;
        await sleep(600);
      }
      expect([bytes, await execution.exited]).toEqual([200_000, 0]);
    });

    test('what is typed into a terminal arrives as the bytes it was, and waits where nobody reads', async () => {
      await runtime.ensure(idle('web'));
      const script = 'stty raw -echo; echo ready; head -c 7 | od -An -tx1; sleep 1008';
      const execution = await runtime.exec('web', { argv: shell(script), terminal: { columns: 80, rows: 24 } });
      let said = '';
      execution.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      await expect.poll(() => said).toContain('ready');
      execution.stdin.write(Buffer.from([0xe2, 0x82]));
      await sleep(50);
      execution.stdin.write(Buffer.from([0xac, 0xff, 0x00, 0x03, 0x0a]));
      await expect.poll(() => said).toContain('e2 82 ac ff 00 03 0a');
      expect(execution.stdin.write(Buffer.alloc(2 ** 20))).toBe(false);
      await sleep(200);
      expect(execution.stdin.writableLength).toBeGreaterThan(0);
      await execution.hangUp();
      expect(await execution.exited).toBe(128 + 1);
    });

    test('a command with a terminal sees its size, and that it changes', async () => {
      await runtime.ensure(idle('web'));
      const execution = await runtime.exec('web', {
        argv: shell(`trap 'stty size; exit 3' WINCH; stty size; while :; do sleep 0.1; done`),
        terminal: { columns: 90, rows: 30 },
      });
      let said = '';
      execution.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      await expect.poll(() => said, waiting).toContain('30 90');
      execution.resize(100, 40);
      expect(await execution.exited).toBe(3);
      await expect.poll(() => said, waiting).toContain('40 100');
    });

    test('logs keep both streams in order with their times, by tail, by time, and as they come', async () => {
      const script = `
        wait_for() { while [ ! -e /tmp/$1 ]; do sleep 0.05; done; }
        echo one; wait_for one; echo two >&2; wait_for two; echo three; wait_for three; echo four; exec sleep 1000`;
      await runtime.ensure(idle('web', { argv: shell(script) }));
      const goOnAfter = (line: string) => runShell(runtime, 'web', `touch /tmp/${line}`);
      const known = () => linesOf(runtime.logs('web', {}));
      await expect.poll(known, waiting).toEqual(['one']);
      await goOnAfter('one');
      await expect.poll(known, waiting).toEqual(['one', 'two']);
      await goOnAfter('two');
      await expect.poll(known, waiting).toEqual(['one', 'two', 'three']);
      expect(await linesOf(runtime.logs('web', { tail: 2 }))).toEqual(['two', 'three']);
      const all: LogLine[] = [];
      for await (const line of runtime.logs('web', {})) all.push(line);
      expect(all.map(({ stream }) => stream)).toEqual(['stdout', 'stderr', 'stdout']);
      expect(await linesOf(runtime.logs('web', { since: all[1]!.at }))).toEqual(['two', 'three']);
      const stop = new AbortController();
      const followed: string[] = [];
      const following = (async () => {
        for await (const line of runtime.logs('web', { tail: 1, follow: stop.signal })) followed.push(line.text);
      })();
      await expect.poll(() => followed, waiting).toEqual(['three']);
      await goOnAfter('three');
      await expect.poll(() => followed, waiting).toEqual(['three', 'four']);
      stop.abort();
      await following;
    });

    test('it counts what a container uses', async () => {
      const { address } = await runtime.ensure(container('web'));
      const before = await runtime.stats('web');
      await reply(address);
      await runShell(runtime, 'web', 'dd if=/dev/zero of=/tmp/file bs=1M count=8; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done');
      const after = await runtime.stats('web');
      expect(after.cpuSeconds).toBeGreaterThan(before.cpuSeconds + 0.01);
      expect(after.memoryBytes).toBeGreaterThan(megabyte);
      expect(after.pids).toBeGreaterThanOrEqual(2);
      expect(after.diskUsedBytes).toBeGreaterThanOrEqual(before.diskUsedBytes + 8 * megabyte);
      expect(after.networkSentBytes).toBeGreaterThan(before.networkSentBytes);
      expect(after.networkReceivedBytes).toBeGreaterThan(before.networkReceivedBytes);
    });

    test('what all containers use is counted in one go: a known time of a core, memory, traffic', async () => {
      const [, { address }] = await Promise.all([
        runtime.ensure(idle('idle')),
        runtime.ensure(
          container('busy', { argv: ['/usr/bin/node', '-e', useKnownAmounts], probe: { kind: 'port', port: 8080, secondsMax: 60 } }),
        ),
      ]);
      const found = async (name: string) => (await runtime.statistics()).find((one) => one.name === name)!;
      const before = await found('busy');
      expect(before.cpuSeconds).toBeGreaterThanOrEqual(0.5);
      expect(before.cpuSeconds).toBeLessThan(0.5 + (Date.now() - before.startedAt.getTime()) / 1000);
      expect(before).toMatchObject({ cpuLimit: 1, memoryLimitBytes: 128 * megabyte, swapLimitBytes: 0, outOfMemoryKills: 0 });
      expect(before.memoryBytes).toBeGreaterThan(40 * megabyte);
      expect(before.memoryBytes).toBeLessThanOrEqual(128 * megabyte);
      const answer = await fetch(`http://${address}:8080/`, { method: 'POST', body: Buffer.alloc(1_000_000) });
      expect((await answer.arrayBuffer()).byteLength).toBe(1_000_000);
      const after = await found('busy');
      for (const bytes of [after.networkReceivedBytes - before.networkReceivedBytes, after.networkSentBytes - before.networkSentBytes]) {
        expect(bytes).toBeGreaterThan(1_000_000);
        expect(bytes).toBeLessThan(1_300_000);
      }
      expect(after.pressure?.cpuSeconds ?? 0).toBeGreaterThanOrEqual(before.pressure?.cpuSeconds ?? 0);
      const idling = await found('idle');
      expect(idling.cpuSeconds).toBeLessThan(0.5);
      expect(idling.memoryBytes).toBeLessThan(40 * megabyte);
      await runtime.remove('busy');
      expect((await runtime.statistics()).map(({ name }) => name)).toEqual(['idle']);
    });

    test('one that is paused stands still, and goes on when resumed', async () => {
      const { address } = await runtime.ensure(container('web'));
      await runtime.pause('web');
      await runtime.pause('web');
      expect(await runtime.state('web')).toMatchObject({ status: 'paused' });
      await expect(fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(300) })).rejects.toThrow('timeout');
      await runtime.resume('web');
      await runtime.resume('web');
      expect(await runtime.state('web')).toMatchObject({ status: 'running' });
      expect(await reply(address)).toBe('web');
      await runtime.pause('web');
      await runtime.remove('web');
      expect(await runtime.list()).toEqual([]);
    });

    test('limits change without a restart', async () => {
      const tight = { cpu: 0.5, memoryBytes: 64 * megabyte, pids: 10, diskBytes: 16 * megabyte };
      const wide = { cpu: 1, memoryBytes: 128 * megabyte, pids: 40, diskBytes: 64 * megabyte };
      const { startedAt } = await runtime.ensure(idle('web', { limits: tight }));
      const processes = () => runShell(runtime, 'web', `trap 'kill 0' EXIT; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done`);
      const write = () => runShell(runtime, 'web', 'dd if=/dev/zero of=/tmp/file bs=1M count=32');
      expect((await processes()).err).toMatch(/can't fork/);
      expect((await write()).code).not.toBe(0);
      await runtime.update('web', wide);
      expect((await processes()).err).not.toMatch(/can't fork/);
      expect(await write()).toMatchObject({ code: 0 });
      expect(await runtime.ensure(idle('web', { limits: wide }))).toMatchObject({ startedAt, restarts: 0 });
      // What it has written already stays, and it can write no more.
      await runtime.update('web', tight);
      expect(await runShell(runtime, 'web', 'dd if=/dev/zero of=/tmp/more bs=1M count=4')).not.toMatchObject({ code: 0 });
      expect(await runShell(runtime, 'web', 'wc -c </tmp/file')).toMatchObject({ code: 0, out: `${32 * megabyte}\n` });
    });

    test('one that ends is started again as its policy says, after longer and longer pauses', async () => {
      const argv = shell('sleep 0.2; exit $CODE');
      await runtime.ensure(idle('never', { argv, env: { CODE: '1' } }));
      await runtime.ensure(idle('done', { argv, env: { CODE: '0' }, restart: 'on-failure' }));
      await runtime.ensure(idle('failing', { argv, env: { CODE: '3' }, restart: 'on-failure' }));
      await runtime.ensure(idle('always', { argv, env: { CODE: '0' }, restart: 'always' }));
      // Twice or more: by the time that one of them was, the other may have been once again.
      const startedAgain = async () =>
        Promise.all(['never', 'done', 'failing', 'always'].map(async (name) => Math.min((await runtime.state(name)).restarts, 2)));
      await expect.poll(startedAgain, waiting).toEqual([0, 0, 2, 2]);
      const exit = { code: 1, outOfMemory: false };
      await expect.poll(() => runtime.state('never'), waiting).toMatchObject({ status: 'stopped', exit });
      await expect.poll(() => runtime.state('done'), waiting).toMatchObject({ status: 'stopped', exit: { code: 0 } });
      expect(await runtime.state('failing')).toMatchObject({ exit: { code: 3 } });
      await runtime.remove('always');
      expect(await runtime.state('always')).toMatchObject({ status: 'absent' });
    });

    test('what cannot start says why, and can be looked at', async () => {
      const probe = { kind: 'port', port: 8080, secondsMax: 60 } as const;
      const failure = (changes: Partial<Container>) =>
        runtime.ensure(container('web', { probe, ...changes })).catch((error: Error) => error);
      expect(await failure({ layers: ['/no/such/layer'] })).toMatchObject({
        message: expect.stringMatching(/image of web is not there.*\/no\/such\/layer/),
      });
      expect(await failure({ limits: { cpu: 1, memoryBytes: 1000, pids: 50, diskBytes: megabyte } })).toMatchObject({
        message: expect.stringMatching(/memoryBytes of 1000 is too low/),
      });
      expect(await failure({ argv: shell('echo my words; exit 4') })).toMatchObject({
        message: expect.stringMatching(/ended with code 4[^]*my words/),
      });
      expect(await runtime.state('web')).toMatchObject({ status: 'stopped', exit: { code: 4 } });
      expect(await linesOf(runtime.logs('web', { tail: 1 }))).toEqual(['my words']);
      expect(await failure({ argv: ['/no/such/program'] })).toMatchObject({ message: expect.stringMatching(/\/no\/such\/program/) });
      expect(await failure({ workingFolder: '/no/such/folder' })).toMatchObject({ message: expect.stringMatching(/\/no\/such\/folder/) });
      expect(await failure({ argv: shell('exec sleep 1000'), probe: { ...probe, secondsMax: 1 } })).toMatchObject({
        message: expect.stringMatching(/did not open port 8080 within 1 seconds/),
      });
      const hog = ['/usr/bin/node', '-e', 'const all = []; for (;;) all.push(Buffer.alloc(1e6, 1));'] as const;
      expect(await failure({ argv: hog })).toMatchObject({
        message: expect.stringMatching(/ran out of memory/),
      });
      expect(await runtime.state('web')).toMatchObject({ status: 'stopped', exit: { outOfMemory: true } });
      expect(await runtime.ensure(container('web'))).toMatchObject({ status: 'running' });
    });

    test('a command can be the probe; a remove does not wait for it', async () => {
      const probe = { kind: 'command', argv: shell('test -e /tmp/ready'), secondsMax: 60 } as const;
      await runtime.ensure(idle('web', { argv: shell('sleep 0.3; touch /tmp/ready; exec sleep 1000'), probe }));
      expect((await runtime.state('web')).status).toBe('running');
      const never = runtime.ensure(idle('never', { probe })).catch((error: Error) => error);
      await expect.poll(async () => (await runtime.state('never')).status, waiting).toBe('starting');
      await runtime.remove('never');
      expect(await never).toMatchObject({ message: 'never was removed before it was ready.' });
    });

    const listening = (name: string, changes: Partial<Container> = {}) =>
      idle(name, {
        argv: ['/usr/bin/node', '-e', serveOnSocket],
        socket: '/tmp/app.sock',
        probe: { kind: 'socket', secondsMax: 60 },
        restart: 'always',
        ...changes,
      });

    test('a socket that it listens on is found by the machine, also when it ended without removing it; gone with it', async () => {
      const { socket } = await runtime.ensure(listening('web'));
      await runtime.ensure(listening('other', { network: 'two' }));
      expect([await replyAt(socket), await replyAt((await runtime.state('other')).socket)]).toEqual(['web', 'other']);
      await runShell(runtime, 'web', 'kill -9 $(pidof node)');
      await expect.poll(async () => replyAt((await runtime.state('web')).socket).catch(() => 'nothing'), waiting).toBe('web');
      // It answers a moment before its monitor has written down that it runs.
      await expect.poll(() => runtime.state('web'), waiting).toMatchObject({ status: 'running', restarts: 1 });
      runtime = await opened.reopen();
      expect(await replyAt((await runtime.state('web')).socket)).toBe('web');
      await runtime.remove('web');
      expect(existsSync(socket ?? '/')).toBe(false);
    });

    test('whatever a container puts where its socket should be leads nowhere, and is no reason to wait or to take it for ready', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'offshoot-sockets-'));
      let visitors = 0;
      const secret = createServer((socket) => {
        visitors++;
        socket.destroy();
      }).listen(join(folder, 'control.sock'));
      await once(secret, 'listening');
      try {
        const probe = { kind: 'socket', secondsMax: 0.5 } as const;
        const planted = [`ln -s ${folder}/control.sock`, `ln -s ${folder}`, 'mkfifo', 'mkdir', 'touch'];
        for (const [index, plant] of planted.entries()) {
          const argv = shell(`${plant} /tmp/app.sock; exec sleep 1000`);
          const words = `hostile-${index} did not listen on its socket within 0.5 seconds`;
          await expect(runtime.ensure(listening(`hostile-${index}`, { argv, probe, restart: 'never' }))).rejects.toThrow(words);
        }
        const { socket } = await runtime.ensure(listening('web'));
        await runShell(runtime, 'web', `mv /tmp/app.sock /tmp/own.sock; ln -s ${folder}/control.sock /tmp/app.sock`);
        await expect(replyAt(socket)).rejects.toThrow('behind a link');
        expect(visitors).toBe(0);
        for (const place of ['/app.sock', '/tmp/below/app.sock', '/tmp/..', `/tmp/${'s'.repeat(103)}`])
          await expect(runtime.ensure(listening('web', { socket: place }))).rejects.toThrow(/directly in a folder/);
      } finally {
        secret.close();
        rmSync(folder, { recursive: true });
      }
    });

    test('a platform that comes back finds its containers by name, with their logs', async () => {
      const before = await runtime.ensure(container('web'));
      runtime = await opened.reopen();
      expect(await runtime.list()).toEqual([before]);
      expect(await runtime.ensure(container('web'))).toEqual(before);
      await expect.poll(() => linesOf(runtime.logs('web', {})), waiting).toEqual(['ready']);
    });

    test('what is not to be kept is removed, and what is stays as it is', async () => {
      const kept = await runtime.ensure(idle('kept'));
      await runtime.ensure(idle('other', { network: 'two' }));
      expect(await runtime.removeLeftovers(new Set(['kept']))).toEqual(expect.arrayContaining(['container other']));
      expect(await runtime.list()).toEqual([kept]);
      expect(await runtime.removeLeftovers(new Set(['kept']))).toEqual([]);
    });
  });
}
