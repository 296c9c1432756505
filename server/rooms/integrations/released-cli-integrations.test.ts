import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReleasedCli, type ReleasedCli } from '../../../e2e/released-cli.ts';
import { bitbucketServerWire } from '../../drivers/code-hosts/bitbucket-server/test-bitbucket-server.ts';
import { githubWire } from '../../drivers/code-hosts/github/test-github.ts';
import { gitlabWire } from '../../drivers/code-hosts/gitlab/test-gitlab.ts';
import { serveTestHost, testToken, type TestHost } from '../../drivers/code-hosts/test-host.ts';
import { openTestReceiver } from '../../drivers/log-sinks/test-receiver.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { addVariable, openProject, openReceiver, settle } from './test-receiver.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 300_000;

const url = 'https://receiver.example.org/in';
/** Sinks of logs are asked by a validation. */
const sink = await openTestReceiver();
afterAll(() => sink.close());

/**
 * How each type is added and changed. The client offers all types but `cdn.fastly` and `blackfire`, and asks Bitbucket itself, at its public address, before it
 * adds `bitbucket`. What is in braces is the address of the test's own host of that name.
 */
const flows: [string, string[], string[]][] = [
  ['github', ['--token', testToken, '--repository', 'acme/shop', '--base-url', '{github}'], ['--fetch-branches', 'false']],
  ['gitlab', ['--token', testToken, '--server-project', 'acme/shop', '--base-url', '{gitlab}'], ['--build-merge-requests', 'false']],
  [
    'bitbucket_server',
    ['--bitbucket-url', '{bitbucket_server}', '--username', 'ada', '--token', testToken, '--repository', 'acme/shop'],
    ['--build-pull-requests', 'false'],
  ],
  ['webhook', ['--url', url], ['--events', 'environment.push,environment.merge']],
  ['script', ['--file', 'script.js'], ['--states', 'complete,in_progress']],
  ['health.email', ['--recipients', '#admins', '--from-address', 'platform@example.org'], ['--recipients', '#viewers']],
  ['health.pagerduty', ['--routing-key', 'key'], ['--routing-key', 'other']],
  ['health.slack', ['--token', 'a', '--channel', '#alerts'], ['--channel', '#other']],
  ['health.webhook', ['--url', url], ['--shared-key', 'key']],
  ['httplog', ['--url', sink.url, '--header', 'X-Key: a'], ['--excluded-services', 'db']],
  ['newrelic', ['--url', sink.url, '--license-key', 'a'], ['--excluded-services', 'db']],
  ['splunk', ['--url', sink.url, '--index', 'main', '--token', 'a'], ['--sourcetype', 'web']],
  ['sumologic', ['--url', sink.url], ['--category', 'web']],
  ['syslog', ['--syslog-host', '127.0.0.1', '--syslog-port', String(sink.port), '--protocol', 'udp'], ['--facility', '3']],
  ['otlplog', ['--url', sink.url], ['--redaction', 'true']],
];

const wires = { github: githubWire, gitlab: gitlabWire, bitbucket_server: bitbucketServerWire };
const located = (argument: string) => argument.replace(/^\{(\w+)\}$/, (_, type: string) => hosts.get(type)?.state.origin ?? '');

let cli: ReleasedCli;
let home: TestPlatform;
let owner: Person;
let projectId: string;
const hosts = new Map<string, TestHost>();

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, {
    OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8',
    OFFSHOOT_SMTP_URL: 'smtp://mail.example.org',
  });
  for (const [type, wire] of Object.entries(wires)) hosts.set(type, await serveTestHost(wire));
  owner = await home.person();
  ({ projectId } = await sampleProject(owner));
  await home.http.listen({ host: '127.0.0.1', port: 0 });
  cli = await openReleasedCli(`http://127.0.0.1:${(home.http.server.address() as AddressInfo).port}`);
  await writeFile(join(cli.home, 'script.js'), 'console.log(activity.type)');
  return async () => {
    for (const host of hosts.values()) host.close();
    await cli[Symbol.asyncDispose]();
  };
}, flowMilliseconds);

