/** What becomes of reported spans: which are transactions, what is known of them, and what a hostile app cannot do. */
import { describe, expect, test } from 'vitest';
import type { Reporter } from '../../drivers/otlp/reporter.ts';
import type { Attributes, Span, SpanGroup } from '../../drivers/otlp/span.ts';
import { distinctValuesMax, openReportMemory, recordsOf } from './otlp-records.ts';
import { openRecentTraces } from './recent-traces.ts';
import { openSpanRates } from './span-rates.ts';

const now = Date.parse('2026-11-15T12:00:00Z');
const reporter: Reporter = { project: 'shop', environment: 'main-abc', stack: 'one', application: 'app', instance: 'app.1' };
let ids = 0;
const idOf = (characters: number) => (++ids).toString(16).padStart(characters, '0');

const span = (changes: Partial<Span> = {}): Span => ({
  trace: idOf(32),
  id: idOf(16),
  parent: '',
  name: 'GET',
  kind: 'server',
  start: now - 1000,
  microseconds: 2500,
  isError: false,
  attributes: {},
  ...changes,
});

const group = (spans: Span[], resource: Attributes = {}, library = ''): SpanGroup => ({ resource, library, spans });
const recordsFrom = (groups: SpanGroup[], memory = openReportMemory(() => now), as = reporter) => recordsOf(groups, as, memory, now);

describe('a span of a server', () => {
  test('is a transaction with all that new conventions say of it', () => {
    const attributes = {
      'http.route': '/products/:id',
      'http.request.method': 'GET',
      'http.response.status_code': 404,
      'server.address': 'Shop.example.org',
      'http.response.body.size': 512,
      'process.memory.peak': 2 ** 20,
    };
    const resource = {
      'telemetry.sdk.language': 'nodejs',
      'process.runtime.name': 'nodejs',
      'process.runtime.version': '24.1.0',
      'os.type': 'linux',
      'host.name': 'frontend-0',
      'service.name': 'somebody-else',
    };
    const { transactions, spans } = recordsFrom([group([span({ attributes })], resource, '@opentelemetry/instrumentation-express')]);
    expect(spans).toEqual([]);
    expect(transactions).toEqual([
      {
        project: 'shop',
        environment: 'main-abc',
        application: 'app',
        instance: 'app.1',
        time: now - 1000,
        context: 'web',
        transaction: '/products/:id',
        status: 404,
        httpHost: 'shop.example.org',
        host: 'frontend-0',
        framework: 'express',
        language: 'nodejs',
        method: 'get',
        runtime: 'nodejs 24.1.0',
        os: 'Linux',
        wallTime: 2500,
        peakMemory: 2 ** 20,
        output: 512,
      },
    ]);
  });

  test('says the same with the names of old conventions, and as PHP does', () => {
    const attributes = {
      'http.method': 'POST',
      'http.status_code': '503',
      'http.host': 'shop.example.org:8080',
      'http.response_content_length': '99',
    };
    const resource = { 'telemetry.sdk.language': 'php', 'process.runtime.name': 'fpm-fcgi', 'process.runtime.version': '8.4.17' };
    const [transaction] = recordsFrom([
      group([span({ name: 'checkout', attributes })], resource, 'io.opentelemetry.contrib.php.symfony'),
    ]).transactions;
    expect(transaction).toMatchObject({
      transaction: 'checkout',
      status: 503,
      method: 'post',
      httpHost: 'shop.example.org',
      output: 99,
      framework: 'symfony',
      runtime: 'PHP 8.4.17 (fpm-fcgi)',
      host: 'app.1',
    });
  });

  test.each<[string, Partial<Span>, object]>([
    ['an error without a status counts as 500', { isError: true }, { status: 500 }],
    ['an error with a status keeps it', { isError: true, attributes: { 'http.status_code': 404 } }, { status: 404 }],
    ['a status that is none counts as none', { attributes: { 'http.status_code': 1e9 } }, { status: 0 }],
    ['a name of blanks is no name', { name: '  ' }, { transaction: undefined }],
    ['a name of any length is cut', { name: 'x'.repeat(5000) }, { transaction: 'x'.repeat(200) }],
    ['a method that is none is left out', { attributes: { 'http.method': 'BREW' } }, { method: '' }],
    ['a time below zero is none', { microseconds: -5 }, { wallTime: 0 }],
    ['a time of years is a day', { microseconds: 1e18 }, { wallTime: 24 * 3600 * 1e6 }],
    ['a size that is none is 0', { attributes: { 'http.response.body.size': 'many' } }, { output: 0 }],
    ['whoever called it', { parent: 'b'.repeat(16) }, { context: 'web' }],
  ])('%s', (_, changes, expected) => {
    expect(recordsFrom([group([span(changes)])]).transactions).toEqual([expect.objectContaining(expected)]);
  });
});

test('a command is one of the context cli, and a call that belongs to nothing is none', () => {
  const { transactions, spans } = recordsFrom([
    group([
      span({ kind: 'internal', name: 'cron:send-mail', isError: true }),
      span({ kind: 'consumer', name: 'orders process' }),
      span({ kind: 'client' }),
    ]),
  ]);
  expect(transactions).toEqual([
    expect.objectContaining({ context: 'cli', transaction: 'cron:send-mail', status: 500, method: '' }),
    expect.objectContaining({ context: 'cli', transaction: 'orders process', status: 0 }),
  ]);
  expect(spans).toEqual([]);
});

