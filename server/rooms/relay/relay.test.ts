/** The relay as apps meet it, over real SMTP; who connects is told by the address, as with containers, of which each environment has one here. */
import { sql } from 'kysely';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openSmtp } from '../../drivers/mail/mail.ts';
import { logsFolder } from '../../machine.ts';
import { relayLimitsUsual, type RelayLimits } from '../../setting-values.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { deliverDue } from '../deliveries/work.ts';
import type { Stack } from '../deployments/public.ts';
import { machineName } from '../environments/public.ts';
import { relayFamilies } from './instruments.ts';
import { relayBounds, type RelayBounds } from './limits.ts';
import { relay } from './room.ts';
import { openSenders } from './senders.ts';
import { openMailIntake } from './serve-relay.ts';
import { openSmtpEndpoint } from './smtp-endpoint.ts';
import { tellOwners } from './tell-owners.ts';
import { openSink, type Sink } from './test-sink.ts';

const production = '127.0.0.2';
const preview = '127.0.0.3';
const stranger = '127.0.0.4';
const appName = 'shop';

let home: TestPlatform;
let projectId: string;
let sink: Sink;
const stacks = new Map<string, Stack>();

const settings = (enable_smtp: boolean) => ({
  settings: { http_access: { is_enabled: true, addresses: [], basic_auth: {} }, enable_smtp, restrict_robots: true },
});

beforeAll(async () => {
  home = await openTestPlatform();
  ({ projectId } = await sampleProject(await home.person()));
  const { platform } = home;
  await platform.db
    .insertInto('environments')
    .values({
      project_id: projectId,
      id: 'new',
      machine_name: machineName('new', projectId),
      title: 'new',
      type: 'development',
      parent: 'main',
    })
    .execute();
  stacks.set(production, await deploySample(platform, { projectId, environmentId: 'main' }, settings(true)));
  stacks.set(preview, await deploySample(platform, { projectId, environmentId: 'new' }, settings(false)));
  for (const { environment } of stacks.values())
    await mkdir(join(logsFolder(platform.config), `${projectId}-${environment.machine_name}`, appName), { recursive: true });
});
beforeEach(async () => {
  sink = await openSink();
  home.platform.mail = openSmtp(sink.url, 'platform@example.org');
  for (const table of ['app_mails', 'app_mail_notes', 'app_mail_hours', 'deliveries', 'delivery_lanes'] as const)
    await home.platform.db.deleteFrom(table).execute();
});

/** How often somebody was looked for, and how long that takes. */
let lookUps = 0;
let lookingUp: Promise<void> = Promise.resolve();

const containerAt = async (address: string) => {
  lookUps += 1;
  await lookingUp;
  const stack = stacks.get(address);
  return stack && { name: `${stack.id}-app-${appName}-1-0`, network: stack.id };
};

interface Options {
  limits?: Partial<RelayLimits>;
  bounds?: Partial<RelayBounds>;
}

async function openRelay({ limits, bounds }: Options = {}) {
  const { platform } = home;
  platform.config.relay.limits = { ...relayLimitsUsual, ...limits };
  const intake = openMailIntake(platform, openSenders(platform.db, { containerAt }));
  const endpoint = openSmtpEndpoint(
    { intake, limits: platform.config.relay.limits, name: 'relay', log: platform.log, isFromContainers: () => true },
    { ...relayBounds, ...bounds },
  );
  onTestFinished(() => endpoint.close());
  await once(endpoint.server.listen(0, '127.0.0.1'), 'listening');
  const { port } = endpoint.server.address() as AddressInfo;
  const sent = (raw: string, to: readonly string[] = ['ada@example.org'], from = 'shop@example.org', localAddress = production) =>
    createTransport({ host: '127.0.0.1', port, localAddress }).sendMail({ envelope: { from, to: [...to] }, raw });
  return { port, sent };
}

