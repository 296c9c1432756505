/** The edge under constant load, with real programs behind it: whatever is changed, replaced or killed, nobody is refused. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApplication, type TestApplication } from '../edge/testing/application.ts';
import { freePort } from '../edge/testing/ports.ts';
import { environmentWith, type RunningEdge, startRunningEdge } from '../edge/testing/running-edge.ts';
import { openControlClient } from '../server/drivers/edge/control-client.ts';
import { eventually } from './eventually.ts';
import { isAlive, titleOf } from './processes.ts';
import { clients, expectNoFailure, failuresOf, host, underLoad, untilHeard } from './under-load.ts';

const waitSecondsMax = 60;
const drainSecondsMax = 30;

/** An application of this process that answers once it is told to. */
async function startHeldApplication(name: string) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const server = createServer((_, response) => void promise.then(() => response.end(name))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : 0;
  return { instance: { id: name, address: { host: '127.0.0.1', port } }, release, [Symbol.dispose]: () => void server.close() };
}

describe.each([1, 2])('with %i processes that serve', (processes) => {
  let running: RunningEdge;
  let one: TestApplication;
  let other: TestApplication;
  let version = 0;
  const put = (instances: Pick<TestApplication, 'instance'>[], changes = {}) =>
    running.edge.put(
      environmentWith(
        'shop',
        ++version,
        instances.map(({ instance }) => instance),
        changes,
      ),
    );

  beforeAll(async () => {
    [running, one, other] = await Promise.all([startRunningEdge({ processes }), startApplication('one'), startApplication('other')]);
  });
  afterAll(async () => {
    await Promise.all([running[Symbol.asyncDispose](), one.kill(), other.kill()]);
  });

  test('forty changes of the table lose no request, and what was drained is asked no more', async () => {
    await put([one]);
    const results = await underLoad(running.port, async (loads) => {
      for (let swap = 0; swap < 20; swap++) {
        await put([other]);
        expect(await running.edge.drain('shop', 'one', drainSecondsMax)).toBe(0);
        if (swap === 0) await untilHeard(loads, 'other');
        await put([one]);
        expect(await running.edge.drain('shop', 'other', drainSecondsMax)).toBe(0);
      }
    });
    expectNoFailure(results);
    expect(results.map(({ said }) => Object.keys(said).toSorted())).toEqual([
      ['one', 'other'],
      ['one', 'other'],
    ]);
  });

  test('a deployment by holding, replacing, draining and killing loses no request', async () => {
    await using next = await startApplication('next');
    await using before = await startApplication('before');
    await put([before]);
    const results = await underLoad(running.port, async () => {
      await put([before], { state: 'holding' });
      expect(await running.edge.drain('shop', 'before', drainSecondsMax)).toBe(0);
      await before.kill();
      await sleep(300);
      await put([next]);
      await sleep(300);
      await put([one]);
      await running.edge.drain('shop', 'next', drainSecondsMax);
    });
    expectNoFailure(results);
    expect(results.every(({ slowestMilliseconds }) => slowestMilliseconds > 250)).toBe(true);
  });

  test('a drain waits for what is under way, and tells what was left', async () => {
    using held = await startHeldApplication('held');
    await put([held]);
    const slow = running.get(host);
    await eventually('it is under way', async () => (await running.edge.drain('shop', 'held', 0)) === 1, waitSecondsMax, running.said);
    await put([other]);
    expect(await running.edge.drain('shop', 'held', 0.1)).toBe(1);
    const draining = running.edge.drain('shop', 'held', drainSecondsMax);
    held.release();
    expect(await draining).toBe(0);
    expect((await slow).body).toBe('held');
  });

  test('an upgrade, three times, loses no request', async () => {
    await put([one]);
    const pids = new Set([(await running.edge.status()).pid]);
    const results = await underLoad(running.port, async () => {
      for (let nth = 0; nth < 3; nth++) {
        await running.reopen({ routerName: `test-${processes}-${nth}` });
        pids.add((await running.edge.status()).pid);
        await sleep(500);
      }
    });
    expectNoFailure(results);
    expect(pids.size).toBe(4);
    const [, ...retired] = [...pids].toReversed();
    await eventually('the ones before have ended', () => !retired.some(isAlive), waitSecondsMax, running.said);
    const isRenewed = async () => {
      const { pid, parent_pid } = await running.edge.status();
      return titleOf(parent_pid).includes(`launch.pl guard ${running.options.folder} ${pid} `);
    };
    await eventually('the guard is that of the new version', isRenewed, waitSecondsMax, running.said);
  });

  test('kill -9 of the main process loses no request, and the guard starts another', async () => {
    await put([one]);
    const { pid } = await running.edge.status();
    const results = await underLoad(running.port, async () => {
      process.kill(pid, 'SIGKILL');
      await put([other]);
    });
    expectNoFailure(results);
    expect((await running.edge.status()).pid).not.toBe(pid);
    expect((await running.get(host)).body).toBe('other');
  });

  test('kill -9 of a process that serves fails what it had under way, and refuses no connection', async () => {
    await put([one]);
    const before = await running.edge.status();
    const victim = before.processes[0]?.pid;
    if (victim === undefined) throw new Error('No process serves');
    const results = await underLoad(running.port, async () => {
      process.kill(victim, 'SIGKILL');
      await sleep(1000);
    });
    expect(failuresOf(results).filter((failure) => failure.includes('ECONNREFUSED'))).toEqual([]);
    expect(failuresOf(results).length).toBeLessThanOrEqual(2 * clients);
    const areAllThere = async () => (await running.edge.status()).processes.length === processes;
    await eventually('as many serve as before', areAllThere, waitSecondsMax, running.said);
    expect((await running.edge.status()).restarts).toBe(before.restarts + 1);
  });

  test('kill -9 of one of two instances fails at most what it had under way', async () => {
    await using victim = await startApplication('victim');
    await put([one, victim]);
    const results = await underLoad(running.port, async (loads) => {
      await Promise.all([untilHeard(loads, 'victim'), untilHeard(loads, 'one')]);
      await victim.kill();
      await sleep(500);
    });
    expect(failuresOf(results).length).toBeLessThanOrEqual(2 * clients);
    expect(results.every(({ said }) => (said['victim'] ?? 0) > 0 && (said['one'] ?? 0) > 0)).toBe(true);
    await put([one]);
  });
});