describe('a span below a transaction', () => {
  const server = span({ name: 'GET /', attributes: { 'http.route': '/' }, microseconds: 9000 });
  const query = span({
    kind: 'client',
    name: 'SELECT',
    trace: server.trace,
    parent: server.id,
    attributes: { 'db.system': 'postgresql' },
    microseconds: 700,
  });
  const expected = {
    transaction: '/',
    application: 'app',
    wallTime: 9000,
    trace: server.trace,
    span: 'SELECT',
    label: 'SELECT',
    service: 'postgresql',
    spanTime: 700,
  };

  test.each<[string, Span[][]]>([
    ['in the same batch', [[query, server]]],
    ['in a batch before it', [[query], [server]]],
    ['in a batch after it', [[server], [query]]],
  ])('has its dimensions: %s', (_, batches) => {
    const memory = openReportMemory(() => now);
    const spans = batches.flatMap((batch) => recordsFrom([group(batch)], memory).spans);
    expect(spans).toEqual([expect.objectContaining(expected)]);
  });

  test('belongs to the nearest transaction above it, where an app calls itself', () => {
    const inner = span({ name: 'inner', trace: server.trace, parent: query.id });
    const below = span({ kind: 'internal', name: 'render', trace: server.trace, parent: inner.id });
    const { spans } = recordsFrom([group([below, inner, query, server])]);
    expect(spans.map(({ span: name, transaction }) => [name, transaction])).toEqual([
      ['render', 'inner'],
      ['SELECT', '/'],
    ]);
  });

  test('tells the framework of a transaction that does not know it', () => {
    const handler = span({ kind: 'internal', name: 'request handler', trace: server.trace, parent: server.id });
    const { transactions } = recordsFrom([
      group([server], {}, '@opentelemetry/instrumentation-http'),
      group([handler], {}, '@opentelemetry/instrumentation-express'),
    ]);
    expect(transactions).toEqual([expect.objectContaining({ framework: 'express' })]);
  });

  test('never gets to a transaction of another environment or instance that has the same trace', () => {
    const memory = openReportMemory(() => now);
    recordsFrom([group([server])], memory);
    expect(recordsFrom([group([query])], memory, { ...reporter, environment: 'other-xyz' }).spans).toEqual([]);
    expect(recordsFrom([group([query])], memory, { ...reporter, instance: 'app.0' }).spans).toEqual([]);
  });

  test('that leads to itself is not followed for ever', () => {
    const loop = span({ kind: 'internal', id: 'c'.repeat(16), parent: 'c'.repeat(16) });
    expect(recordsFrom([group([loop])]).spans).toEqual([]);
  });
});

describe('a hostile app', () => {
  test('cannot report other times than the last hour', () => {
    const at = (start: number) => span({ start });
    const { transactions, untimely } = recordsFrom([
      group([at(0), at(now - 2 * 3600_000), at(now + 2 * 60_000), at(now), at(now - 3000_000)]),
    ]);
    expect([transactions.length, untimely]).toEqual([2, 3]);
  });

  test('has so many names; all that come beyond count as one without a name, and nothing is lost', () => {
    const memory = openReportMemory(() => now);
    const count = distinctValuesMax + 500;
    const bomb = Array.from({ length: count }, (_, nth) => span({ name: `/${nth}`, attributes: { 'server.address': `host-${nth}` } }));
    const { transactions } = recordsFrom([group(bomb)], memory);
    expect(transactions).toHaveLength(count);
    expect(new Set(transactions.map(({ transaction }) => transaction)).size).toBe(distinctValuesMax + 1);
    expect(new Set(transactions.map(({ httpHost }) => httpHost)).size).toBe(distinctValuesMax + 1);
    expect(transactions.filter(({ transaction }) => transaction === undefined)).toHaveLength(500);
    const elsewhere = recordsFrom([group([span({ name: 'mine' })])], memory, { ...reporter, environment: 'other-xyz' });
    expect(elsewhere.transactions).toEqual([expect.objectContaining({ transaction: 'mine' })]);
  });

  test('cannot make others lose what waits for its transaction', () => {
    const traces = openRecentTraces({ milliseconds: 60_000, items: 100 }, () => now);
    const transaction = recordsFrom([group([span()])]).transactions[0];
    if (!transaction) throw new Error('There is no transaction');
    const modest = span({ kind: 'client' });
    traces.transactionOf('modest', modest.trace, modest);
    for (let nth = 0; nth < 10_000; nth++) traces.transactionOf('greedy', idOf(32), span({ kind: 'client' }));
    expect(traces.met('modest', modest.trace, transaction)).toEqual([modest]);
  });

  test('is taken so many spans of in a second, and the others still have theirs', () => {
    let clock = 0;
    const rates = openSpanRates({ perSecond: 100, perSecondInAll: 150 }, () => clock);
    expect([rates.take('greedy', 80), rates.take('greedy', 80), rates.take('greedy', 1)]).toEqual([80, 20, 0]);
    expect(rates.take('modest', 30)).toBe(30);
    expect(rates.take('third', 100)).toBe(20);
    // What was too much counts as well, so that it takes longer to be heard again.
    clock += 500;
    expect([rates.isSpent('greedy'), rates.isSpent('modest')]).toEqual([true, false]);
    clock += 500;
    expect([rates.isSpent('greedy'), rates.take('greedy', 80)]).toEqual([false, 39]);
  });
});

test('what waits longer than a minute is forgotten', () => {
  let clock = now;
  const traces = openRecentTraces(undefined, () => clock);
  const part = span({ kind: 'client' });
  traces.transactionOf('one', part.trace, part);
  clock += 61_000;
  traces.transactionOf('one', idOf(32), span());
  const [transaction] = recordsFrom([group([span()])]).transactions;
  expect(transaction && traces.met('one', part.trace, transaction)).toEqual([]);
});
