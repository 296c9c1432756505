/** From what is wrong to what receivers get, through the platform. */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Message } from '../../drivers/mail/mail.ts';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { sampleMember, sampleProject } from '../../testing/samples.ts';
import { attemptsOf } from '../deliveries/public.ts';
import { addFirstReceivers } from './add-first-receivers.ts';
import { greetReceivers } from './greet-receivers.ts';
import { noteRestarts } from './note-restarts.ts';
import {
  deliverTo,
  fillDisk,
  later,
  openReceiver,
  openWatchedHome,
  openWatchedProject,
  visit,
  type TestReceiver,
  type WatchedHome,
} from './test-watched-project.ts';
import { noticeFailures, watchHealthAt } from './watch-health.ts';

const timeout = 120_000;
const never = new AbortController().signal;

let all: WatchedHome;
beforeAll(async () => {
  all = await openWatchedHome();
});
/** Each test tells its own receivers alone. */
beforeEach(async () => {
  await all.home.platform.db.deleteFrom('integrations').execute();
  await all.home.platform.db.deleteFrom('deliveries').execute();
});

const look = async (now: Date, receiver: TestReceiver) => {
  await watchHealthAt(all.home.platform, now);
  await deliverTo(all.home, receiver);
};
const lookForFailures = async (receiver: TestReceiver) => {
  await noticeFailures.run(all.home.platform, never);
  await deliverTo(all.home, receiver);
};
const deliveriesOf = (id = '') =>
  all.home.platform.db.selectFrom('deliveries').select(['id', 'state']).where('integration_id', '=', id).execute();
const webhookTo = ({ origin }: TestReceiver) => ({ type: 'health.webhook', url: `${origin}/hook` });
const eventsOf = ({ received }: TestReceiver) => received.map(({ json }) => `${json.event} ${json.alert.severity} ${json.alert.check}`);