const deliver = () => deliverDue(relay.deliveries ?? [], home.platform);
const pauseIsOver = () => sql`update delivery_lanes set due_at = now()`.execute(home.platform.db);
const waiting = () => home.platform.db.selectFrom('app_mails').selectAll().execute();
const logOf = async (address: string) => {
  await tellOwners.run(home.platform, new AbortController().signal);
  await tellOwners.run(home.platform, new AbortController().signal);
  const folder = `${projectId}-${stacks.get(address)?.environment.machine_name}`;
  return readFile(join(logsFolder(home.platform.config), folder, appName, 'mail.log'), 'utf8').catch(() => '');
};
const subject = (text: string) => `From: someone@else.example\r\nSubject: ${text}\r\n\r\nHello\r\n`;
const subjects = () => sink.arrived.map(({ message }) => /^Subject: (.*)$/m.exec(message.toString())?.[1]);

describe('a message', () => {
  test('arrives as it was written, from and for whom the envelope says; until then it is in the database, where nobody reads it', async () => {
    const { sent } = await openRelay();
    const raw = 'From: someone@else.example\r\nSubject: Grüße\r\n\r\n.dot\r\n..\r\n8 bits: ä\r\n';
    const { response } = await sent(raw, ['ada@example.org', 'bob@example.org']);
    expect(response).toMatch(/^250 Taken as [0-9A-Z]{26}$/);
    expect(sink.arrived).toEqual([]);
    expect(JSON.stringify(await waiting())).not.toMatch(/ada@|Subject|8 bits/);
    await deliver();
    expect(sink.arrived).toMatchObject([{ from: 'shop@example.org', to: ['ada@example.org', 'bob@example.org'] }]);
    const [received, ...rest] = sink.arrived[0]?.message.toString().split(/\r\n(?=From)/) ?? [];
    expect(received).toMatch(
      /^Received: by offshoot.localhost with ESMTP id [0-9A-Z]{26};\r\n \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/,
    );
    expect(rest.join('')).toBe(raw);
    expect(await waiting()).toEqual([]);
    expect(await logOf(production)).toMatch(
      /^\[.*\] [0-9A-Z]{26} from <shop@example.org> sent to <ada@example.org>, <bob@example.org>\n$/m,
    );
    expect(home.logLines.join('')).not.toMatch(/ada@example.org|Grüße/);
  });

  test('can be without a sender, and in addresses of any script', async () => {
    const { sent } = await openRelay();
    await sent(subject('one'), ['ändi@bücher.example'], '');
    await deliver();
    expect(sink.arrived).toMatchObject([{ from: '', to: ['ändi@bücher.example'] }]);
  });

  test('is sent in the order of its environment, once the mail server is back', async () => {
    const { sent } = await openRelay();
    const { port } = new URL(sink.url);
    await sink.close();
    for (const number of [1, 2, 3]) await sent(subject(`number ${number}`));
    await deliver();
    expect(await waiting()).toHaveLength(3);
    sink = await openSink(Number(port));
    await expect
      .poll(async () => (await pauseIsOver(), await deliver(), subjects()), { timeout: 15_000 })
      .toEqual(['number 1', 'number 2', 'number 3']);
  });
});

describe('recipients', () => {
  test('each get what the mail server says of them: who has it does not get it again, and nobody waits for who was put off', async () => {
    const { sent } = await openRelay();
    sink.answers.set('gone@example.org', 550).set('later@example.org', 451);
    await sent(subject('first'), ['ada@example.org', 'gone@example.org', 'later@example.org']);
    await sent(subject('second'));
    await deliver();
    expect(sink.arrived.map(({ to }) => to)).toEqual([['ada@example.org'], ['ada@example.org']]);
    expect(subjects()).toEqual(['first', 'second']);
    sink.answers.delete('later@example.org');
    await pauseIsOver();
    await deliver();
    expect(sink.arrived.at(-1)).toMatchObject({ from: 'shop@example.org', to: ['later@example.org'] });
    expect(subjects()).toEqual(['first', 'second', 'first']);
    expect(await waiting()).toEqual([]);
    const log = await logOf(production);
    expect(log).toMatch(/refused for <gone@example.org>: 550 as the test wants it/);
    expect(log).toMatch(/put off for <later@example.org>, and tried again for a day: 451 /);
    expect(log).toMatch(/sent to <later@example.org>/);
  });

  test('are given up after a day, which their owner is told', async () => {
    const { sent } = await openRelay();
    sink.answers.set('never@example.org', 451);
    await sent(subject('first'), ['never@example.org']);
    await deliver();
    await sql`update deliveries set created_at = now() - interval '25 hours'`.execute(home.platform.db);
    await pauseIsOver();
    await deliver();
    expect(await logOf(production)).toMatch(/given up for <never@example.org>: the mail server did not take it for a day/);
    expect(await waiting()).toEqual([]);
  });

  test('can all be refused at once', async () => {
    const { sent } = await openRelay();
    sink.answers.set('gone@example.org', 550);
    await sent(subject('first'), ['gone@example.org']);
    await deliver();
    const states = await home.platform.db.selectFrom('deliveries').select(['state', 'payload_sealed']).execute();
    expect(states).toEqual([{ state: 'failed', payload_sealed: null }]);
    expect(await waiting()).toEqual([]);
  });
});

