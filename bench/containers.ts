/**
 * What a container costs: from `ensure` to the first HTTP reply of a Node program, against the same program started bare, turn by turn in one
 * run; and what a hundred idle ones take to start, list and stop, in time and in memory beside their own.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describeContainer, shell } from '../server/drivers/runtime/conformance.ts';
import type { Container } from '../server/drivers/runtime/runtime.ts';
import { openRuncRuntime } from '../server/drivers/runtime/runc/runc.ts';
import { inventoryOf, makeTestMachine } from '../server/drivers/runtime/runc/test-machine.ts';
import { median } from './harness/platform.ts';

const rounds = 15;
/** Work that the previous start left behind, such as getting ready for the next one, must not slow this one down. */
const pauseMilliseconds = 300;
const ratioMax = 2;
const idleCount = 100;
const atATime = 4;
const barePort = 8099;
const attemptsMax = 10_000;

const machine = makeTestMachine();
const runtime = await openRuncRuntime(machine.options);
const limits = { cpu: 2, memoryBytes: 128e6, pids: 50, diskBytes: 16e6 };
const server = (port: number) => ['-e', `require('node:http').createServer((_, reply) => reply.end('hello')).listen(${port})`] as const;
const idle = (name: string): Container => {
  const { probe: _, ...rest } = describeContainer(machine.layers, name, { argv: shell('exec sleep 100000'), limits });
  return rest;
};

async function firstReply(url: string) {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    try {
      return await (await fetch(url)).text();
    } catch {
      await sleep(2);
    }
  }
  throw new Error(`${url} never answered`);
}

async function measured(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function bareStart(): Promise<number> {
  let child: ChildProcess | undefined;
  const milliseconds = await measured(() => {
    child = spawn(process.execPath, server(barePort), { stdio: 'ignore' });
    return firstReply(`http://127.0.0.1:${barePort}/`);
  });
  if (!child) throw new Error('nothing was started');
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  return milliseconds;
}

async function containerStart(): Promise<number> {
  const probe = { kind: 'http', port: 8080, path: '/', secondsMax: 30 } as const;
  const container = describeContainer(machine.layers, 'web', { argv: ['/usr/bin/node', ...server(8080)], limits, probe });
  /** The probe is what asks first, and `ensure` ends with the reply to it. */
  const milliseconds = await measured(() => runtime.ensure(container));
  await runtime.remove('web');
  return milliseconds;
}

async function compareStarts() {
  // A deployment adds to a network that is there.
  await runtime.ensure(idle('neighbour'));
  const times: Record<'bare' | 'contained', number[]> = { bare: [], contained: [] };
  for (let round = 0; round <= rounds; round++) {
    await sleep(pauseMilliseconds);
    const bare = await bareStart();
    await sleep(pauseMilliseconds);
    const contained = await containerStart();
    if (round === 0) continue;
    times.bare.push(bare);
    times.contained.push(contained);
  }
  await runtime.remove('neighbour');
  const ratio = median(times.contained) / median(times.bare);
  const verdict = ratio <= ratioMax ? 'ok' : 'TOO SLOW';
  if (ratio > ratioMax) process.exitCode = 1;
  console.log(
    `node to its first reply: bare ${median(times.bare).toFixed(0)} ms, from ensure ${median(times.contained).toFixed(0)} ms: ${ratio.toFixed(2)} (at most ${ratioMax}): ${verdict}`,
  );
}

async function inTurns(names: readonly string[], work: (name: string) => Promise<unknown>) {
  const left = [...names];
  await Promise.all(
    Array.from({ length: atATime }, async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name);
    }),
  );
}

const availableBytes = () => Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;

/** The memory that only these processes hold, and their part of what they share. */
function proportionalBytes(program: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || !readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(program)) return [];
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
    } catch {
      return [];
    }
  });
}

async function fillMachine() {
  const names = Array.from({ length: idleCount }, (_, index) => `idle-${index}`);
  const before = inventoryOf(machine);
  const availableBefore = availableBytes();
  const start = await measured(() => inTurns(names, (name) => runtime.ensure(idle(name))));
  const list = await measured(() => runtime.list());
  const again = await measured(() => inTurns(names, (name) => runtime.ensure(idle(name))));
  const taken = (availableBefore - availableBytes()) / idleCount;
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1024)} KiB`;
  const [monitor, init, program] = ['conmon', '/.offshoot/init', 'sleep'].map((name) => kilobytes(median(proportionalBytes(name))));
  const stop = await measured(() => inTurns(names, (name) => runtime.remove(name)));
  console.log(
    `${idleCount} idle containers, ${atATime} at a time: start ${(start / idleCount).toFixed(0)} ms each, list ${list.toFixed(0)} ms all`,
  );
  console.log(`  ensure what runs ${(again / idleCount).toFixed(1)} ms each, stop and remove ${(stop / idleCount).toFixed(0)} ms each`);
  console.log(
    `  memory of each: monitor ${monitor}, init ${init}, the program itself ${program}; ${kilobytes(taken)} less on the machine in all`,
  );
  await sleep(2000);
  const leaks = !isDeepStrictEqual(inventoryOf(machine), before);
  console.log(`  left behind: ${leaks ? JSON.stringify(inventoryOf(machine)) : 'nothing'}`);
  if (leaks) process.exitCode = 1;
}

try {
  await compareStarts();
  await fillMachine();
} finally {
  await runtime.close();
  await machine.remove();
}
