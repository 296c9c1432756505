/**
 * What measuring costs those who are not asking about it: the processor time of a request through the edge while apps report fifty thousand spans a second, and how long the
 * API takes to answer somebody else while the store reads millions of records exactly. Both are compared with the same without it, turn by turn in one run.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BreakdownQuestion } from '../server/drivers/metrics/breakdown.ts';
import { storeDefaults } from '../server/drivers/metrics/duckdb/store.ts';
import { isTooMuch } from '../server/drivers/metrics/metrics.ts';
import { freePort } from '../edge/testing/ports.ts';
import { day, makeDay, names, scope } from './harness/day-of-transactions.ts';
import { median, openMeasuredPlatform } from './harness/platform.ts';
import { ensurePrograms } from './harness/programs.ts';
import { openBench, processorSeconds, type Proxy } from './harness/proxies.ts';
import { note, printTable } from './harness/verdicts.ts';

const spansPerSecond = 50_000;
const spansPerSecondMin = 0.95 * spansPerSecond;
const edgeSlowerMax = 1.05;
const apiSlowerMax = 2;
const edgeRounds = 8;
const edgeSeconds = 4;
const apiRounds = 4;
const apiSeconds = 6;
const apiVisitors = 4;
const pauseMilliseconds = 5;
const millions = 5;

const programs = ensurePrograms({ nginx: 'nginx-light', wrk: 'wrk' });

async function requestsWithin(port: number, seconds: number): Promise<number> {
  const child = spawn(programs.wrk, ['-t1', '-c32', `-d${seconds}`, '-H', 'Host: app-0.test', `http://127.0.0.1:${port}/`]);
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  await once(child, 'close');
  if (/Socket errors|Non-2xx/.test(text)) throw new Error(text);
  return Number(/(\d+) requests in/.exec(text)?.[1]);
}

async function microsecondsOfRequest({ port, child }: Proxy): Promise<number> {
  const before = processorSeconds(child);
  const requests = await requestsWithin(port, edgeSeconds);
  return ((processorSeconds(child) - before) * 1e6) / requests;
}

/** Sends spans through the endpoint to a store while the work is done; answers how many were taken in a second. */
async function besideSpans(folder: string, work: () => Promise<void>): Promise<number> {
  const flood = fork(join(import.meta.dirname, 'harness', 'span-flood.ts'), [folder, String(spansPerSecond)]);
  await once(flood, 'message');
  await work();
  flood.send('enough');
  const [rate] = (await once(flood, 'message')) as [number];
  await once(flood, 'exit');
  return rate;
}

async function measureEdge() {
  await using bench = await openBench(programs.nginx);
  const [appPort, edgePort] = [await freePort(), await freePort()];
  await bench.startApp('app', appPort);
  const edgeProgram = join(import.meta.dirname, 'harness', 'edge-process.ts');
  const child = await bench.start(edgePort, process.execPath, [
    edgeProgram,
    String(edgePort),
    join(bench.scratch, 'logs'),
    String(appPort),
  ]);
  const edge = { name: 'edge', port: edgePort, child };
  await requestsWithin(edgePort, edgeSeconds);
  const [alone, beside, rates] = [[] as number[], [] as number[], [] as number[]];
  const measureAlone = async () => void alone.push(await microsecondsOfRequest(edge));
  const measureBeside = async () =>
    void rates.push(await besideSpans(join(bench.scratch, 'metrics'), async () => void beside.push(await microsecondsOfRequest(edge))));
  for (let round = 0; round < edgeRounds; round += 1)
    for (const measure of round % 2 === 0 ? [measureAlone, measureBeside] : [measureBeside, measureAlone]) await measure();
  const rate = median(rates);
  note({
    what: 'spans taken, while the edge is under load',
    measured: `${Math.round(rate)} a second`,
    target: `about ${spansPerSecond}`,
    isMet: rate >= spansPerSecondMin,
  });
  const ratio = Math.min(...beside) / Math.min(...alone);
  note({
    what: 'a request through the edge meanwhile, of processor',
    measured: `${ratio.toFixed(3)} of what it takes without (${Math.min(...beside).toFixed(1)} and ${Math.min(...alone).toFixed(1)} us)`,
    target: `at most ${edgeSlowerMax}`,
    isMet: ratio <= edgeSlowerMax,
  });
}

/** The 99th percentile, in milliseconds, of visitors who ask one thing after another. */
async function p99Of(url: string, headers: Record<string, string>): Promise<number> {
  const end = performance.now() + apiSeconds * 1000;
  const times: number[] = [];
  const visitor = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (performance.now() < end) {
      const begin = performance.now();
      const asked = request(url, { agent, headers }).end();
      const [reply] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
      reply.resume();
      await once(reply, 'end');
      times.push(performance.now() - begin);
      await sleep(pauseMilliseconds);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: apiVisitors }, visitor));
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

const question: BreakdownQuestion = {
  ...scope,
  from: day * 86_400,
  to: (day + 1) * 86_400,
  grain: 300,
  dimension: 'wt',
  sort: 'impact',
  limit: 200,
  filters: { contexts: { values: ['web'], mode: 'additive' } },
};

async function measureApi() {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-bench-metrics-'));
  const bounds = { freeBytesMin: 0, recordsMax: 1e9, exactRecordsMax: 1e12 };
  const { instance, connection } = await makeDay({ ...storeDefaults, folder, ...bounds }, millions);
  connection.closeSync();
  instance.closeSync();
  const { api, platform, headers, close } = await openMeasuredPlatform({ folder, ...bounds });
  try {
    const url = `${await api.listen({ host: '127.0.0.1', port: 0 })}/users/me`;
    const askUntil = async (enough: AbortSignal) => {
      let answers = 0;
      for (; !enough.aborted; answers += 1) {
        const answer = await platform.metrics.breakdown(question);
        if (isTooMuch(answer) || answer.rows.length !== names) throw new Error('This is no answer.');
      }
      return answers;
    };
    const p99Beside = async () => {
      const enough = new AbortController();
      const asking = [askUntil(enough.signal), askUntil(enough.signal)];
      const p99 = await p99Of(url, headers);
      enough.abort();
      answered += (await Promise.all(asking)).reduce((sum, count) => sum + count);
      return p99;
    };
    let answered = 0;
    await p99Beside();
    const [alone, beside] = [[] as number[], [] as number[]];
    for (let round = 0; round < apiRounds; round += 1) {
      alone.push(await p99Of(url, headers));
      beside.push(await p99Beside());
    }
    const ratio = median(beside) / median(alone);
    note({
      what: `p99 of GET /users/me beside ${answered} breakdowns of ${millions} million records each`,
      measured: `${ratio.toFixed(2)} of what it is without (${median(beside).toFixed(1)} and ${median(alone).toFixed(1)} ms)`,
      target: `at most ${apiSlowerMax}`,
      isMet: ratio <= apiSlowerMax,
    });
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await measureEdge();
await measureApi();
printTable();
