/** The endpoint for traces over real HTTP: who is let in, what is refused and how, and that every span that was acknowledged is a record. */
import { once } from 'node:events';
import { request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpanRecord, TransactionRecord } from '../../drivers/metrics/metrics.ts';
import { openReporterTokens, type Reporter } from '../../drivers/otlp/reporter.ts';
import { asJson, asProtobuf, fieldOf, type WrittenRequest, type WrittenSpan } from '../../drivers/otlp/test-request.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { otlpBounds, otlpEndpoint } from './otlp-endpoint.ts';
import { openSpanIntake } from './otlp-intake.ts';
import { openReportMemory } from './otlp-records.ts';
import { openSpanRates } from './span-rates.ts';

const tokens = openReporterTokens(openSecrets([Buffer.alloc(32, 1)]));
const main: Reporter = { project: 'shop', environment: 'main-abc', stack: 'one', application: 'app', instance: 'app.0' };
const branch: Reporter = { ...main, environment: 'branch-xyz', stack: 'two' };
const flooding: Reporter = { ...main, environment: 'flooding-uvw', stack: 'three' };
const current = new Set(['main-abc one', 'branch-xyz two', 'flooding-uvw three']);

let server: Server;
let url: string;
let transactions: TransactionRecord[] = [];
let spans: SpanRecord[] = [];
const noted: string[] = [];
const spansMax = 5000;
const bounds = { ...otlpBounds, bodyBytes: 1_000_000, inflatedBytes: 2_000_000, spans: 1000 };

beforeAll(async () => {
  const append = (kind: string, records: readonly object[]) => {
    if (kind === 'transactions') transactions.push(...(records as TransactionRecord[]));
    else spans.push(...(records as SpanRecord[]));
  };
  server = otlpEndpoint(
    {
      reporters: {
        reporterOf: async (authorization = '') => {
          const reporter = tokens.read(authorization.replace('Bearer ', ''));
          return reporter && current.has(`${reporter.environment} ${reporter.stack}`) ? reporter : undefined;
        },
      },
      intake: openSpanIntake({
        metrics: { append },
        ownReports: { note: ({ environment }, application) => void noted.push(`${environment} ${application}`) },
        // Time stands still, so that nothing is added to what may still come.
        rates: openSpanRates({ perSecond: spansMax, perSecondInAll: 100_000 }, () => 0),
        memory: openReportMemory(),
      }),
      log: { error: ({ error }: { error: unknown }) => expect.fail(String(error)) } as never,
    },
    bounds,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
});
afterAll(() => void server.close());

const post = (body: Buffer, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-protobuf', authorization: `Bearer ${tokens.issue(main)}`, ...headers },
  });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

let ids = 0;
const written = (changes: Partial<WrittenSpan> = {}): WrittenSpan => ({
  trace: (++ids).toString(16).padStart(32, '0'),
  id: ids.toString(16).padStart(16, '0'),
  parent: '',
  name: 'GET /',
  kind: 2,
  start: BigInt(Date.now()) * 1_000_000n,
  nanoseconds: 1_500_000,
  isError: false,
  attributes: { 'http.response.status_code': 200 },
  ...changes,
});
const requestOf = (...all: WrittenSpan[]): WrittenRequest => [{ resource: {}, libraries: [{ name: '', spans: all }] }];
const many = (count: number, changes: Partial<WrittenSpan> = {}) => requestOf(...Array.from({ length: count }, () => written(changes)));

