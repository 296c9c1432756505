import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openLog } from '../../kernel/log.ts';
import { openMail, openMailFolder, openSmtp, type Mail } from './mail.ts';

const from = 'offshoot@example.org';
const message = {
  to: 'ada@example.org',
  subject: 'Grüße from Offshoot',
  text: 'Hello Ada,\n\nan address: https://example.org/a?b=c=d\n.\nBye',
};

interface Fixture {
  mail: Mail;
  /** What apps wrote. */
  relayed(): Promise<Buffer[]>;
  received(): Promise<Buffer[]>;
}

async function scratchFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-mail-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function openFolderFixture(): Promise<Fixture & { folder: string; logLines: string[] }> {
  const folder = join(await scratchFolder(), 'mail');
  const logLines: string[] = [];
  const mail = openMailFolder(folder, from, openLog('info', { write: (line) => void logLines.push(line) }));
  const filesIn = async (where: string) => Promise.all((await readdir(where).catch(() => [])).map((name) => readFile(join(where, name))));
  return { mail, received: () => filesIn(folder), relayed: () => filesIn(`${folder}-of-apps`), folder, logLines };
}

interface ServerOptions {
  password?: string;
  offersTls?: boolean;
}

/** A real SMTP server; it knows no `nobody@…`. */
async function startSmtpServer({ password, offersTls = true }: ServerOptions = {}) {
  const messages: Buffer[] = [];
  const server = new SMTPServer({
    authOptional: password === undefined,
    allowInsecureAuth: true,
    ...(!offersTls && { disabledCommands: ['STARTTLS'] }),
    onAuth: (auth, _session, done) =>
      auth.password === password ? done(null, { user: auth.username }) : done(new Error('Wrong password')),
    onRcptTo: ({ address }, _session, done) =>
      address.startsWith('nobody@') ? done(Object.assign(new Error('No such mailbox'), { responseCode: 550 })) : done(),
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        messages.push(Buffer.concat(chunks));
        done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, messages };
}

async function openSmtpFixture(): Promise<Fixture> {
  const { port, messages } = await startSmtpServer({ offersTls: false });
  const received = () => Promise.resolve(messages);
  return { mail: openSmtp(`smtp://127.0.0.1:${port}`, from), received, relayed: received };
}

describe.for([
  ['folder', openFolderFixture],
  ['SMTP', openSmtpFixture],
] as const)('mail through %s', ([, open]) => {
  test('arrives as it was written', async () => {
    const { mail, received } = await open();
    await mail.send(message);
    const [raw = Buffer.alloc(0), ...others] = await received();
    expect(others).toEqual([]);
    const read: Email = await PostalMime.parse(raw);
    expect(read).toMatchObject({
      from: { name: 'Offshoot', address: from },
      to: [{ address: message.to }],
      subject: message.subject,
      messageId: expect.stringMatching(/^<.+@.+>$/),
    });
    expect(Date.parse(read.date ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect(read.text?.trimEnd()).toBe(message.text);
    expect(read.html).toBeUndefined();
  });

  test('may be said to come from somebody else, and names who sent it', async () => {
    const { mail, received } = await open();
    await mail.send({ ...message, from: 'shop@example.com' });
    const read: Email = await PostalMime.parse((await received())[0] ?? '');
    expect(read).toMatchObject({ from: { address: 'shop@example.com' }, sender: { name: 'Offshoot', address: from } });
    await expect(mail.send({ ...message, from: 'shop@example.com, eve@example.org' })).rejects.toThrow(/one sender/);
  });

  test('keeps to the form of RFC 5322: lines end in CRLF, and headers are ASCII', async () => {
    const { mail, received } = await open();
    await mail.send(message);
    const raw = (await received()).join('');
    expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(raw.slice(0, raw.indexOf('\r\n\r\n'))).toMatch(/^[\x20-\x7e\r\n]+$/);
  });

  test('wraps long lines between words, and leaves a link as it is', async () => {
    const { mail, received } = await open();
    const link = `https://offshoot.example.org/reset-password?token=${'x'.repeat(22)}`;
    const paragraph = 'word '.repeat(60).trim();
    await mail.send({ ...message, text: `Open this page:\n\n${link}\n\n${paragraph}\n\n${'y'.repeat(200)} z` });
    const raw = (await received()).join('');
    expect(raw.split('\r\n').every((line) => line.length <= 76)).toBe(true);
    const { text = '' } = await PostalMime.parse(raw);
    expect(text.trimEnd().replaceAll(/(?<=\w)\n(?=\w)/g, ' ')).toBe(`Open this page:\n\n${link}\n\n${paragraph}\n\n${'y'.repeat(200)} z`);
    await mail.send({ ...message, text: link });
    expect((await received()).map(String).some((other) => other.includes(`\r\n${link}`))).toBe(true);
  });

  test('passes on what others wrote as it is, for whom the envelope says', async () => {
    const { mail, relayed } = await open();
    const written = Buffer.from('To: Somebody Else <else@example.org>\r\nSubject: Grüße\r\n\r\n.\r\n..dots\r\n');
    const envelope = { from: 'app@example.org', to: ['ada@example.org', '"a,b"@example.org'] };
    expect(await mail.relay(envelope, written)).toEqual({ accepted: envelope.to, deferred: [], refused: [] });
    const [raw = Buffer.alloc(0), ...others] = await relayed();
    expect(others).toEqual([]);
    expect(raw.subarray(raw.indexOf('To: Somebody'))).toEqual(written);
  });

  test.for([
    { to: 'ada@example.org\r\nBcc: eve@example.org' },
    { to: 'ada@example.org\nbcc: eve@example.org' },
    { to: 'ada@example.org, eve@example.org' },
    { to: 'ada@example.org;eve@example.org' },
    { to: 'Eve <eve@example.org>' },
    { to: '' },
    { to: `${'a'.repeat(400)}@example.org` },
    { subject: 'Hello\r\nBcc: eve@example.org' },
    { subject: 'Hello\nX: y' },
    { subject: 'Hello\u2028' },
    { subject: 'Hello\0' },
  ])('refuses %j, and sends nothing', async (changed) => {
    const { mail, received } = await open();
    await expect(mail.send({ ...message, ...changed })).rejects.toThrow(/one recipient|one line/);
    expect(await received()).toEqual([]);
  });
});

describe('the mail folder', () => {
  test('names the file in the log and never quotes it; only its owner can read it', async () => {
    const { mail, folder, logLines } = await openFolderFixture();
    await mail.send({ ...message, text: 'the secret link' });
    const [name = ''] = await readdir(folder);
    expect(logLines.join('')).toContain(name);
    expect(logLines.join('')).not.toContain('secret');
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('is what openMail gives when no server is set', async () => {
    const folder = join(await scratchFolder(), 'mail');
    await openMail({ smtpUrl: undefined, from }, folder, openLog('fatal')).send(message);
    expect(await readdir(folder)).toHaveLength(1);
  });
});

describe('SMTP', () => {
  test('answers for each recipient of what it passes on, and says so when there is no server', async () => {
    const { port } = await startSmtpServer({ offersTls: false });
    const { relay } = openSmtp(`smtp://127.0.0.1:${port}`, from);
    const written = Buffer.from('Subject: One\r\n\r\nHello\r\n');
    const refused = [{ address: 'nobody@example.org', reply: '550 No such mailbox' }];
    expect(await relay({ from, to: ['ada@example.org', 'nobody@example.org'] }, written)).toEqual({
      accepted: ['ada@example.org'],
      deferred: [],
      refused,
    });
    expect(await relay({ from, to: ['nobody@example.org'] }, written)).toEqual({ accepted: [], deferred: [], refused });
    await expect(openSmtp('smtp://127.0.0.1:1', from).relay({ from, to: ['ada@example.org'] }, written)).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  test('signs in with the name and password of the address, percent-encoded there', async () => {
    const { port, messages } = await startSmtpServer({ password: 'p@ss/word', offersTls: false });
    await openSmtp(`smtp://ada:${encodeURIComponent('p@ss/word')}@127.0.0.1:${port}`, from).send(message);
    expect(messages).toHaveLength(1);
    await expect(openSmtp(`smtp://ada:wrong@127.0.0.1:${port}`, from).send(message)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('never sends a password to another machine in the clear', async () => {
    const { port, messages } = await startSmtpServer({ password: 'secret', offersTls: false });
    /** Another way to write this machine that is not taken for it. */
    const mail = openSmtp(`smtp://ada:secret@127.0.0.2:${port}`, from);
    await expect(mail.send(message)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(messages).toEqual([]);
  });

  test('tells a refused recipient from a server that is away', async () => {
    const { port } = await startSmtpServer({ offersTls: false });
    const mail = openSmtp(`smtp://127.0.0.1:${port}`, from);
    await expect(mail.send({ ...message, to: 'nobody@example.org' })).rejects.toMatchObject({ kind: 'invalid-request' });
    await expect(openSmtp('smtp://127.0.0.1:1', from).send(message)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