describe('one edge', () => {
  test('goes on without the control plane, which finds it again by its socket', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance]));
    await running.edge.close();
    const { pid } = await statusBySocket(running);
    const script = `
      const { openEdge } = await import(${JSON.stringify(join(import.meta.dirname, '../server/drivers/edge/open-edge.ts'))});
      const { openLog } = await import(${JSON.stringify(join(import.meta.dirname, '../server/kernel/log.ts'))});
      await openEdge(${JSON.stringify(running.options)}, openLog('silent'));
      console.log('adopted');`;
    const controlPlane = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(controlPlane.stdout, 'data');
    const results = await underLoad(running.port, async () => {
      controlPlane.kill('SIGKILL');
      await once(controlPlane, 'exit');
      await sleep(300);
    });
    expectNoFailure(results);
    await running.reopen();
    expect((await running.edge.status()).pid).toBe(pid);
  });

  test('comes back with its table after kill -9 of guard and main process', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance]));
    const { pid, parent_pid } = await running.edge.status();
    process.kill(parent_pid, 'SIGKILL');
    process.kill(pid, 'SIGKILL');
    const killedAt = performance.now();
    const isBack = async () =>
      (await running.get(host).catch(() => undefined))?.body === 'one' &&
      (await statusBySocket(running).catch(() => undefined))?.pid !== pid;
    await eventually('the edge serves again', isBack, waitSecondsMax, running.said);
    expect(Object.keys(await running.edge.list())).toEqual(['shop']);
    console.log(`after kill -9 of guard and main process the edge was back in ${(performance.now() - killedAt).toFixed(0)} ms`);
  });

  test('goes on when its successor fails, and takes changes again', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance]));
    const before = await running.edge.status();
    const main = join(running.options.folder, 'broken.ts');
    writeFileSync(main, 'process.exit(3);');
    const control = openControlClient(join(running.options.folder, 'control.sock'));
    const results = await underLoad(running.port, () =>
      expect(control.ask('POST', '/upgrade', { node: process.execPath, main, settings: main })).rejects.toThrow('could not do this'),
    );
    control.close();
    expectNoFailure(results);
    await running.edge.put(environmentWith('shop', 2, [one.instance]));
    expect((await running.edge.status()).pid).toBe(before.pid);
  });

  test('releases a request that was held before an upgrade, when the environment is opened after it', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance], { state: 'holding' }));
    const held = running.get(host);
    await sleep(200);
    await running.reopen({ routerName: 'another' });
    await running.edge.put(environmentWith('shop', 2, [one.instance]));
    expect((await held).body).toBe('one');
  });

  test('releases a request that was held before kill -9 of the main process, when the environment is opened after it', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance], { state: 'holding' }));
    const held = running.get(host);
    await sleep(200);
    process.kill((await running.edge.status()).pid, 'SIGKILL');
    await running.edge.put(environmentWith('shop', 2, [one.instance]));
    expect((await held).body).toBe('one');
  });

  test('ends a hold for a while by itself, also after kill -9 of the main process', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    const holds_until = Date.now() + 2000;
    await running.edge.put(environmentWith('shop', 1, [one.instance], { state: 'holding', holds_until }));
    const held = running.get(host);
    await sleep(200);
    const { pid } = await running.edge.status();
    process.kill(pid, 'SIGKILL');
    expect((await held).body).toBe('one');
    expect(Date.now()).toBeGreaterThanOrEqual(holds_until);
    await eventually('another main process is there', async () => (await running.edge.status()).pid !== pid, waitSecondsMax, running.said);
    expect((await running.get(host)).body).toBe('one');
    expect(await running.edge.list()).toEqual({ shop: 1 });
  });

  test('asks to wake an environment that sleeps, again of a control plane that comes later', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance], { state: 'sleeping' }));
    await running.edge.close();
    const waiting = [running.get(host), running.get(host)];
    await sleep(300);
    const edge = await running.reopen();
    const woken: string[] = [];
    const opening: Promise<void>[] = [];
    edge.onWake((cluster) => {
      woken.push(cluster);
      opening.push(edge.put(environmentWith('shop', 2, [one.instance])));
    });
    expect((await Promise.all(waiting)).map(({ body }) => body)).toEqual(['one', 'one']);
    await Promise.all(opening);
    expect(woken).toEqual(['shop']);
  });

  test('moves to another port when its settings say so', async () => {
    await using running = await startRunningEdge();
    await using one = await startApplication('one');
    await running.edge.put(environmentWith('shop', 1, [one.instance]));
    await running.reopen({ listeners: [{ host: '127.0.0.1', port: await freePort(), scheme: 'http' }] });
    expect((await running.get(host)).body).toBe('one');
  });
});

async function statusBySocket(running: RunningEdge): Promise<{ pid: number }> {
  const control = openControlClient(join(running.options.folder, 'control.sock'));
  const status = (await control.ask('GET', '/status')) as { pid: number };
  control.close();
  return status;
}
