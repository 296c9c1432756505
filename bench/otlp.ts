/**
 * What it takes to take traces: spans for each second of a processor, decoded alone and through the whole endpoint, over real HTTP and up to the records. The anchor is what
 * JSON.parse needs for the same spans, in the same run: parsing alone, with nothing read of it. The client of the endpoint runs in this process, and is counted with it.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJson } from '../server/drivers/otlp/decode-json.ts';
import { decodeProtobuf } from '../server/drivers/otlp/decode-protobuf.ts';
import type { Decoded } from '../server/drivers/otlp/span.ts';
import { asJson, asProtobuf } from '../server/drivers/otlp/test-request.ts';
import { otlpEndpoint } from '../server/rooms/measuring/otlp-endpoint.ts';
import { openSpanIntake } from '../server/rooms/measuring/otlp-intake.ts';
import { openReportMemory } from '../server/rooms/measuring/otlp-records.ts';
import { openSpanRates } from '../server/rooms/measuring/span-rates.ts';
import { spansPerRequest, writtenSpans } from './harness/spans.ts';
import { note, printTable } from './harness/verdicts.ts';

const secondsEach = Number(process.env['OTLP_BENCH_SECONDS'] ?? 2);
const protobufMin = 1.2;
const endpointMin = 50_000;

const reporter = { project: 'bench', environment: 'main-abc', stack: 'one', application: 'app', instance: 'app.0' };
const written = writtenSpans();
const [protobuf, json] = [asProtobuf(written), asJson(written)];

/** Spans for each second of processor time. */
async function rateOf(work: () => unknown): Promise<number> {
  for (let warm = 0; warm < 50; warm++) await work();
  const before = process.cpuUsage();
  const end = performance.now() + secondsEach * 1000;
  let spans = 0;
  for (; performance.now() < end; spans += spansPerRequest) await work();
  const { user, system } = process.cpuUsage(before);
  return spans / ((user + system) / 1e6);
}

function drain({ groups }: Decoded) {
  let spans = 0;
  for (const group of groups) spans += group.spans.length;
  if (spans !== spansPerRequest) throw new Error(`${spans} spans were decoded`);
}

const server = otlpEndpoint({
  reporters: { reporterOf: async () => reporter },
  intake: openSpanIntake({
    metrics: { append: () => {} },
    ownReports: { note: () => {} },
    rates: openSpanRates({ perSecond: Number.MAX_SAFE_INTEGER, perSecondInAll: Number.MAX_SAFE_INTEGER }, () => 0),
    memory: openReportMemory(),
  }),
  log: { error: (said: unknown) => console.error(said) } as never,
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const agent = new Agent({ keepAlive: true });
const { port } = server.address() as AddressInfo;

async function post(body: Buffer, type: string) {
  const headers = { 'content-type': type, 'content-length': body.length };
  const sent = request({ host: '127.0.0.1', port, path: '/v1/traces', method: 'POST', agent, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`The endpoint answered ${response.statusCode}`);
}

const told = (rate: number) => `${Math.round(rate).toLocaleString('en')} spans per CPU second`;
const bytes = Math.round(protobuf.length / spansPerRequest);
const parse = await rateOf(() => JSON.parse(json.toString('utf8')) as unknown);
note({ what: 'the anchor: JSON.parse of the same spans', measured: told(parse) });
const decoded = await rateOf(() => drain(decodeProtobuf(protobuf)));
note({
  what: `protobuf decoded, ${bytes} bytes a span`,
  measured: `${told(decoded)}, ${(decoded / parse).toFixed(2)} times the anchor`,
  target: `at least ${protobufMin} times`,
  isMet: decoded >= parse * protobufMin,
});
note({ what: 'JSON decoded', measured: told(await rateOf(() => drain(decodeJson(json)))) });
const taken = await rateOf(() => post(protobuf, 'application/x-protobuf'));
note({
  what: 'the whole endpoint, protobuf',
  measured: told(taken),
  target: `at least ${endpointMin.toLocaleString('en')}`,
  isMet: taken >= endpointMin,
});
note({ what: 'the whole endpoint, JSON', measured: told(await rateOf(() => post(json, 'application/json'))) });
server.close();
agent.destroy();
printTable();
