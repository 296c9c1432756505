/**
 * Reports spans at a given rate through the endpoint to a store of its own, as a process: says 'ready', goes on until it is told that it is enough, and answers how many
 * were taken in a second.
 */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDuckdbMetrics } from '../../server/drivers/metrics/duckdb/open-duckdb-metrics.ts';
import { otlpEndpoint } from '../../server/rooms/measuring/otlp-endpoint.ts';
import { openSpanIntake } from '../../server/rooms/measuring/otlp-intake.ts';
import { openReportMemory } from '../../server/rooms/measuring/otlp-records.ts';
import { openSpanRates } from '../../server/rooms/measuring/span-rates.ts';
import { protobufOfSpans, spansPerRequest } from './spans.ts';

const [folder = '', perSecond = '0'] = process.argv.slice(2);
const metrics = openDuckdbMetrics({ folder, freeBytesMin: 0 });
const reporter = { project: 'bench', environment: 'main-abc', stack: 'one', application: 'app', instance: 'app.0' };
const server = otlpEndpoint({
  reporters: { reporterOf: async () => reporter },
  intake: openSpanIntake({
    metrics,
    ownReports: { note: () => {} },
    rates: openSpanRates({ perSecond: Number.MAX_SAFE_INTEGER, perSecondInAll: Number.MAX_SAFE_INTEGER }, () => 0),
    memory: openReportMemory(),
  }),
  log: { error: (said: unknown) => console.error(said) } as never,
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const agent = new Agent({ keepAlive: true });

async function post(body: Buffer) {
  const headers = { 'content-type': 'application/x-protobuf', 'content-length': body.length };
  const sent = request({ host: '127.0.0.1', port, path: '/v1/traces', method: 'POST', agent, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`The endpoint answered ${response.statusCode}`);
}

const enough = new AbortController();
process.once('message', () => enough.abort());
const body = protobufOfSpans();
process.send?.('ready');
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1000;
let spans = 0;
while (!enough.signal.aborted) {
  await post(body);
  spans += spansPerRequest;
  const ahead = spans / Number(perSecond) - seconds();
  if (ahead > 0) await sleep(ahead * 1000);
}
const rate = spans / seconds();
await metrics.close();
server.close();
agent.destroy();
process.send?.(rate, () => process.disconnect());
