/** What each sink puts on the wire, and what it makes of replies. Syslog servers: rsyslog.test.ts. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogRecord } from './log-record.ts';
import type { Answer } from './log-sink.ts';
import { openSink, type SinkSettings } from './open-sink.ts';
import { readOtlpLogs } from './test-otlp-reader.ts';
import { testNetwork } from './test-network.ts';
import { openTestReceiver, respondWith } from './test-receiver.ts';

const time = Date.UTC(2026, 10, 9, 8, 7, 5, 250);
const records: LogRecord[] = [
  { time, service: 'shop', log: 'app', message: 'ready, "grün" ✓' },
  { time: time + 1, service: 'shop--mails', log: 'error', message: 'connect ECONNREFUSED' },
];
const context = { project: 'p1', environment: 'main', extra: { team: 'blue', message: 'not this' } };
const never = new AbortController().signal;

let receiver: Awaited<ReturnType<typeof openTestReceiver>>;
beforeEach(async () => {
  receiver = await openTestReceiver();
});
afterEach(() => receiver.close());

const send = (settings: SinkSettings, sent = records): Promise<Answer> => openSink(settings, testNetwork()).send(sent, context, never);
/** What the receiver was sent, as it came over the wire. */
const received = () => receiver.asked[0] ?? expect.fail('nothing was sent');

const whole = [
  {
    timestamp: '2026-11-09T08:07:05.250Z',
    message: 'ready, "grün" ✓',
    level: 'info',
    service: 'shop',
    log: 'app',
    project: 'p1',
    environment: 'main',
    team: 'blue',
  },
  {
    timestamp: '2026-11-09T08:07:05.251Z',
    message: 'connect ECONNREFUSED',
    level: 'error',
    service: 'shop--mails',
    log: 'error',
    project: 'p1',
    environment: 'main',
    team: 'blue',
  },
];

