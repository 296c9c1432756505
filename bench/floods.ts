/**
 * How much a neighbour's visitors suffer while one environment is flooded, in several ways. The machine is as busy in both rounds of a pair: the same flood
 * goes once to another edge beside, and once to the edge that the neighbour is on; rounds alternate, and the median of each is taken.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../edge/testing/ports.ts';
import { environmentWith, startRunningEdge, type RunningEdge } from '../edge/testing/running-edge.ts';
import { median } from './harness/platform.ts';
import { note, printTable } from './harness/verdicts.ts';

const rounds = 3;
const roundSeconds = 5;
const pauseMilliseconds = 4;
const ratioMax = 2;
const ways = ['keep-alive', 'a connection for each request', 'slow connections', 'silent WebSockets', 'chatty WebSockets'];

async function start(program: string, ...args: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'harness', program), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

async function end(child: ChildProcess) {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const servedBy = (cluster: string, port: number) =>
  environmentWith(cluster, 1, [{ id: `${cluster}-0`, address: { host: '127.0.0.1', port } }]);

/** One request after another with a pause between, as a visitor's browser; how many failed, and the 99th of a hundred in milliseconds. */
async function visits({ port }: RunningEdge): Promise<{ p99: number; failed: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  let failed = 0;
  const over = performance.now() + roundSeconds * 1000;
  while (performance.now() < over) {
    const begin = performance.now();
    const status = await once(request({ port, host: '127.0.0.1', agent, headers: { host: 'modest.localhost' } }).end(), 'response').then(
      async ([reply]) => {
        reply.resume();
        await once(reply, 'end');
        return reply.statusCode as number;
      },
      () => 0,
    );
    if (status !== 200) failed += 1;
    times.push(performance.now() - begin);
    await sleep(pauseMilliseconds);
  }
  agent.destroy();
  return { p99: times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN, failed };
}

async function flooded(way: string, flooded: RunningEdge, visited: RunningEdge) {
  const flooder = await start('flooder.ts', way, String(flooded.port), 'greedy.localhost');
  try {
    return await visits(visited);
  } finally {
    await end(flooder);
    await sleep(500);
  }
}

const [greedyPort, modestPort] = [await freePort(), await freePort()];
const apps = [await start('echo-app.ts', String(greedyPort)), await start('echo-app.ts', String(modestPort))];
await using edge = await startRunningEdge();
await using other = await startRunningEdge();
for (const { edge: each } of [edge, other]) {
  await each.put(servedBy('greedy', greedyPort));
  await each.put(servedBy('modest', modestPort));
}
await visits(edge);
note({ what: 'nobody else', measured: `p99 ${(await visits(edge)).p99.toFixed(1)} ms` });
for (const way of ways) {
  const pairs = [];
  for (let round = 0; round < rounds; round += 1)
    pairs.push({ busy: await flooded(way, other, edge), beside: await flooded(way, edge, edge) });
  const [busy, beside] = [median(pairs.map((pair) => pair.busy.p99)), median(pairs.map((pair) => pair.beside.p99))];
  const failed = pairs.reduce((sum, pair) => sum + pair.beside.failed, 0);
  const ratio = beside / busy;
  note({
    what: way,
    measured: `p99 ${beside.toFixed(1)} ms beside the flood, ${busy.toFixed(1)} ms on a machine as busy: ${ratio.toFixed(2)}; ${failed} requests failed`,
    target: `at most ${ratioMax}, none failed`,
    isMet: ratio <= ratioMax && failed === 0,
  });
}
printTable();
for (const app of apps) await end(app);
