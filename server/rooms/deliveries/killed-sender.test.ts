/** Whoever sends is killed again and again; everything arrives all the same, in order. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSecrets } from '../../kernel/secrets.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { recordDelivery } from './public.ts';
import { deliveries } from './room.ts';
import { testPost } from './test-sender.ts';

const keys = ['a', 'b', 'c'];
const eachNumber = 30;
const kills = 3;

test('nothing that was recorded is lost when the process that sends is killed, and the order stays', async () => {
  const { platform, databaseUrl } = await openTestPlatform([deliveries]);
  const [key, arrived] = [randomBytes(32), [] as { id: string; text: string }[]];
  const secrets = openSecrets([key]);
  // Answers slowly enough for a kill to find something under way.
  const receiver = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      arrived.push({ id: String(request.headers['x-delivery']), text: Buffer.concat(chunks as Buffer[]).toString() });
      setTimeout(() => reply.end(), 10);
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  for (let number = 0; number < eachNumber; number += 1)
    for (const orderKey of keys)
      await recordDelivery(platform.db, secrets, testPost, { payload: { url, text: `${orderKey} ${number}` }, orderKey, party: orderKey });

  const start = () =>
    spawn(process.execPath, [join(import.meta.dirname, 'test-sender.ts'), JSON.stringify({ databaseUrl, key: key.toString('hex') })]);
  let sender = start();
  onTestFinished(() => void sender.kill('SIGKILL'));
  for (let kill = 1; kill <= kills; kill += 1) {
    await expect.poll(() => arrived.length, { timeout: 60_000 }).toBeGreaterThan(kill * 15);
    sender.kill('SIGKILL');
    sender = start();
  }
  const waiting = () => platform.db.selectFrom('deliveries').select('id').where('state', '=', 'waiting').execute();
  await expect.poll(waiting, { timeout: 60_000 }).toEqual([]);

  const first = [...new Map(arrived.map(({ id, text }) => [id, text])).values()];
  const expected = Array.from({ length: eachNumber }, (_, number) => number);
  for (const orderKey of keys)
    expect(first.filter((text) => text.startsWith(`${orderKey} `))).toEqual(expected.map((number) => `${orderKey} ${number}`));
});
