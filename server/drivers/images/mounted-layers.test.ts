import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeContainer, shell } from '../runtime/conformance.ts';
import { openRuncRuntime } from '../runtime/runc/runc.ts';
import { canRun, makeTestImage, makeTestMachine } from '../runtime/runc/test-machine.ts';
import { mountedLayers } from './mounted-layers.ts';

describe.skipIf(!canRun)('layers that are in use (needs root)', () => {
  test('are those of containers that are there, though no container can read their paths', async () => {
    const machine = makeTestMachine();
    const runtime = await openRuncRuntime(machine.options);
    onTestFinished(async () => {
      await runtime.close();
      await machine.remove();
    });
    const hash = 'ab12'.repeat(8);
    const layers = makeTestImage(join(machine.folder, 'layers', hash));
    const { probe: _, ...container } = describeContainer(layers, 'user');
    expect(mountedLayers(machine.folder)).toEqual(new Set());
    await runtime.ensure({ ...container, argv: shell('exec sleep 1000') });
    expect(mountedLayers(machine.folder)).toEqual(new Set([hash]));
    await runtime.remove('user');
    expect(mountedLayers(machine.folder)).toEqual(new Set());
  });
});
