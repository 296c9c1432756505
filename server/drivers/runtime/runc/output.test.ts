/** What containers say, in the log that is named for it, and as they see it themselves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { logBytesMax } from '../../../../edge/logs/rotate-log.ts';
import { appendLog } from '../../logs/append-log.ts';
import { ensureLogs, logFile } from '../../logs/log-folders.ts';
import { describeContainer, runShell, shell } from '../conformance.ts';
import type { Container, Runtime } from '../runtime.ts';
import { saidIn } from './output.ts';
import { openRuncRuntime } from './runc.ts';
import { type TestMachine, canRun, makeTestMachine } from './test-machine.ts';

const waiting = { timeout: 60_000, interval: 50 };

test('what a monitor wrote down is what was said: lines that go on, empty ones, and bytes that are no text', () => {
  const at = '2026-11-15T12:00:00.000000000+00:00';
  const written = Buffer.concat([
    Buffer.from(`${at} stdout F one line\n${at} stderr F \n${at} stdout P begun, \n${at} stdout F ended\n${at} stdout P bytes `),
    Buffer.from([0xff, 0x00, 0x0a]),
    Buffer.from(`rubbish\n`),
  ]);
  expect(saidIn(written)).toEqual(Buffer.concat([Buffer.from('one line\n\nbegun, ended\nbytes '), Buffer.from([0xff, 0x00])]));
});

describe.skipIf(!canRun)('the log of a container (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime;
  let logs: string;
  let log: string;
  const says = (name: string, script: string, changes: Partial<Container> = {}): Container => {
    const { probe: _, ...rest } = describeContainer(machine.layers, name);
    return { ...rest, argv: shell(script), output: log, ...changes };
  };
  const kept = (file = log) => readFileSync(file, 'utf8');
  const seenIn = (app: string) => ({ mounts: [{ from: logs, below: app, at: '/var/log', writable: false }] });

  beforeEach(async () => {
    machine = makeTestMachine();
    logs = join(machine.folder, 'logs', 'environment');
    await ensureLogs(logs, ['app', 'other']);
    log = logFile(logs, 'app', 'app');
    runtime = await openRuncRuntime(machine.options);
  });
  afterEach(async () => {
    for (const { name } of await runtime.list()) await runtime.remove(name);
    await runtime.close();
    await machine.remove();
  });

  test('has what was said on both streams, by all of its containers, to their last words', async () => {
    const script = `trap 'echo last words of $NAME; exit 0' TERM; echo $NAME on one; echo $NAME on two >&2; while :; do sleep 0.05; done`;
    await runtime.ensure(says('first', script));
    await runtime.ensure(says('second', script));
    const beginning = ['first on one', 'first on two', 'second on one', 'second on two'];
    await expect.poll(() => kept().trimEnd().split('\n').toSorted(), waiting).toEqual(beginning);
    await runtime.remove('first');
    expect(kept().trimEnd().split('\n').at(-1)).toBe('last words of first');
    await runtime.remove('second');
    expect(kept().trimEnd().split('\n').at(-1)).toBe('last words of second');
  });

  test('is seen inside as it grows, by `tail -f` also when it is put aside, and cannot be written, removed or led elsewhere', async () => {
    await appendLog(logFile(logs, 'other', 'app'), 'not for everybody\n');
    await runtime.ensure(says('web', 'echo hello; exec sleep 1000', seenIn('app')));
    const inside = (script: string) => runShell(runtime, 'web', script);
    await expect.poll(async () => (await inside('cat /var/log/app.log')).out, waiting).toBe('hello\n');
    expect((await inside('ls /var/log')).out.split('\n')).toEqual([
      'access.log',
      'app.log',
      'cron.log',
      'deploy.log',
      'error.log',
      'post_deploy.log',
      '',
    ]);
    for (const attempt of [
      'echo forged >>/var/log/app.log',
      ': >/var/log/access.log',
      'rm /var/log/app.log',
      'ln -s /etc/passwd /var/log/x.log',
      'mkdir /var/log/x',
      'mv /var/log/app.log /var/log/y.log',
      'chmod 777 /var/log/app.log',
    ])
      expect((await inside(attempt)).code).not.toBe(0);
    expect((await inside('grep -r everybody /var/log')).out).toBe('');
    expect((await inside('ls /var/log/../log/.. | grep -c environment')).out.trim()).toBe('0');

    const tail = await runtime.exec('web', { argv: shell('exec tail -n 1 -f /var/log/app.log') });
    let followed = '';
    tail.stdout.on('data', (text: Buffer) => (followed += text.toString()));
    await expect.poll(() => followed, waiting).toBe('hello\n');
    writeFileSync(log, 'x'.repeat(logBytesMax), { flag: 'a' });
    await expect.poll(() => followed.length, waiting).toBeGreaterThan(logBytesMax);
    await appendLog(log, 'after it was put aside\n');
    await expect.poll(() => followed.slice(-30), waiting).toContain('after it was put aside\n');
    expect(statSync(log).size).toBeLessThan(100);
    await tail.signal('SIGKILL');
  });

  test('has each line once after a kill of the platform at any moment, and what was said meanwhile', { timeout: 240_000 }, async () => {
    const lines = 1500;
    const count = `i=0; while [ $i -lt ${lines} ]; do echo $i; i=$((i+1)); [ $((i % 50)) -ne 0 ] || sleep 0.1; done; exec sleep 1000`;
    await runtime.close();
    const program = `
      import { openRuncRuntime } from ${JSON.stringify(new URL('runc.ts', import.meta.url).href)};
      import { openMemoryVolumes } from ${JSON.stringify(new URL('test-machine.ts', import.meta.url).href)};
      const { folder, instance, container } = JSON.parse(process.argv[1]);
      const runtime = await openRuncRuntime({ folder: folder + '/runtime', instance, volumes: openMemoryVolumes(folder + '/volumes') });
      await runtime.ensure(container);
      console.log('ensured');
      setInterval(() => {}, 1000);`;
    const { folder, instance } = machine;
    const argument = JSON.stringify({ folder, instance, container: says('web', count) });
    for (let kills = 0; kills < 3; kills++) {
      const platform = spawn(process.execPath, ['--input-type=module', '--eval', program, argument], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(platform.stdout, 'data');
      await sleep(100 + 370 * kills);
      platform.kill('SIGKILL');
      await once(platform, 'exit');
    }
    runtime = await openRuncRuntime(machine.options);
    await expect.poll(() => kept().includes(`\n${lines - 1}\n`), waiting).toBe(true);
    expect(kept()).toBe(Array.from({ length: lines }, (_, number) => `${number}\n`).join(''));
  });

  test('of a program that does not stop talking has a part, says so, and stays short', { timeout: 240_000 }, async () => {
    const line = 'and so on '.repeat(100);
    const files = () => [log, `${log}.1`, `${log}.2`].filter((file) => existsSync(file));
    const allKept = () => Buffer.concat(files().map((file) => readFileSync(file)));
    // Seldom: it is this process that has to be quick to find that too much is said, and not to be reading all of it meanwhile.
    const seldom = { timeout: 60_000, interval: 1000 };
    await runtime.ensure(says('web', `yes '${line}'; exec sleep 1000`));
    await expect.poll(() => allKept().includes('Lines are left out here: too much was said at once.\n'), seldom).toBe(true);
    await runtime.remove('web');
    expect(allKept().includes(`${line}\n`)).toBe(true);
    for (const file of files()) expect(statSync(file).size).toBeLessThanOrEqual(logBytesMax);
  });
});
