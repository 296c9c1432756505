/** Logs of environments on their way to integrations that were made over the API: real log files, the real process that forwards, receivers on this machine. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { serverCertificate } from '../../../drivers/certificates/test-pebble.ts';
import { messagesIn, openTestReceiver, respondWith } from '../../../drivers/log-sinks/test-receiver.ts';
import { canBringRsyslog, openTestRsyslog, whyNoRsyslog } from '../../../drivers/log-sinks/test-rsyslog.ts';
import { appendLog } from '../../../drivers/logs/append-log.ts';
import { ensureLogs, logFile, logsOf, type LogName } from '../../../drivers/logs/log-folders.ts';
import { startReconcilers } from '../../../kernel/reconciler.ts';
import { openSecrets } from '../../../kernel/secrets.ts';
import { logsFolder } from '../../../machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleLog } from '../../../testing/samples.ts';
import { machineName } from '../../environments/public.ts';
import { countForwardedLogs } from './count-forwarded-logs.ts';
import { forwarderPid, forwardLogs } from './forward-logs.ts';
import type { Asked } from './test-forwarding-platform.ts';

const key = randomBytes(32);
let home: TestPlatform;
let owner: Person;
let receiver: Awaited<ReturnType<typeof openTestReceiver>>;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8' });
  home.platform.secrets = openSecrets([key]);
  owner = await home.person();
});
beforeEach(async () => {
  receiver = await openTestReceiver();
});
afterEach(() => receiver.close());

const taken = (by = receiver) => messagesIn(by.taken);
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, nth) => `line ${from + nth}`);

/** A project with an environment that has written a line. */
async function openProject() {
  const { projectId, environmentId } = await sampleLog(owner);
  const integrations = `/projects/${projectId}/integrations`;
  const logsOfEnvironment = (id: string) => logsOf(logsFolder(home.platform.config), `${projectId}-${machineName(id, projectId)}`);
  const logs = logsOfEnvironment(environmentId);
  return {
    projectId,
    environmentId,
    integrations,
    logsOfEnvironment,
    write: (lines: readonly string[], { app = 'app', log = 'app' }: { app?: string; log?: LogName } = {}) =>
      appendLog(logFile(logs, app, log), lines.map((line) => `${line}\n`).join('')),
    ensureApp: (app: string) => ensureLogs(logs, [app]),
    add: async (body: object): Promise<string> => {
      const { status, json } = await owner.send('POST', integrations, body);
      expect(status).toBe(201);
      return json._embedded.entity.id;
    },
  };
}

const positionsFolder = () => join(home.platform.config.data, 'log-forwarding');
/** Whether how far an integration has come is written down, which it is once its logs are followed. */
const isForwarded = (id: string, environmentId: string, projectId: string) => () =>
  existsSync(join(positionsFolder(), `${id}-${projectId}-${machineName(environmentId, projectId)}`));

