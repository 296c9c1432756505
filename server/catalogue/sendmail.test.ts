/** The `sendmail` of apps, as programs call it, against a real SMTP server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const program = join(import.meta.dirname, 'sendmail.pl');
const arrived: { from: string; to: string[]; text: string }[] = [];
const answers = new Map<string, number>();
const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onRcptTo: ({ address }, _, done) => {
    const responseCode = answers.get(address);
    done(responseCode === undefined ? null : Object.assign(new Error('as the test wants it'), { responseCode }));
  },
  onData: (stream, { envelope: { mailFrom, rcptTo } }, done) => {
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk));
    stream.on('end', () => {
      arrived.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), text });
      done();
    });
  },
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
beforeEach(() => {
  arrived.length = 0;
  answers.clear();
});
afterAll(() => new Promise<void>((resolve) => server.close(resolve)));

const relayHost = () => `127.0.0.1:${(server.server.address() as AddressInfo).port}`;

async function sendmail(args: readonly string[], input: string, host = relayHost()) {
  const child = spawn('perl', [program, ...args], { env: { PATH: process.env['PATH'], PLATFORM_SMTP_HOST: host } });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, errors };
}

const well = { code: 0, errors: '' };

test('reads from the headers for whom a message is, and tells nobody of blind copies', async () => {
  const input = [
    'To: "Lovelace, Ada" <ada@example.org>, bob@example.org (Bob, (the) builder),',
    '  Friends: carl@example.org, "a,b"@example.org;',
    'Bcc: secret@example.org,',
    ' other@example.org',
    'From: Shop <shop@example.org>',
    'Subject: Hello',
    '',
    'One',
    '.',
    '.two',
    '',
  ].join('\n');
  expect(await sendmail(['-t', '-i'], input)).toEqual(well);
  const to = ['ada@example.org', 'bob@example.org', 'carl@example.org', '"a,b"@example.org', 'secret@example.org', 'other@example.org'];
  expect(arrived).toMatchObject([{ from: 'shop@example.org', to }]);
  const text = arrived[0]?.text ?? '';
  expect(text).not.toMatch(/secret|other@/);
  expect(text).toMatch(/^To: "Lovelace, Ada" .*\r\n {2}Friends: /);
  expect(text.endsWith('\r\n\r\nOne\r\n.\r\n.two\r\n')).toBe(true);
  expect(text).toMatch(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\r$/m);
  expect(text).toMatch(/^Message-ID: <[\w.]+@example.org>\r$/m);
});

test('takes sender and recipients from its options, and a lone dot as the end', async () => {
  const args = ['-oem', '-F', 'Shop', '-fbounces@example.org', '--', 'ada@example.org', 'ändi@example.org'];
  expect(await sendmail(args, 'Subject: Hello\r\n\r\nOne\r\n.\r\nnot this\r\n')).toEqual(well);
  expect(arrived).toMatchObject([{ from: 'bounces@example.org', to: ['ada@example.org', 'ändi@example.org'] }]);
  expect(arrived[0]?.text).toMatch(/^From: <bounces@example.org>\r$/m);
  expect(arrived[0]?.text.endsWith('\r\n\r\nOne\r\n')).toBe(true);
  expect(await sendmail(['-f', '<>', 'ada@example.org'], 'From: shop@example.org\n\nA bounce\n')).toEqual(well);
  expect(arrived.at(-1)).toMatchObject({ from: '', to: ['ada@example.org'] });
});

test('ends as programs expect of sendmail, with a sentence, when it has sent nothing', async () => {
  const input = 'From: shop@example.org\n\nHello\n';
  answers.set('gone@example.org', 550).set('later@example.org', 451);
  expect(await sendmail(['ada@example.org', 'gone@example.org'], input)).toEqual({
    code: 69,
    errors: 'sendmail: 550 as the test wants it\n',
  });
  expect(await sendmail(['later@example.org'], input)).toMatchObject({ code: 75 });
  expect(await sendmail(['ada@example.org'], input, '')).toEqual({
    code: 69,
    errors: 'sendmail: outgoing mail is off in this environment\n',
  });
  expect(await sendmail(['ada@example.org'], input, '127.0.0.1:1')).toMatchObject({ code: 75 });
  expect(await sendmail(['-bs'], input)).toEqual({ code: 64, errors: 'sendmail: there is no option -bs here\n' });
  expect(await sendmail(['-t'], input)).toEqual({ code: 65, errors: 'sendmail: say for whom it is\n' });
  expect(await sendmail(['ada@example.org'], 'Subject: Hello\n\nHello\n')).toMatchObject({ code: 65 });
  expect(await sendmail(['ada@example.org>\r\nRCPT TO:<eve@example.org'], input)).toMatchObject({ code: 65 });
  expect(arrived).toEqual([]);
});