describe('refused with a sentence is', () => {
  test('a preview, until mail is turned on and deployed there', async () => {
    const { sent } = await openRelay();
    const tries = () => sent(subject('preview'), undefined, undefined, preview);
    await expect(tries()).rejects.toMatchObject({
      response: '550 Outgoing mail is off in this environment; its owner can turn it on (enable_smtp).',
    });
    const stack = stacks.get(preview);
    await sql`update deployments set settings = settings || '{"enable_smtp": true}' where stack_id = ${stack?.id}`.execute(
      home.platform.db,
    );
    onTestFinished(async () => {
      await sql`update deployments set settings = settings || '{"enable_smtp": false}' where stack_id = ${stack?.id}`.execute(
        home.platform.db,
      );
    });
    expect((await tries()).response).toMatch(/^250/);
    expect(await waiting()).toMatchObject([{ environment_id: 'new' }]);
  });

  test('a container of no environment, such as that of a build', async () => {
    const { sent } = await openRelay();
    await expect(sent(subject('one'), undefined, undefined, stranger)).rejects.toMatchObject({
      response: expect.stringMatching(/^554 Mail is taken/),
    });
  });

  test('what is too large, to too many, or goes in circles', async () => {
    const { sent } = await openRelay({ limits: { recipients: 2, megabytes: 1 } });
    const large = subject('large') + 'x'.repeat(1024).concat('\r\n').repeat(1100);
    await expect(sent(large)).rejects.toMatchObject({ response: '552 A message has 1 MB at most.' });
    const all = ['a@example.org', 'b@example.org', 'c@example.org'];
    const { accepted, rejectedErrors } = (await sent(subject('many'), all)) as {
      accepted: string[];
      rejectedErrors?: { response: string }[];
    };
    expect(accepted).toEqual(all.slice(0, 2));
    expect(rejectedErrors).toMatchObject([{ response: expect.stringMatching(/^452 A message has 2 recipients at most/) }]);
    await expect(sent('Received: by somebody\r\n'.repeat(51) + subject('circle'))).rejects.toMatchObject({ responseCode: 554 });
    expect((await sent(subject('fits'))).response).toMatch(/^250/);
  });

  test('what is more than an environment may send in an hour or a day; others go on', async () => {
    const { sent } = await openRelay({ limits: { hour: 3, day: 4 } });
    await sent(subject('two'), ['a@example.org', 'b@example.org']);
    await expect(sent(subject('two more'), ['a@example.org', 'b@example.org'])).rejects.toMatchObject({
      response: expect.stringMatching(/^451 An environment may send to 3 recipients in an hour; the next hour begins at \d\d:00 UTC.$/),
    });
    await sent(subject('the third'));
    await expect(sent(subject('the fourth'))).rejects.toMatchObject({ responseCode: 451, command: 'MAIL FROM' });
    await sql`update app_mail_hours set hour = hour - interval '2 hours'`.execute(home.platform.db);
    await sent(subject('later'));
    await expect(sent(subject('the day'))).rejects.toMatchObject({
      response: expect.stringMatching(/^451 .* 4 recipients within 24 hours/),
    });
    await sql`update app_mail_hours set hour = hour - interval '25 hours'`.execute(home.platform.db);
    expect((await sent(subject('next day'))).response).toMatch(/^250/);
  });

  test('the same messages sent side by side cannot be more than is allowed', async () => {
    const { sent } = await openRelay({ limits: { hour: 5 } });
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => sent(subject('many'))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(await waiting()).toHaveLength(5);
  });

  test('what there is no room for: too many connections, and too much in memory', async () => {
    const { port, sent } = await openRelay({ bounds: { connectionsOfEnvironment: 2, bytesOfOrganization: 1000 } });
    await expect(sent(subject('large') + 'x'.repeat(2000))).rejects.toMatchObject({
      response: expect.stringMatching(/^452 Too many large messages/),
    });
    expect((await sent(subject('small'))).response).toMatch(/^250/);
    const open = async () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress: production }).setEncoding('utf8');
      onTestFinished(() => void socket.destroy());
      const [greeting] = (await once(socket, 'data')) as [string];
      return greeting.slice(0, 3);
    };
    expect([await open(), await open(), await open()]).toEqual(['220', '220', '421']);
  });

  test('nobody for the connections of those who have left, also before they were known', async () => {
    const { port } = await openRelay({ bounds: { connectionsOfEnvironment: 2 } });
    const connected = () => connect({ host: '127.0.0.1', port, localAddress: production });
    const { promise, resolve } = Promise.withResolvers<void>();
    [lookUps, lookingUp] = [0, promise];
    const early = [connected(), connected()];
    await expect.poll(() => lookUps).toBe(2);
    for (const socket of early) await once(socket.destroy(), 'close');
    resolve();
    const greeted = async () => {
      const socket = connected().setEncoding('utf8');
      const [greeting] = (await once(socket, 'data')) as [string];
      socket.destroy();
      return greeting.slice(0, 3);
    };
    await expect.poll(async () => [await greeted(), await greeted()]).toEqual(['220', '220']);
  });

  test('a message that breaks off, which nobody gets', async () => {
    const { port, sent } = await openRelay();
    const socket = connect({ host: '127.0.0.1', port, localAddress: production }).setEncoding('utf8');
    let heard = '';
    socket.on('data', (text: string) => (heard += text));
    for (const [expected, line] of [
      ['220 ', 'EHLO app'],
      ['250 SIZE', 'MAIL FROM:<shop@example.org>'],
      ['250 Accepted', 'RCPT TO:<ada@example.org>'],
      ['Accepted\r\n250 Accepted', 'DATA'],
      ['354', 'Subject: half\r\n\r\nHel'],
    ]) {
      await expect.poll(() => heard).toContain(expected);
      socket.write(`${line}\r\n`);
    }
    socket.destroy();
    await sent(subject('whole'));
    await deliver();
    expect(subjects()).toEqual(['whole']);
    expect(home.logLines.join('')).not.toContain('could not be taken');
  });

  test('what would wait with too much else', async () => {
    const { sent } = await openRelay();
    await sent(subject('first'));
    await home.platform.db
      .updateTable('app_mails')
      .set({ bytes: relayBounds.waitingOfOrganization + 1 })
      .execute();
    await expect(sent(subject('second'))).rejects.toMatchObject({
      response: expect.stringMatching(/^452 Too much mail of this organization/),
    });
    await deliver();
    expect((await sent(subject('third'))).response).toMatch(/^250/);
  });
});