describe('on a platform that runs', () => {
  let reconcilers: ReturnType<typeof startReconcilers>;
  beforeAll(() => {
    reconcilers = startReconcilers([forwardLogs], home.platform);
  });
  afterAll(() => reconcilers.close());

  test('lines come from the moment at which there is an integration, with what it says of them, until it is deleted', async () => {
    const { projectId, environmentId, integrations, write, ensureApp, add } = await openProject();
    const id = await add({
      type: 'httplog',
      url: `${receiver.url}/in`,
      headers: { 'x-key': 'one' },
      extra: { team: 'blue' },
      excluded_services: ['quiet'],
      redaction: true,
    });
    await ensureApp('quiet');
    await expect.poll(isForwarded(id, environmentId, projectId)).toBe(true);
    await write(['private'], { app: 'quiet' });
    await write(['200 GET /'], { log: 'access' });
    await write(['ada@example.org came']);
    await expect.poll(() => taken().toSorted()).toEqual(['200 GET /', '[e-mail] came']);
    const [first] = receiver.taken;
    expect(first).toMatchObject({ path: '/in', headers: { 'x-key': 'one' } });
    expect(JSON.parse(first?.body.toString() ?? '')[0]).toMatchObject({
      team: 'blue',
      project: projectId,
      environment: environmentId,
      service: 'app',
    });

    const other = await openTestReceiver();
    onTestFinished(() => other.close());
    await owner.send('PATCH', `${integrations}/${id}`, { type: 'httplog', url: other.url });
    await write(['after the change']);
    await expect.poll(() => taken(other)).toContain('after the change');

    await owner.send('DELETE', `${integrations}/${id}`);
    await expect.poll(isForwarded(id, environmentId, projectId)).toBe(false);
    await write(['nobody hears this']);
    await expect.poll(() => forwarderPid(home.platform)).toBeUndefined();
    expect([...taken(), ...taken(other)]).not.toContain('nobody hears this');
  });

  test('an environment that comes later is heard from its first line on', async () => {
    const { projectId, integrations, logsOfEnvironment, add } = await openProject();
    const id = await add({ type: 'httplog', url: receiver.url });
    const environment = {
      project_id: projectId,
      id: 'later',
      machine_name: machineName('later', projectId),
      title: 'Later',
      type: 'development',
    };
    await home.platform.db.insertInto('environments').values(environment).execute();
    await ensureLogs(logsOfEnvironment('later'), ['app']);
    await appendLog(logFile(logsOfEnvironment('later'), 'app', 'deploy'), 'first\n');
    await expect.poll(() => taken()).toEqual(['first']);
    await owner.send('DELETE', `${integrations}/${id}`);
  });

  test('the process that forwards may be killed: another goes on where it was', async () => {
    const { projectId, environmentId, integrations, write, add } = await openProject();
    const id = await add({ type: 'httplog', url: receiver.url });
    await expect.poll(isForwarded(id, environmentId, projectId)).toBe(true);
    await write(numbered(0, 10));
    await expect.poll(() => taken().length).toBe(10);
    const first = Number(forwarderPid(home.platform));
    process.kill(first, 'SIGKILL');
    await write(numbered(10, 20));
    await expect.poll(() => new Set(taken())).toEqual(new Set(numbered(0, 20)));
    expect(forwarderPid(home.platform)).not.toBe(first);
    await owner.send('DELETE', `${integrations}/${id}`);
  });

  test.skipIf(!canBringRsyslog)(
    `rsyslog of Debian gets lines in their order, also those that came while it was away${whyNoRsyslog}`,
    { timeout: 300_000 },
    async () => {
      const certificate = await serverCertificate();
      let server = await openTestRsyslog(certificate);
      onTestFinished(() => server.close());
      const { projectId, environmentId, integrations, write, add } = await openProject();
      const body = { type: 'syslog', host: '127.0.0.1', port: server.ports.tcp, protocol: 'tcp', auth_token: 'token-1', facility: 16 };
      const id = await add(body);
      expect((await owner.send('POST', `${integrations}/${id}/validate`)).status).toBe(200);
      await expect.poll(isForwarded(id, environmentId, projectId)).toBe(true);
      const heard = () => server.taken().filter(({ app }) => app === 'app');
      const messages = () => heard().map(({ message }) => message.trim());
      const withToken = (lines: readonly string[]) => lines.map((line) => `token-1 ${line}`);
      await write(numbered(0, 10));
      await expect.poll(messages).toEqual(withToken(numbered(0, 10)));
      expect(heard()[0]).toMatchObject({ input: 'tcp', priority: '134', id: 'app' });
      await server.close();
      await write(numbered(10, 20));
      server = await openTestRsyslog(certificate, server.ports);
      await write(numbered(20, 30));
      await expect.poll(messages).toEqual(withToken(numbered(10, 30)));
      await owner.send('DELETE', `${integrations}/${id}`);
    },
  );
});