describe('whatever is sent well', () => {
  test.each<[string, (request: WrittenRequest) => Buffer, Record<string, string>, string]>([
    ['protobuf', asProtobuf, {}, ''],
    ['JSON', asJson, { 'content-type': 'application/json; charset=utf-8' }, '{}'],
    ['protobuf with gzip', (request) => gzipSync(asProtobuf(request)), { 'content-encoding': 'gzip' }, ''],
    ['JSON with gzip', (request) => gzipSync(asJson(request)), { 'content-encoding': 'gzip', 'content-type': 'application/json' }, '{}'],
  ])('is taken as %s, span by span, and answered in kind', async (_, encode, headers, answer) => {
    transactions = [];
    const response = await post(encode(many(700)), headers);
    expect([response.status, (await bytesOf(response)).toString()]).toEqual([200, answer]);
    expect(response.headers.get('content-type')).toBe(answer === '' ? 'application/x-protobuf' : 'application/json');
    expect(transactions).toHaveLength(700);
    expect(new Set(transactions.map(({ environment, application, instance }) => [environment, application, instance].join()))).toEqual(
      new Set(['main-abc,app,app.0']),
    );
    expect(noted).toContain('main-abc app');
  });

  test('is counted for the environment of the token, whatever the spans say', async () => {
    transactions = [];
    const spoofed: WrittenRequest = [
      {
        resource: { 'service.name': 'main', 'host.name': 'x' },
        libraries: [{ name: '', spans: [written({ attributes: { 'service.name': 'app' } })] }],
      },
    ];
    expect((await post(asProtobuf(spoofed), { authorization: `Bearer ${tokens.issue(branch)}` })).status).toBe(200);
    expect(transactions).toEqual([expect.objectContaining({ project: 'shop', environment: 'branch-xyz', application: 'app' })]);
  });

  test('an empty request is a request', async () => {
    expect((await post(Buffer.alloc(0))).status).toBe(200);
  });
});

test('spans that are not taken are counted in the answer: without an id, of another day, and beyond the rate', async () => {
  const partial = async (request: WrittenRequest) => {
    const response = await post(asJson(request), { 'content-type': 'application/json', authorization: `Bearer ${tokens.issue(branch)}` });
    expect(response.status).toBe(200);
    return (JSON.parse((await bytesOf(response)).toString()) as { partialSuccess?: { rejectedSpans: string; errorMessage: string } })
      .partialSuccess;
  };
  expect(await partial(requestOf(written({ id: '0'.repeat(16) }), written()))).toEqual({
    rejectedSpans: '1',
    errorMessage: 'Spans need a trace id and a span id.',
  });
  expect(await partial(requestOf(written({ start: 1n }), written({ start: 2n }), written()))).toEqual({
    rejectedSpans: '2',
    errorMessage: 'Spans are taken within an hour of their start.',
  });
  transactions = [];
  expect(await partial(many(600).concat(many(700)))).toEqual({
    rejectedSpans: '500',
    errorMessage: 'A request can have 1000 spans at most.',
  });
  expect(transactions).toHaveLength(800);
  transactions = [];
  const statuses: [number, string | null][] = [];
  let rejected = 0;
  for (let sent = 0; sent < 7; sent++) {
    const small = asProtobuf(many(900, { attributes: {} }));
    const response = await post(small, { authorization: `Bearer ${tokens.issue(flooding)}` });
    statuses.push([response.status, response.headers.get('retry-after')]);
    const body = await bytesOf(response);
    if (response.status === 200) rejected += rejectedIn(body);
  }
  expect(statuses).toEqual([...Array.from({ length: 6 }, () => [200, null]), [429, '1']]);
  expect([transactions.length, rejected]).toEqual([spansMax, 400]);
  // Whoever floods is not in the way of others.
  expect((await bytesOf(await post(asProtobuf(many(10))))).length).toBe(0);
});

/** The number in `partial_success { rejected_spans }`, which is all that is looked for. */
function rejectedIn(body: Buffer): number {
  if (body.length === 0) return 0;
  const at = body.indexOf(0x08) + 1;
  return (body[at] ?? 0) < 128 ? (body[at] ?? 0) : ((body[at] ?? 0) & 127) + (body[at + 1] ?? 0) * 128;
}