async function run(command: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run([command, ...args, '-p', projectId, '-y'], owner.apiToken, cli.home);
  expect(code, `${command}: ${stdout}${stderr}`).toBe(0);
  return stdout;
}

test.for(flows)(
  'the released CLI adds, shows, changes, validates and deletes %s',
  { timeout: flowMilliseconds },
  async ([type, added, changed]) => {
    await run('integration:add', '--type', type, ...added.map(located), '--no-wait');
    const listed = await run('integration:list', '--type', type, '--format', 'plain', '--no-header', '--columns', 'id');
    const id = listed.trim();
    expect(id).toMatch(/^[a-z0-9]{13}$/);
    expect(await run('integration:get', id, '--property', 'type')).toBe(`${type}\n`);
    const before = (await owner.send('GET', `/projects/${projectId}/integrations/${id}`)).json;
    await run('integration:update', id, ...changed, '--no-wait');
    const after = (await owner.send('GET', `/projects/${projectId}/integrations/${id}`)).json;
    expect(after.updated_at).not.toBe(before.updated_at);
    await run('integration:validate', id);
    await run('integration:delete', id, '--no-wait');
    expect((await owner.send('GET', `/projects/${projectId}/integrations/${id}`)).status).toBe(404);
  },
);

test('the released CLI tells what a code host refuses, and adds nothing', { timeout: flowMilliseconds }, async () => {
  const options = ['--type', 'github', '--token', 'wrong', '--repository', 'acme/shop', '--base-url', located('{github}'), '--no-wait'];
  const { code, stdout, stderr } = await cli.run(['integration:add', ...options, '-p', projectId, '-y'], owner.apiToken);
  expect({ code: code !== 0, told: stdout + stderr }).toEqual({
    code: true,
    told: expect.stringMatching(/token.*does not accept the credential/s) as string,
  });
  expect((await owner.send('GET', `/projects/${projectId}/integrations`)).json).toEqual([]);
});

test(
  'the released CLI lists and shows what a webhook was sent and what a script did, and their logs',
  { timeout: flowMilliseconds },
  async () => {
    const { url: receiver } = await openReceiver(404);
    const bodies = [
      { type: 'webhook', url: receiver },
      { type: 'script', script: 'console.log("told of", activity.type)' },
    ];
    const { project, projectId: other, ids } = await openProject(owner, ...bodies);
    await addVariable(owner, project, 'env:A');
    await settle(home);
    const inProject = async (command: string, ...args: string[]) => {
      const { code, stdout, stderr } = await cli.run([command, ...args, '-p', other], owner.apiToken, cli.home);
      expect(code, `${command}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    };
    for (const [nth, [type, result, log]] of (
      [
        ['integration.webhook', 'failure', 'HTTP 404: heard'],
        ['integration.script', 'success', 'told of project.variable.create'],
      ] as const
    ).entries()) {
      const integration = ids[nth] ?? '';
      const listed = await inProject(
        'integration:activity:list',
        integration,
        '--format',
        'plain',
        '--no-header',
        '--columns',
        'id,type,result',
      );
      const [activity = ''] = listed.split('\t');
      expect(listed.trim()).toBe([activity, type, result].join('\t'));
      expect(await inProject('integration:activity:get', integration, activity, '--property', 'type')).toBe(`${type}\n`);
      expect(await inProject('integration:activity:log', integration, activity)).toContain(log);
    }
  },
);

test('the released CLI tells what a validation found, by field', { timeout: flowMilliseconds }, async () => {
  const { json } = await owner.send('POST', `/projects/${projectId}/integrations`, { type: 'health.email', recipients: [] });
  const { id } = json._embedded.entity;
  const { code, stdout } = await cli.run(['integration:validate', String(id), '-p', projectId], owner.apiToken);
  expect({ code, stdout }).toEqual({ code: 4, stdout: 'recipients: must not be empty: nobody is told\n' });
  await owner.send('DELETE', `/projects/${projectId}/integrations/${id}`);
});