describe('a disk that is nearly full', () => {
  test('is told by a webhook, signed with the shared key, and so is its end', { timeout }, async () => {
    const receiver = await openReceiver();
    const { projectId } = await openWatchedProject(all, { ...webhookTo(receiver), shared_key: 'key' });
    const now = new Date();
    await fillDisk(all.home.platform, projectId, 85, now);
    await look(now, receiver);
    await look(later(now, 1), receiver);
    expect(receiver.received).toHaveLength(1);
    const [{ headers, text, json }] = receiver.received as [(typeof receiver.received)[0]];
    expect(json).toEqual({
      event: 'opened',
      alert: {
        id: expect.stringMatching(/^[0-9A-Z]{26}$/),
        check: 'disk',
        severity: 'warning',
        title: 'The disk of db is nearly full',
        text: 'db uses 8.50 GB of its disk of 10.00 GB; 1.50 GB are free.',
        subject: 'db',
        value: expect.closeTo(85),
        opened_at: expect.stringMatching(/^20/),
        ended_at: null,
      },
      project: { id: projectId, title: 'Sample' },
      environment: { id: 'main', title: expect.any(String) },
    });
    expect(headers['x-delivery-id']).toMatch(/^[0-9a-z]{26}$/);
    const [header = '', , signature] = String(headers['x-jws-signature']).split('.');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'HS256', b64: false, crit: ['b64'] });
    expect(signature).toBe(createHmac('sha256', 'key').update(`${header}.${text}`).digest('base64url'));

    await fillDisk(all.home.platform, projectId, 20, later(now, 10));
    await look(later(now, 10), receiver);
    expect(receiver.received).toHaveLength(1);
    await look(later(now, 20), receiver);
    await look(later(now, 21), receiver);
    expect(eventsOf(receiver)).toEqual(['opened warning disk', 'ended warning disk']);
    expect(receiver.received[1]?.json.alert).toMatchObject({ id: json.alert.id, ended_at: expect.stringMatching(/^20/) });
  });

  test('is an incident at PagerDuty, which its end resolves', { timeout }, async () => {
    const receiver = await openReceiver(() => ({ status: 202, body: { status: 'success' } }));
    const { projectId } = await openWatchedProject(all, { type: 'health.pagerduty', routing_key: 'the-routing-key' });
    const now = new Date();
    await fillDisk(all.home.platform, projectId, 95, now);
    await look(now, receiver);
    await look(later(now, 10), receiver);
    await look(later(now, 20), receiver);
    const [trigger, resolve, ...others] = receiver.received;
    expect(others).toEqual([]);
    expect(trigger?.path).toBe('/v2/enqueue');
    expect(trigger?.headers['content-type']).toBe('application/json');
    expect(trigger?.json).toEqual({
      routing_key: 'the-routing-key',
      event_action: 'trigger',
      dedup_key: expect.any(String),
      client: 'Offshoot',
      client_url: all.home.platform.config.url,
      payload: {
        summary: 'Critical: The disk of db is nearly full (Sample, main)',
        source: `${projectId}/main`,
        severity: 'critical',
        timestamp: expect.stringMatching(/^20\d\d-\d\d-\d\d/),
        component: 'db',
        group: projectId,
        class: 'disk',
        custom_details: {
          text: expect.stringContaining('9.50 GB'),
          value: expect.closeTo(95),
          project: 'Sample',
          environment: expect.any(String),
        },
      },
    });
    expect(resolve?.json).toEqual({ routing_key: 'the-routing-key', event_action: 'resolve', dedup_key: trigger?.json.dedup_key });
  });

  test('is written to a channel of Slack, which was greeted before', { timeout }, async () => {
    const receiver = await openReceiver();
    const { projectId } = await openWatchedProject(all, { type: 'health.slack', token: 'xoxb-token', channel: '#alerts' });
    await all.home.platform.db.updateTable('projects').set({ title: 'A <b> & c' }).where('id', '=', projectId).execute();
    await greetReceivers.run(all.home.platform, never);
    await greetReceivers.run(all.home.platform, never);
    const now = new Date();
    await fillDisk(all.home.platform, projectId, 95, now);
    await look(now, receiver);
    const [greeting, message, ...others] = receiver.received;
    expect(others).toEqual([]);
    expect(greeting?.json).toMatchObject({ channel: '#alerts', text: expect.stringContaining('A &lt;b&gt; &amp; c') });
    expect(message?.path).toBe('/api/chat.postMessage');
    expect(message?.headers).toMatchObject({ authorization: 'Bearer xoxb-token', 'content-type': 'application/json; charset=utf-8' });
    expect(message?.json).toMatchObject({
      channel: '#alerts',
      text: 'Critical: The disk of db is nearly full (A &lt;b&gt; &amp; c, main)',
      unfurl_links: false,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: expect.stringContaining('The disk of db is nearly full') } },
        { type: 'section', text: { type: 'mrkdwn', text: expect.stringContaining('9.50 GB') } },
        { type: 'context' },
      ],
    });
  });

  test(
    'is mailed to everybody whom the recipients stand for, once, and nobody waits for somebody else’s mail server',
    { timeout },
    async () => {
      const receiver = await openReceiver();
      const { owner } = all;
      const mails: Message[] = [];
      const send = async (message: Message) => {
        if (message.to === 'away@example.org') throw new Problem('unavailable', 'The mail server of the recipient is away.');
        mails.push(message);
      };
      const mail = { ...all.home.platform.mail, send };
      const home = { ...all.home, platform: { ...all.home.platform, mail } };
      const recipients = ['#admins', '#viewers', 'away@example.org', 'ops@example.org', owner.user.email];
      const {
        projectId,
        organizationId,
        ids,
        send: ask,
      } = await openWatchedProject(all, {
        type: 'health.email',
        recipients,
        from_address: 'shop@example.com',
      });
      const viewer = await sampleMember(owner, organizationId);
      const stranger = await sampleMember(owner, organizationId);
      await ask('POST', '/user-access', [{ user_id: viewer, permissions: ['viewer'] }]);
      const now = new Date();
      await fillDisk(home.platform, projectId, 95, now);
      await watchHealthAt(home.platform, now);
      await deliverTo(home, receiver);
      const { rows } = await sql<{ id: string; email: string }>`select id, email from users where id = any(${[viewer, stranger]})`.execute(
        home.platform.db,
      );
      const emailOf = (id: string) => rows.find((row) => row.id === id)?.email ?? '';
      expect(mails.map(({ to }) => to).toSorted()).toEqual([owner.user.email, emailOf(viewer), 'ops@example.org'].toSorted());
      expect(mails[0]).toMatchObject({
        from: 'shop@example.com',
        subject: 'Critical: The disk of db is nearly full (Sample, main)',
        text: expect.stringContaining('9.50 GB'),
      });
      expect((await deliveriesOf(ids[0])).map(({ state }) => state).toSorted()).toEqual(['delivered', 'delivered', 'delivered', 'waiting']);
    },
  );

  test('is told to an integration that comes later, and nobody is told twice', { timeout }, async () => {
    const [first, second] = [await openReceiver(), await openReceiver()];
    const { projectId, add } = await openWatchedProject(all, webhookTo(first));
    const now = new Date();
    await fillDisk(all.home.platform, projectId, 85, now);
    await look(now, first);
    await add(webhookTo(second));
    await fillDisk(all.home.platform, projectId, 99, later(now, 5));
    await look(later(now, 5), first);
    expect([eventsOf(first), eventsOf(second)]).toEqual([['opened warning disk', 'worsened critical disk'], ['opened critical disk']]);
  });
});

