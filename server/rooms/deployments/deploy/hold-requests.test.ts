import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import type { Machine } from '../../../machine.ts';
import { openMemoryEdge } from '../../../testing/memory-edge.ts';
import { sampleStack } from '../../../testing/stack.ts';
import { holdSeconds, whileHeld } from './hold-requests.ts';

afterEach(() => void vi.useRealTimers());

function held() {
  const edge = openMemoryEdge();
  const runtime = { state: async (name: string) => ({ name, status: 'running', restarts: 0 }) };
  const machine = { edge, runtime, volumes: { volume: async () => undefined } } as unknown as Machine;
  const told = () => [...edge.table.values()].map(({ state, holds_until }) => ({ state, holds_until }));
  const deployed = { stack: sampleStack(), generations: {}, hosts: {} };
  return { edge, told, hold: <T>(work: () => Promise<T>) => whileHeld(machine, deployed, work) };
}

test('requests wait while it lasts, told to the edge for a few seconds at a time, and go on whatever happens', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const { edge, told, hold } = held();
  expect(
    await hold(async () => {
      expect(told()).toEqual([{ state: 'holding', holds_until: Date.now() + holdSeconds * 1000 }]);
      return 'done';
    }),
  ).toBe('done');
  expect(told()).toEqual([{ state: 'open' }]);
  await expect(hold(() => Promise.reject(new Error('not today')))).rejects.toThrow('not today');
  expect(edge.told.map((line) => line.split(' ')[1])).toEqual(['holding', 'open', 'holding', 'open']);
});

test('one that lasts is told again in time', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const { edge, hold } = held();
  const { put } = edge;
  const again = Promise.withResolvers<string>();
  edge.put = async (environment) => {
    await put(environment);
    if (edge.told.length === 2) again.resolve('told again');
  };
  // Of two timers the earlier one is heard first, however late both are on a machine that stood still.
  const late = () => sleep((holdSeconds * 1000) / 2, 'too late', { ref: false });
  expect(await hold(() => Promise.race([again.promise, late()]))).toBe('told again');
  expect(edge.told.map((line) => line.split(' ')[1])).toEqual(['holding', 'holding', 'open']);
});

test('whoever was too slow to tell the edge again hears that requests came through', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const { told, hold } = held();
  const slow = hold(async () => void vi.setSystemTime(Date.now() + holdSeconds * 1000));
  await expect(slow).rejects.toThrow('Requests could not be kept waiting for as long as the copies took; try again.');
  expect(told()).toEqual([{ state: 'open' }]);
});
