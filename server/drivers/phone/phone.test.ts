import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openLog } from '../../kernel/log.ts';
import { openPhone, openPhoneWebhook, type PhoneMessage } from './phone.ts';

const message: PhoneMessage = { channel: 'sms', to: '+31612345678', text: 'Your code is 123456.' };

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-phone-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const logLines: string[] = [];
  const sender = openPhone(undefined, folder, openLog('info', { write: (line) => void logLines.push(line) }));
  const received = async () => Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
  return { sender, received, logLines };
}

async function openWebhook(status = 200) {
  const bodies: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, reply) => {
    authorizations.push(request.headers.authorization);
    void request.toArray().then((chunks) => {
      bodies.push(Buffer.concat(chunks as Buffer[]).toString());
      reply.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('thanks');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return {
    sender: openPhoneWebhook(`http://ada:p%40ss@127.0.0.1:${port}/sms?from=us`),
    received: () => Promise.resolve(bodies),
    authorizations,
  };
}

describe.for([
  ['folder', openFolder],
  ['webhook', openWebhook],
] as const)('a message through %s', ([, open]) => {
  test('arrives with its channel, number and text', async () => {
    const { sender, received } = await open();
    await sender.send(message);
    const [text = '', ...others] = await received();
    expect(others).toEqual([]);
    for (const part of Object.values(message)) expect(text).toContain(part);
  });
});

test('the folder names the file in the log and never quotes it', async () => {
  const { sender, logLines } = await openFolder();
  await sender.send(message);
  expect(logLines.join('')).toMatch(/[0-9A-Z]{26}\.txt/);
  expect(logLines.join('')).not.toContain('123456');
});

test('the webhook is sent JSON, with the credentials of its address', async () => {
  const { sender, received, authorizations } = await openWebhook();
  await sender.send(message);
  expect((await received()).map((body) => JSON.parse(body) as unknown)).toEqual([message]);
  expect(authorizations).toEqual([`Basic ${btoa('ada:p@ss')}`]);
});

test.for([302, 400, 500])('a webhook that answers %i has not accepted the message', async (status) => {
  const { sender } = await openWebhook(status);
  await expect(sender.send(message)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a webhook that is away makes sending unavailable', async () => {
  await expect(openPhoneWebhook('http://127.0.0.1:1/').send(message)).rejects.toMatchObject({ kind: 'unavailable' });
});