test('a new project has its admins told by mail, until somebody deletes that', { timeout }, async () => {
  const { projectId } = await sampleProject(all.owner);
  const path = `/projects/${projectId}/integrations`;
  const integrations = async () => (await all.owner.send('GET', path)).json as { id: string }[];
  await addFirstReceivers.run(all.home.platform, never);
  await addFirstReceivers.run(all.home.platform, never);
  const added = await integrations();
  expect(added).toMatchObject([{ type: 'health.email', recipients: ['#admins'], from_address: null }]);
  await all.owner.send('DELETE', `${path}/${added[0]?.id}`);
  await addFirstReceivers.run(all.home.platform, never);
  expect(await integrations()).toEqual([]);
});

test('a failing deployment reaches mail and webhook with its end, and the next one that succeeds is told once', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId, act } = await openWatchedProject(all, webhookTo(receiver), { type: 'health.email', recipients: ['#admins'] });
  all.machine.failNextStart();
  await act('redeploy');
  await lookForFailures(receiver);
  await lookForFailures(receiver);
  expect(eventsOf(receiver)).toEqual(['opened warning deployment']);
  expect(receiver.received[0]?.json.alert.text).toContain('A test keeps this from starting.');
  const mails = async () =>
    (await all.home.mail(all.owner.user.email)).filter(({ text }) => text.includes(projectId)).map(({ subject }) => subject);
  expect(await mails()).toEqual(['Warning: A deployment failed (Sample, main)']);
  all.machine.startWell();
  await act('redeploy');
  await lookForFailures(receiver);
  await lookForFailures(receiver);
  expect(eventsOf(receiver)).toEqual(['opened warning deployment', 'ended warning deployment']);
  expect(await mails()).toEqual(['Warning: A deployment failed (Sample, main)', 'Resolved: A deployment failed (Sample, main)']);
});

test('a look follows at once from a deployment that failed, a new integration and a new project', { timeout }, async () => {
  const names: (string | undefined)[] = [];
  const stop = all.home.platform.notices.on('reconcile', (name) => void names.push(name));
  const { act } = await openWatchedProject(all, webhookTo(await openReceiver()));
  await expect.poll(() => names).toEqual(expect.arrayContaining([greetReceivers.name, addFirstReceivers.name]));
  names.length = 0;
  all.machine.failNextStart();
  await act('redeploy');
  await expect.poll(() => names).toContain(noticeFailures.name);
  stop();
  all.machine.startWell();
});

test('a backup that failed is told, and so is the next one', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId } = await openWatchedProject(all, webhookTo(receiver));
  const endBackup = (result: 'success' | 'failure') =>
    sql`
    insert into activities (id, project_id, type, queue, environments, state, result, failure)
    values (${shortId()}, ${projectId}, 'environment.backup', 'backup', '{main}', 'complete', ${result}, '{"sentence": "E: The store is full."}')`.execute(
      all.home.platform.db,
    );
  await endBackup('failure');
  await lookForFailures(receiver);
  expect(receiver.received[0]?.json.alert).toMatchObject({ check: 'backup', text: 'The last backup failed. The store is full.' });
  await endBackup('success');
  await lookForFailures(receiver);
  expect(eventsOf(receiver)).toEqual(['opened warning backup', 'ended warning backup']);
});

test('a site that answers with errors now and then is one alert, which ends once it was well for a while', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId } = await openWatchedProject(all, webhookTo(receiver));
  const start = new Date();
  const bad = [...Array.from({ length: 20 }, () => 502), 200];
  for (const minute of [0, 12, 24]) {
    await visit(all.home.platform, projectId, bad, later(start, minute));
    await look(later(start, minute), receiver);
    await look(later(start, minute + 6), receiver);
  }
  expect(eventsOf(receiver)).toEqual(['opened critical errors']);
  await look(later(start, 40), receiver);
  await look(later(start, 41), receiver);
  expect(eventsOf(receiver)).toEqual(['opened critical errors', 'ended critical errors']);
});