describe('whatever is not', () => {
  const other = openReporterTokens(openSecrets([Buffer.alloc(32, 2)]));
  const good = tokens.issue(main);

  test.each<[string, Record<string, string>]>([
    ['no token', { authorization: '' }],
    ['the token of another installation', { authorization: `Bearer ${other.issue(main)}` }],
    ['a token that was tampered with', { authorization: `Bearer ${good.slice(0, -2)}${good.endsWith('AA') ? 'BB' : 'AA'}` }],
    ['a token of an earlier activation', { authorization: `Bearer ${tokens.issue({ ...main, stack: 'zero' })}` }],
    ['a token of an environment that is gone', { authorization: `Bearer ${tokens.issue({ ...main, environment: 'gone' })}` }],
    ['words', { authorization: 'Basic YWRtaW46YWRtaW4=' }],
  ])('%s is 401, and nothing is recorded', async (_, headers) => {
    transactions = [];
    const response = await post(asProtobuf(many(3)), headers);
    expect(response.status).toBe(401);
    expect((await bytesOf(response)).subarray(0, 3).toString('hex')).toBe('081012');
    expect(transactions).toEqual([]);
  });

  test.each<[string, number, () => Buffer, Record<string, string>]>([
    ['malformed protobuf', 400, () => Buffer.from('0aff0f00', 'hex'), {}],
    ['a request that is cut off', 400, () => asProtobuf(many(3)).subarray(0, -5), {}],
    ['malformed JSON', 400, () => Buffer.from('{"resourceSpans":'), { 'content-type': 'application/json' }],
    ['what gzip did not make', 400, () => Buffer.from('not gzip'), { 'content-encoding': 'gzip' }],
    ['gzip that is cut off', 400, () => gzipSync(asProtobuf(many(3))).subarray(0, -9), { 'content-encoding': 'gzip' }],
    ['a body beyond the bound', 413, () => Buffer.alloc(1_000_001), {}],
    ['a bomb of gzip', 413, () => gzipSync(Buffer.alloc(10 * 2 ** 20)), { 'content-encoding': 'gzip' }],
    ['another type', 415, () => Buffer.from('x'), { 'content-type': 'text/plain' }],
    ['another compression', 415, () => Buffer.from('x'), { 'content-encoding': 'br' }],
  ])('%s is %d, and nothing is recorded', async (_, status, body, headers) => {
    transactions = [];
    const response = await post(body(), headers);
    expect(response.status).toBe(status);
    expect((await bytesOf(response)).length).toBeGreaterThan(10);
    expect(transactions).toEqual([]);
  });

  test('a body without a length is read up to the bound and no further', async () => {
    const outgoing = httpRequest(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${good}`, 'transfer-encoding': 'chunked' },
    });
    outgoing.on('error', () => {});
    const answered = once(outgoing, 'response') as Promise<[{ statusCode: number; resume(): void }]>;
    const writing = setInterval(() => outgoing.write(Buffer.alloc(50_000, ' ')), 5);
    const [response] = await answered;
    clearInterval(writing);
    outgoing.destroy();
    expect(response.statusCode).toBe(413);
  });

  test('other paths and methods are not there', async () => {
    const headers = { authorization: `Bearer ${good}` };
    const metrics = await fetch(url.replace('traces', 'metrics'), { method: 'POST', headers });
    expect([metrics.status, await metrics.json()]).toEqual([404, { code: 5, message: expect.stringContaining('OTEL_METRICS_EXPORTER') }]);
    expect((await fetch(url, { headers })).status).toBe(405);
  });

  test('many empty messages are a few bytes each, and not kept', async () => {
    const empty = Buffer.alloc(300_000, Buffer.from([0x12, 0x00]));
    const response = await post(gzipSync(fieldOf(1, fieldOf(2, empty))), { 'content-encoding': 'gzip' });
    expect([response.status, (await bytesOf(response)).length > 0]).toEqual([200, true]);
  });
});

test('a token says nothing of what is in it, and is the same each time', () => {
  const token = tokens.issue(main);
  expect(tokens.issue(main)).toBe(token);
  expect(tokens.issue({ ...main, instance: 'app.1' })).not.toBe(token);
  for (const word of ['shop', 'main-abc', 'app.0', 'project']) expect(Buffer.from(token, 'base64url').includes(word)).toBe(false);
  expect(tokens.read(token)).toEqual(main);
});
