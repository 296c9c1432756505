/** The relay is killed again and again while apps send; whatever it said it had taken arrives. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';
import { openSmtp } from '../../drivers/mail/mail.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { deliverDue } from '../deliveries/work.ts';
import { relay } from './room.ts';
import type { Asked } from './test-relay.ts';
import { openSink } from './test-sink.ts';

const kills = 2;
const takenBetweenKills = 10;
const sendersAtOnce = 4;

test('what was taken arrives, however often the relay is killed', { timeout: 120_000 }, async () => {
  const { platform, databaseUrl, person } = await openTestPlatform();
  const key = randomBytes(32);
  platform.secrets = openSecrets([key]);
  const { projectId } = await sampleProject(await person());
  const stack = await deploySample(platform, { projectId, environmentId: 'main' });
  const sink = await openSink();
  platform.mail = openSmtp(sink.url, 'platform@example.org');
  const asked: Asked = { databaseUrl, key: key.toString('hex'), stackId: stack.id };

  const start = async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'test-relay.ts'), JSON.stringify(asked)]);
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, port: Number(port.toString()) };
  };
  const taken: string[] = [];
  /** Sends until the relay is gone. */
  const sendOn = async (port: number, child: ChildProcess, sender: string) => {
    const transport = createTransport({ host: '127.0.0.1', port });
    for (let number = 0; child.exitCode === null && child.signalCode === null; number += 1) {
      const subject = `${sender} ${number}`;
      await transport
        .sendMail({ envelope: { from: 'shop@example.org', to: ['ada@example.org'] }, raw: `Subject: ${subject}\r\n\r\nHello\r\n` })
        .then(
          () => taken.push(subject),
          () => {},
        );
    }
  };
  for (let kill = 1; kill <= kills; kill += 1) {
    const { child, port } = await start();
    onTestFinished(() => void child.kill('SIGKILL'));
    const before = taken.length;
    const sending = Array.from({ length: sendersAtOnce }, (_, nth) => sendOn(port, child, `${kill}.${nth}`));
    await expect.poll(() => taken.length - before, { timeout: 30_000, interval: 5 }).toBeGreaterThan(takenBetweenKills);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await Promise.all(sending);
  }
  await deliverDue(relay.deliveries ?? [], platform);
  const arrived = new Set(sink.arrived.map(({ message }) => /^Subject: (.*)$/m.exec(message.toString())?.[1]));
  expect(taken.filter((subject) => !arrived.has(subject))).toEqual([]);
  expect(taken.length).toBeGreaterThan(kills * takenBetweenKills);
});