test('an app that does not keep running is told, and so is one that ran out of memory', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId } = await openWatchedProject(all, webhookTo(receiver));
  await noteRestarts.run(all.home.platform, never);
  const { rows } = await sql<{ stack_id: string }>`select stack_id from environments where project_id = ${projectId}`.execute(
    all.home.platform.db,
  );
  const states = await all.machine.runtime.list();
  const app = states.find(({ name, network }) => network === rows[0]?.stack_id && name.includes('-app-'));
  Object.assign(app ?? {}, { restarts: 4, exit: { code: 137, outOfMemory: true, at: new Date() } });
  await noteRestarts.run(all.home.platform, never);
  await noteRestarts.run(all.home.platform, never);
  await look(new Date(), receiver);
  expect(receiver.received.map(({ json }) => json.alert.text)).toEqual([
    expect.stringContaining('app were killed once'),
    expect.stringContaining('app ended and was started again 4 times'),
  ]);
});

test('a certificate that ends soon, one that is not renewed and one that is refused are told', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId } = await openWatchedProject(all, webhookTo(receiver));
  const { db } = all.home.platform;
  const [given, renewed, refused] = ['given', 'renewed', 'refused'].map((word) => `${word}.${projectId}.example`);
  await sql`insert into hosts (host, project_id, environment_id) select unnest(${[given, renewed, refused]}::text[]), ${projectId}, 'main'`.execute(
    db,
  );
  const keep = (name: string | undefined, issuedBy: string | null, days: number, renewDays: number | null) =>
    sql`
    insert into certificates (id, project_id, certificate, key_sealed, names, serves, expires_at, issued_by, renew_at)
    values (${shortId()}, ${projectId}, '', '', ${[name]}::text[], ${[name]}::text[], now() + make_interval(days => ${days}), ${issuedBy},
      now() + make_interval(days => ${renewDays}::integer))`.execute(db);
  await keep(given, null, 10, null);
  await keep(renewed, 'https://authority.example/', 10, -20);
  await sql`insert into issuances (certificate_id, project_id, names, issued_by, refusals, trouble)
    values (${shortId()}, ${projectId}, ${[refused]}::text[], 'https://authority.example/', 7, 'It has no address.')`.execute(db);
  await look(new Date(), receiver);
  expect(receiver.received.map(({ json: { alert } }) => [alert.check, alert.severity, alert.subject])).toEqual([
    ['certificate_end', 'warning', given],
    ['certificate_refusal', 'critical', refused],
    ['certificate_renewal', 'warning', renewed],
  ]);
  expect(receiver.received[1]?.json.alert.text).toContain('It has no address.');
});

test('an environment that is paused ends its alerts, and opens none', { timeout }, async () => {
  const receiver = await openReceiver();
  const { projectId, act } = await openWatchedProject(all, webhookTo(receiver));
  const now = new Date();
  await fillDisk(all.home.platform, projectId, 99, now);
  await look(now, receiver);
  await act('pause');
  await look(later(now, 1), receiver);
  await look(later(now, 2), receiver);
  expect(eventsOf(receiver)).toEqual(['opened critical disk', 'ended critical disk']);
  expect(receiver.received[1]?.json.alert.text).toContain('not watched any more');
});

test('what Slack refuses is not sent again, and what it puts off is', { timeout }, async () => {
  const receiver = await openReceiver((nth) => ({ body: { ok: false, error: nth === 1 ? 'ratelimited' : 'channel_not_found' } }));
  const { projectId, ids } = await openWatchedProject(all, { type: 'health.slack', token: 'xoxb-token', channel: '#none' });
  const { db } = all.home.platform;
  const now = new Date();
  await fillDisk(all.home.platform, projectId, 95, now);
  await look(now, receiver);
  await sql`update delivery_lanes set due_at = now()`.execute(db);
  await deliverTo(all.home, receiver);
  await sql`update delivery_lanes set due_at = now()`.execute(db);
  await deliverTo(all.home, receiver);
  const [delivery] = await deliveriesOf(ids[0]);
  expect(delivery?.state).toBe('failed');
  expect((await attemptsOf(db, delivery?.id ?? '')).map(({ outcome, trouble }) => [outcome, trouble])).toEqual([
    ['failed', 'Slack answered with the error ratelimited.'],
    ['refused', 'Slack answered with the error channel_not_found.'],
  ]);
});