describe('records are sent', () => {
  test('to any address as a list of flat objects, with the headers of the owner', async () => {
    const url = `${receiver.url}/in?source=offshoot`;
    expect(await send({ type: 'httplog', url, headers: { 'dd-api-key': 'secret-key' }, tls_verify: true })).toEqual({ is: 'taken' });
    expect(received()).toMatchObject({ method: 'POST', path: '/in?source=offshoot' });
    expect(received().headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'dd-api-key': 'secret-key',
    });
    expect(JSON.parse(received().body.toString())).toEqual(whole);
  });

  test('over OTLP, each service as a resource', async () => {
    expect(await send({ type: 'otlplog', url: receiver.url, headers: { 'x-key': 'secret-key' }, tls_verify: true })).toEqual({
      is: 'taken',
    });
    expect(received()).toMatchObject({ path: '/v1/logs', headers: { 'content-type': 'application/x-protobuf', 'x-key': 'secret-key' } });
    const resource = { 'service.namespace': 'p1', 'deployment.environment.name': 'main', team: 'blue', message: 'not this' };
    const nanoseconds = BigInt(time) * 1_000_000n;
    expect(readOtlpLogs(received().body)).toEqual([
      {
        resource: { 'service.name': 'shop', ...resource },
        scopes: [
          {
            name: 'offshoot',
            records: [
              {
                nanoseconds,
                observed: nanoseconds,
                severity: 9,
                severityText: 'INFO',
                body: 'ready, "grün" ✓',
                attributes: { 'log.file.name': 'app.log' },
              },
            ],
          },
        ],
      },
      {
        resource: { 'service.name': 'shop--mails', ...resource },
        scopes: [
          {
            name: 'offshoot',
            records: [
              {
                nanoseconds: nanoseconds + 1_000_000n,
                observed: nanoseconds + 1_000_000n,
                severity: 17,
                severityText: 'ERROR',
                body: 'connect ECONNREFUSED',
                attributes: { 'log.file.name': 'error.log' },
              },
            ],
          },
        ],
      },
    ]);
  });

  test('to New Relic with what they have in common said once', async () => {
    receiver.respond = respondWith(202, '{"requestId":"1"}');
    expect(await send({ type: 'newrelic', url: receiver.url, license_key: 'license-1', tls_verify: true })).toEqual({ is: 'taken' });
    expect(received()).toMatchObject({ path: '/log/v1', headers: { 'api-key': 'license-1', 'content-type': 'application/json' } });
    expect(JSON.parse(received().body.toString())).toEqual([
      {
        common: { attributes: { project: 'p1', environment: 'main', ...context.extra } },
        logs: [
          { timestamp: time, message: 'ready, "grün" ✓', attributes: { service: 'shop', log: 'app', level: 'info' } },
          { timestamp: time + 1, message: 'connect ECONNREFUSED', attributes: { service: 'shop--mails', log: 'error', level: 'error' } },
        ],
      },
    ]);
  });

  test('to Splunk as events for an index', async () => {
    const settings = {
      type: 'splunk',
      url: receiver.url,
      index: 'web',
      token: 'token-12345',
      sourcetype: 'offshoot',
      tls_verify: true,
    } as const;
    expect(await send(settings)).toEqual({ is: 'taken' });
    const { path, headers, body } = received();
    expect(path).toBe('/services/collector/event');
    expect(headers.authorization).toBe('Splunk token-12345');
    expect(headers['x-splunk-request-channel']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    const [first, second, ...others] = body
      .toString()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(first).toEqual({
      time: time / 1000,
      host: 'main.p1',
      source: 'shop/app',
      sourcetype: 'offshoot',
      index: 'web',
      event: 'ready, "grün" ✓',
      fields: { service: 'shop', log: 'app', level: 'info', project: 'p1', environment: 'main', ...context.extra },
    });
    expect(second).toMatchObject({ event: 'connect ECONNREFUSED', source: 'shop--mails/error' });
    expect(others).toEqual([]);
  });

  test('to Sumo Logic as lines, with what belongs to all of them in headers', async () => {
    expect(await send({ type: 'sumologic', url: `${receiver.url}/receiver/v1/http/abc`, category: 'prod/wéb', tls_verify: true })).toEqual({
      is: 'taken',
    });
    const { path, headers, body } = received();
    expect(path).toBe('/receiver/v1/http/abc');
    expect(headers).toMatchObject({ 'x-sumo-category': 'prod/w?b', 'x-sumo-name': 'p1/main', 'x-sumo-host': 'main.p1' });
    expect(
      body
        .toString()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(whole);
  });
});

describe('a syslog server that is connected to', () => {
  const settings = {
    type: 'syslog',
    host: '127.0.0.1',
    protocol: 'tcp',
    facility: 16,
    message_format: 'rfc5424',
    auth_mode: 'prefix',
    tls_verify: true,
  } as const;
  /** Sends to a server that treats its connection so, and answers with what it read of it. */
  const sendTo = async (more: object, isRead = true) => {
    let read = '';
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      if (!isRead) return void socket.resetAndDestroy();
      void buffer(socket).then((all) => {
        read = all.toString();
        socket.end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const answer = await send({ ...settings, port, ...more });
    server.close();
    return { answer, read };
  };

  test('gets each message with its length before it', async () => {
    const { answer, read } = await sendTo({});
    expect(answer).toEqual({ is: 'taken' });
    const fields = '[fields@32473 team="blue" message="not this"]';
    const lines = [
      `<134>1 2026-11-09T08:07:05.250Z main.p1 shop - app ${fields} ready, "grün" ✓`,
      `<131>1 2026-11-09T08:07:05.251Z main.p1 shop--mails - error ${fields} connect ECONNREFUSED`,
    ];
    expect(read).toBe(lines.map((line) => `${Buffer.byteLength(line)} ${line}`).join(''));
  });

  test('gets the token before the message or as structured data, in both formats', async () => {
    const readWith = async (more: object) => (await sendTo({ auth_token: 'tok en]@41058', ...more })).read;
    expect(await readWith({})).toContain('"not this"] tok en]@41058 ready');
    expect(await readWith({ auth_mode: 'structured_data' })).toContain(' app [tok_en_@41058][fields@32473 ');
    expect(await readWith({ message_format: 'rfc3164' })).toMatch(
      /^\d+ <134>Nov {2}9 08:07:05 main\.p1 shop\/app: tok en\]@41058 \[fields@32473 team="blue" message="not this"\] ready/,
    );
    expect(await readWith({ message_format: 'rfc3164', auth_mode: 'structured_data' })).toContain('shop/app: [tok_en_@41058] [fields');
  });

  test('has not taken a batch when it breaks the connection, or is not there', async () => {
    expect((await sendTo({}, false)).answer).toMatchObject({ is: 'later' });
    const { port } = receiver;
    await receiver.close();
    expect(await send({ ...settings, port })).toMatchObject({ is: 'later', why: expect.stringContaining('ECONNREFUSED') });
    receiver = await openTestReceiver();
  });
});

describe('a reply', () => {
  const meanings: [status: number, is: Answer['is'], what: string][] = [
    [204, 'taken', 'that all is well'],
    [400, 'refused', 'that the batch is wrong'],
    [422, 'refused', 'that the batch is wrong'],
    [413, 'too-large', 'that it should be smaller'],
    [401, 'later', 'that the credential is to be put right'],
    [404, 'later', 'that the address is to be put right'],
    [302, 'later', 'that the address is to be put right'],
    [408, 'later', 'that there was no time'],
    [429, 'later', 'that there is too much'],
    [500, 'later', 'that the sink is broken'],
    [503, 'later', 'that the sink is down'],
  ];
  test.each(meanings)('with status %i means %s: %s', async (status, is) => {
    receiver.respond = respondWith(status);
    expect(await send({ type: 'httplog', url: receiver.url, tls_verify: true })).toMatchObject({ is });
  });

  test('says how long to wait', async () => {
    receiver.respond = respondWith(429, '', { 'retry-after': '17' });
    expect(await send({ type: 'httplog', url: receiver.url, tls_verify: true })).toMatchObject({ is: 'later', waitSeconds: 17 });
  });

  test('is told without the secrets that it repeats', async () => {
    receiver.respond = respondWith(403, '{"text":"Invalid token token-12345 \u0007"}');
    const answer = await send({ type: 'splunk', url: receiver.url, index: 'web', token: 'token-12345', tls_verify: true });
    expect(answer).toMatchObject({ is: 'later', why: 'The sink answered 403: {"text":"Invalid token [secret] "}' });
  });

  test('is shortened after that, so that no half of a secret is left', async () => {
    receiver.respond = respondWith(403, `${'x'.repeat(205)} token-12345`);
    const answer = await send({ type: 'splunk', url: receiver.url, index: 'web', token: 'token-12345', tls_verify: true });
    expect(answer.why).toMatch(/^The sink answered 403: x+ \[?s?e?c?r?e?t?\]?$/);
  });

  test('of Splunk that the index is unknown leaves lines to wait, and one that the data is wrong does not', async () => {
    const settings = { type: 'splunk', url: receiver.url, index: 'web', token: 'token-12345', tls_verify: true } as const;
    receiver.respond = respondWith(400, '{"text":"Incorrect index","code":7}');
    expect(await send(settings)).toMatchObject({ is: 'later' });
    receiver.respond = respondWith(400, '{"text":"Invalid data format","code":6}');
    expect(await send(settings)).toMatchObject({ is: 'refused' });
  });

  test('of OTLP that some records were not wanted is no reason to send the batch again', async () => {
    const partial = Buffer.from([0x08, 1, 0x12, 3, ...Buffer.from('old')]);
    const body = Buffer.from([0x0a, partial.length, ...partial]).toString('latin1');
    receiver.respond = respondWith(200, body);
    expect(await send({ type: 'otlplog', url: receiver.url, tls_verify: true })).toEqual({
      is: 'taken',
      refused: 1,
      why: 'The sink took a part: old',
    });
  });
});
