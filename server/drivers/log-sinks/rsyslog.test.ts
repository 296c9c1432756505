/** Syslog against rsyslog, as Debian has it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serverCertificate } from '../certificates/test-pebble.ts';
import { appendLog } from '../logs/append-log.ts';
import { ensureLogs, logFile } from '../logs/log-folders.ts';
import { forwardLogs } from './forward-logs.ts';
import type { LogRecord } from './log-record.ts';
import { openSink } from './open-sink.ts';
import type { SyslogSettings } from './syslog.ts';
import { testNetwork } from './test-network.ts';
import { canBringRsyslog, openTestRsyslog, whyNoRsyslog } from './test-rsyslog.ts';

const time = Date.UTC(2026, 10, 9, 8, 7, 5, 250);
const context = { project: 'p1', environment: 'main', extra: { team: 'blue "one"]' } };
const never = new AbortController().signal;
const usual = {
  type: 'syslog',
  host: '127.0.0.1',
  facility: 16,
  message_format: 'rfc5424',
  auth_token: 'token-1',
  auth_mode: 'prefix',
  tls_verify: true,
} as const;

describe.skipIf(!canBringRsyslog)(`rsyslog${whyNoRsyslog}`, () => {
  let server: Awaited<ReturnType<typeof openTestRsyslog>>;
  let certificate: Awaited<ReturnType<typeof serverCertificate>>;

  beforeAll(async () => {
    certificate = await serverCertificate();
    server = await openTestRsyslog(certificate);
  }, 300_000);
  afterAll(() => server.close());

  const send = (
    protocol: SyslogSettings['protocol'],
    more: Partial<SyslogSettings>,
    messages: readonly string[],
    authorities = [certificate.root],
  ) => {
    const records = messages.map((message, nth): LogRecord => ({ time: time + nth, service: 'shop', log: 'error', message }));
    return openSink({ ...usual, protocol, port: server.ports[protocol], ...more }, testNetwork(authorities)).send(records, context, never);
  };
  const takenBy = (input: string, tellsApart: string) =>
    server.taken().filter((each) => each.input === input && each.message.includes(tellsApart));

  test.each(['tcp', 'tls', 'udp'] as const)('takes records of RFC 5424 by %s, with all that belongs to them', async (protocol) => {
    expect(await send(protocol, {}, ['one: grün ✓', 'one: two'])).toEqual({ is: 'taken' });
    await expect.poll(() => takenBy(protocol, 'one:').length).toBe(2);
    expect(takenBy(protocol, 'one:')).toMatchObject([
      {
        priority: '131',
        time: '2026-11-09T08:07:05.250Z',
        host: 'main.p1',
        app: 'shop',
        id: 'error',
        data: '[fields@32473 team="blue \\"one\\"\\]"]',
        message: 'token-1 one: grün ✓',
      },
      { time: '2026-11-09T08:07:05.251Z', message: 'token-1 one: two' },
    ]);
  });

  test.each(['tcp', 'tls', 'udp'] as const)('takes records of RFC 3164 by %s', async (protocol) => {
    expect(await send(protocol, { message_format: 'rfc3164' }, ['three: x'])).toEqual({ is: 'taken' });
    await expect.poll(() => takenBy(protocol, 'three:')).toMatchObject([{ priority: '131', host: 'main.p1', tag: 'shop/error:' }]);
    expect(takenBy(protocol, 'three:')[0]?.message).toContain('token-1 [fields@32473 team="blue \\"one\\"\\]"] three: x');
  });

  test('finds the token as structured data where the owner wants it there', async () => {
    expect(await send('tls', { auth_mode: 'structured_data', auth_token: 'abc@41058' }, ['four: x'])).toEqual({ is: 'taken' });
    await expect
      .poll(() => takenBy('tls', 'four:'))
      .toMatchObject([{ data: expect.stringMatching(/^\[abc@41058\]\[fields@/), message: 'four: x' }]);
  });

  test('is not told anything where its certificate is not trusted, unless the owner does not mind', async () => {
    expect(await send('tls', {}, ['five: x'], [])).toMatchObject({ is: 'later', why: expect.stringMatching(/certificate/) });
    expect(await send('tls', { tls_verify: false }, ['five: y'], [])).toEqual({ is: 'taken' });
    await expect.poll(() => takenBy('tls', 'five:')).toMatchObject([{ message: 'token-1 five: y' }]);
  });

  test('takes many at once, in their order, whatever looks like the beginning of another inside of one', async () => {
    const messages = Array.from({ length: 3000 }, (_, nth) => `six: ${nth} 12 <13>1 - ${'x'.repeat(nth % 500)}`);
    expect(await send('tls', {}, messages)).toEqual({ is: 'taken' });
    await expect.poll(() => takenBy('tls', 'six:').length, { timeout: 10_000 }).toBe(3000);
    expect(takenBy('tls', 'six:').map(({ message }) => /six: (\d+)/.exec(message)?.[1])).toEqual(messages.map((_, nth) => String(nth)));
  });

  test('that was killed gets the lines of an environment when it is back', { timeout: 30_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'offshoot-sinks-'));
    const logs = join(folder, 'logs');
    await ensureLogs(logs, ['shop']);
    const { ports } = server;
    const forwarding = await forwardLogs({
      logs,
      positions: join(folder, 'positions.json'),
      sink: openSink({ ...usual, protocol: 'tls', port: ports.tls }, testNetwork([certificate.root])),
      context,
      excludedServices: [],
      isRedacted: false,
      tell: () => {},
      firstPauseSeconds: 0.05,
    });
    const log = logFile(logs, 'shop', 'app');
    await appendLog(log, 'seven: before\n');
    await expect.poll(() => takenBy('tls', 'seven:').length).toBe(1);
    await server.close();
    await appendLog(log, 'seven: meanwhile\n');
    await expect.poll(() => forwarding.progress.trouble).toContain('ECONNREFUSED');
    server = await openTestRsyslog(certificate, ports);
    await appendLog(log, 'seven: after\n');
    await expect
      .poll(() => takenBy('tls', 'seven:').map(({ message }) => message), { timeout: 10_000 })
      .toEqual(['token-1 seven: meanwhile', 'token-1 seven: after']);
    await forwarding.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
