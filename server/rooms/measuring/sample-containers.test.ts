import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Records, SampleRecord } from '../../drivers/metrics/metrics.ts';
import { describeContainer, runShell } from '../../drivers/runtime/conformance.ts';
import { openRuncRuntime } from '../../drivers/runtime/runc/runc.ts';
import { canRun, makeTestMachine, type TestMachine } from '../../drivers/runtime/runc/test-machine.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { openSampler } from './sample-containers.ts';

const owner = { project: 'p', environment: 'main-bvxea6i', service: 'app', instance: 'app.0' };

describe.skipIf(!canRun)('samples of real containers (needs root)', () => {
  let machine: TestMachine;
  let runtime: Runtime;
  const samples: SampleRecord[] = [];
  const mounts: Records['mounts'][] = [];
  const append = (kind: string, records: readonly object[]) =>
    void (kind === 'samples' ? samples.push(...(records as SampleRecord[])) : mounts.push(...(records as Records['mounts'][])));
  const owners = async () => ({
    ofContainer: (name: string) => (name === 'app' ? owner : undefined),
    ofVolume: (name: string) => (name === 'stack-data' ? owner : undefined),
  });
  const open = () =>
    openSampler({
      runtime,
      volumes: { usages: async () => new Map([['stack-data', { bytes: 7, exclusiveBytes: 7, bytesMax: 100 }]]) },
      owners,
      metrics: { append },
      file: join(machine.folder, 'measuring', 'last-look.json'),
      say: () => {},
    });
  const idle = (name: string) => {
    const { probe: _, ...rest } = describeContainer(machine.layers, name, { argv: ['/bin/sh', '-c', 'exec sleep 1000'] });
    return rest;
  };
  const counted = async () => (await runtime.statistics()).find(({ name }) => name === 'app')!;
  const burn = () => runShell(runtime, 'app', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done');

  beforeAll(async () => {
    machine = makeTestMachine();
    runtime = await openRuncRuntime(machine.options);
  });
  afterAll(async () => {
    for (const { name } of await runtime.list()) await runtime.remove(name);
    await runtime.close();
    await machine.remove();
  });

  test('they add up to what the kernel has counted, also over a restart of the platform, and never more', async () => {
    await runtime.ensure(idle('app'));
    await runtime.ensure(idle('somebody-elses'));
    const look = await open();
    await look(new Date());
    expect(samples).toEqual([]);
    const before = await counted();
    await burn();
    await look(new Date());
    await burn();
    const lookAgain = await open();
    await lookAgain(new Date());
    const after = await counted();
    expect(samples.length).toBeGreaterThanOrEqual(2);
    expect(samples.every(({ service, cpuUsed, seconds }) => service === 'app' && cpuUsed > 0 && seconds > 0)).toBe(true);
    const used = samples.reduce((sum, { cpuUsed, seconds }) => sum + cpuUsed * seconds, 0);
    expect(used).toBeLessThan(after.cpuSeconds + 1e-9);
    expect(used).toBeGreaterThan((after.cpuSeconds - before.cpuSeconds) * 0.9);
    expect(mounts[0]).toMatchObject({ ...owner, mount: '/mnt', diskUsed: 7, diskLimit: 100, seconds: 0 });
  });

  test('one that is started anew goes on from nothing', async () => {
    const look = await open();
    await look(new Date());
    await runtime.remove('app');
    await runtime.ensure(idle('app'));
    samples.length = 0;
    await look(new Date());
    const { cpuSeconds } = await counted();
    const used = samples.reduce((sum, sample) => sum + sample.cpuUsed * sample.seconds, 0);
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThan(cpuSeconds + 1e-9);
  });
});