describe('a validation', () => {
  const validate = async (body: object) => {
    const { integrations, add } = await openProject();
    const integration = `${integrations}/${await add(body)}`;
    const { status, json } = await owner.send('POST', `${integration}/validate`);
    await owner.send('DELETE', integration);
    return status === 200 ? 'well' : json.detail;
  };

  test('sends a line to the sink', async () => {
    expect(await validate({ type: 'httplog', url: receiver.url, extra: { team: 'blue' } })).toBe('well');
    expect(JSON.parse(receiver.taken[0]?.body.toString() ?? '')).toMatchObject([
      { message: expect.stringMatching(/^This line checks the integration \w+\.$/), team: 'blue' },
    ]);
  });

  test('tells under the field that has to change why the sink takes nothing', async () => {
    const { url, port } = receiver;
    receiver.respond = respondWith(403, 'no such key');
    expect(await validate({ type: 'newrelic', url, license_key: 'key-1234' })).toEqual({
      license_key: 'cannot be used: The sink answered 403: no such key',
    });
    expect(await validate({ type: 'otlplog', url })).toMatchObject({ headers: expect.stringContaining('403') });
    expect(await validate({ type: 'sumologic', url })).toMatchObject({ url: expect.stringContaining('403') });
    receiver.respond = respondWith(400, '{"text":"Incorrect index","code":7}');
    expect(await validate({ type: 'splunk', url, index: 'web', token: 'token-1234' })).toMatchObject({
      index: expect.stringContaining('Incorrect'),
    });
    receiver.respond = respondWith(404);
    expect(await validate({ type: 'httplog', url })).toEqual({ url: 'cannot be used: The sink answered 404' });
    expect(await validate({ type: 'httplog', url: 'http://192.168.1.1/' })).toMatchObject({
      url: expect.stringContaining('not a public address'),
    });
    await receiver.close();
    expect(await validate({ type: 'syslog', host: '127.0.0.1', port, protocol: 'tcp' })).toMatchObject({
      host: expect.stringContaining('ECONNREFUSED'),
    });
    receiver = await openTestReceiver();
  });
});

test(
  'no line is lost when the platform is killed, nor while the sink is away; each is counted once, however often it was sent',
  { timeout: 120_000 },
  async () => {
    const { projectId, environmentId, integrations, write, add } = await openProject();
    const id = await add({ type: 'httplog', url: receiver.url });
    const asked: Asked = { data: home.platform.config.data, databaseUrl: home.databaseUrl, key: key.toString('hex') };
    const start = () => {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'test-forwarding-platform.ts'), JSON.stringify(asked)], {
        stdio: ['pipe', 'inherit', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    };
    let platform = start();
    await expect.poll(isForwarded(id, environmentId, projectId), { timeout: 60_000 }).toBe(true);
    await write(numbered(0, 10));
    await expect.poll(() => taken().length).toBe(10);

    // The sink has these lines, and nobody lives to write that down.
    receiver.respond = (response) => {
      platform.kill('SIGKILL');
      response.destroy();
      return true;
    };
    await write(numbered(10, 20));
    await once(platform, 'exit');
    await write(numbered(20, 30));
    const { port } = receiver;
    const before = taken();
    await receiver.close();
    platform = start();
    await write(numbered(30, 40));
    receiver = await openTestReceiver(port);
    await expect.poll(() => new Set([...before, ...taken()]).size, { timeout: 60_000 }).toBe(40);
    expect([...new Set([...before, ...taken()])]).toEqual(numbered(0, 40));

    const metered = async () => {
      await countForwardedLogs.run(home.platform, new AbortController().signal);
      const { rows } = await sql<{ bytes: number }>`
      select sum(bytes)::integer as bytes from forwarded_logs where project_id = ${projectId} and environment = ${machineName(environmentId, projectId)}`.execute(
        home.platform.db,
      );
      return rows[0]?.bytes;
    };
    const bytesOf = (lines: readonly string[]) => lines.join('').length;
    await expect.poll(metered).toBe(bytesOf(numbered(0, 40)));
    await write(['the last line']);
    await expect.poll(() => taken()).toContain('the last line');
    await owner.send('DELETE', `${integrations}/${id}`);
    await expect.poll(isForwarded(id, environmentId, projectId)).toBe(false);
    expect([await metered(), await metered()]).toEqual(Array(2).fill(bytesOf([...numbered(0, 40), 'the last line'])));
    expect(await home.platform.db.selectFrom('counted_forwardings').select('name').where('name', 'like', `${id}-%`).execute()).toEqual([]);
  },
);
