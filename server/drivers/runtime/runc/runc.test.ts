import { describe } from 'vitest';
import { runtimeConformance } from '../conformance.ts';
import { openRuncRuntime } from './runc.ts';
import { canRun, makeTestMachine } from './test-machine.ts';

async function open() {
  const machine = makeTestMachine();
  let runtime = await openRuncRuntime(machine.options);
  const reopen = async () => {
    await runtime.close();
    runtime = await openRuncRuntime(machine.options);
    return runtime;
  };
  const close = async () => {
    await runtime.close();
    await machine.remove();
  };
  return { runtime, layers: machine.layers, reopen, close };
}

describe.skipIf(!canRun)('with runc (needs root)', () => {
  runtimeConformance('runc', open);
});
