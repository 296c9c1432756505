/** What a hostile client asks of the door for SSH beyond a session: none of it is had, and none of it takes the places of others. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import ssh2, { type Client, type ClientChannel } from 'ssh2';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { openLog } from '../../kernel/log.ts';
import { newHostKey, openSshPrivateKey } from './host-key.ts';
import { openSshServer, type Asked } from './ssh-server.ts';

const key = newHostKey();
const asked: Asked[] = [];
const targets: string[] = [];
const door = await openSshServer<string>({
  host: '127.0.0.1',
  port: 0,
  hostKeys: [openSshPrivateKey(newHostKey())],
  log: openLog('error', { write: () => {} }),
  variables: ['GIT_PROTOCOL'],
  identify: () => Promise.resolve({ who: 'ada', key: publicHalf(key) }),
  receive: () => ({
    run(one) {
      asked.push(one);
      if (one.want.kind === 'command' && one.want.line === 'stay') return;
      one.line.end(0);
    },
    forward({ host, port }) {
      targets.push(`${host}:${port}`);
      return Promise.resolve(undefined);
    },
  }),
});
afterAll(() => door.close());

function publicHalf(privateKey: KeyObject) {
  return createPublicKey(createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })));
}

let client: Client;
beforeEach(async () => {
  asked.length = 0;
  targets.length = 0;
  client = await signedIn();
});
afterEach(() => void client.end());

async function signedIn(): Promise<Client> {
  const fresh = new ssh2.Client();
  fresh.on('error', () => {});
  fresh.connect({ host: '127.0.0.1', port: door.port, username: 'shop', privateKey: openSshPrivateKey(key), agentForward: false });
  await once(fresh, 'ready');
  return fresh;
}

const answered = <Result>(ask: (done: (error: Error | null | undefined, result?: Result) => void) => void) =>
  new Promise<Result | 'refused'>((resolve) => ask((error, result) => resolve(error || result === undefined ? 'refused' : result)));
const exec = (command: string, options: ssh2.ExecOptions = {}) =>
  answered<ClientChannel>((done) => void client.exec(command, options, (error, channel) => done(error, channel)));

test('no socket, port, agent or screen is forwarded in either direction, and the connection goes on', async () => {
  const refusals = {
    'a port of the server': answered((done) => void client.forwardIn('0.0.0.0', 0, (error, port) => done(error, port))),
    'a socket of the server': answered(
      (done) => void client.openssh_forwardInStreamLocal('/tmp/listen.sock', (error) => done(error, true)),
    ),
    'a socket on the server': answered(
      (done) => void client.openssh_forwardOutStreamLocal('/run/docker.sock', (error, channel) => done(error, channel)),
    ),
    'a port that the guest does not know': answered(
      (done) => void client.forwardOut('127.0.0.1', 0, '169.254.169.254', 80, (error, channel) => done(error, channel)),
    ),
    'a screen': exec('true', { x11: true }),
  };
  for (const [what, answer] of Object.entries(refusals)) expect({ what, answer: await answer }).toEqual({ what, answer: 'refused' });
  expect(targets).toEqual(['169.254.169.254:80']);
  expect(asked).toEqual([]);
  expect(await exec('still here')).not.toBe('refused');
});

test('clients are told the signatures that are taken, each by its name', async () => {
  const options = ['-vv', '-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
  const program = spawn('ssh', [...options, '-p', String(door.port), 'shop@127.0.0.1', 'true'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = await text(program.stderr);
  expect(/server-sig-algs=<(.*)>/.exec(said)?.[1]?.split(',')).toEqual([
    'ssh-ed25519',
    'rsa-sha2-256',
    'rsa-sha2-512',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
  ]);
});

test('of the client’s environment only what the door lists arrives', async () => {
  const env = {
    LD_PRELOAD: '/x',
    PATH: '/x',
    BASH_ENV: '/x',
    GIT_PROTOCOL: 'version=2',
    GIT_SSH_COMMAND: 'x',
    GIT_CONFIG_COUNT: '1',
    IFS: 'x',
  };
  await exec('git-upload-pack', { env });
  expect(asked.map(({ variables }) => [...variables])).toEqual([[['GIT_PROTOCOL', 'version=2']]]);
  await exec('git-upload-pack', { env: { GIT_PROTOCOL: 'x'.repeat(201) } });
  expect([...(asked[1]?.variables ?? [])]).toEqual([]);
});

test('a flood of sessions ends at ten for each connection, and closing one makes room', async () => {
  const all = await Promise.all(Array.from({ length: 40 }, () => exec('stay')));
  const open = all.filter((channel) => channel !== 'refused');
  expect(open).toHaveLength(10);
  const [first] = open;
  first?.close();
  await expect.poll(async () => exec('stay')).not.toBe('refused');
  const other = await signedIn();
  other.end();
});

test('rubbish in place of a conversation ends that connection only', async () => {
  for (const bytes of [
    Buffer.alloc(100_000, 'A'),
    Buffer.from('SSH-2.0-x\r\n'),
    Buffer.from(`SSH-2.0-${'x'.repeat(10_000)}`),
    Buffer.alloc(40_000),
  ]) {
    const socket = connect(door.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write(bytes);
    socket.end();
    await once(socket, 'close');
  }
  expect(await exec('still here')).not.toBe('refused');
});