test('whoever comes from elsewhere finds a closed door', async () => {
  const { platform } = home;
  const intake = openMailIntake(platform, openSenders(platform.db, { containerAt }));
  const endpoint = openSmtpEndpoint({ intake, limits: relayLimitsUsual, name: 'relay', log: platform.log });
  onTestFinished(() => endpoint.close());
  await once(endpoint.server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect({ host: '127.0.0.1', port: (endpoint.server.address() as AddressInfo).port });
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  await once(
    socket.on('error', () => {}),
    'close',
  );
  expect(heard).toBe('');
});

test('operators see what was taken and refused, and what waits', async () => {
  const { sent } = await openRelay();
  await sent(subject('one'), ['a@example.org', 'b@example.org']);
  const families = new Map((await relayFamilies(home.platform)).map(({ name, samples }) => [name, samples]));
  expect(families.get('offshoot_relay_messages_total')?.[0]?.value).toBeGreaterThan(0);
  expect(families.get('offshoot_relay_refusals_total')).toContainEqual({ labels: { why: 'off' }, value: expect.any(Number) });
  expect(families.get('offshoot_relay_waiting')).toEqual([
    { labels: { state: 'in order' }, value: 1 },
    { labels: { state: 'deferred' }, value: 0 },
  ]);
});
