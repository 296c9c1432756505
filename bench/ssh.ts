/**
 * What a command over SSH costs: to its exit code on a connection that is open, against bare `runc exec` of the same in the same container, turn by turn
 * in one run; and with a connection of its own, by OpenSSH's client. At last, how long somebody stays whose key was taken away.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import ssh2 from 'ssh2';
import { send } from '../e2e/api.ts';
import { createInstallation, plainHttp } from '../e2e/installation.ts';
import { firstPerson, openProject, successful } from '../e2e/open-project.ts';
import { smallFiles } from './harness/measured-stack.ts';
import { median } from './harness/platform.ts';

const rounds = 60;
const connections = 15;
const ratioMax = 2;
const shownOutSecondsMax = 6;
/** What went before leaves things to be done; that is not to slow down what is measured. */
const restMilliseconds = 30;

await using installation = await createInstallation(plainHttp);
const person = await firstPerson(installation.url, await installation.start());
const project = await openProject(person);
await project.write(smallFiles, 'Begin');
await project.push('main');
successful(await project.lastActivity('main'));

const folder = mkdtempSync(join(tmpdir(), 'offshoot-bench-ssh-'));
const key = join(folder, 'key');
execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
const value = readFileSync(`${key}.pub`, 'utf8');
const added = await send(installation.url, await person.accessToken(), 'POST', '/ssh_keys', { value });
const { href } = (await project.environment('main'))._links['pf:ssh:app'];
const [, username = ''] = /^ssh:\/\/(.*)@/.exec(href) ?? [];

const instance = readFileSync(join(installation.data, 'runtime', 'instance'), 'utf8').trim();
const root = join('/run/offshoot', instance, 'runc');
const list = JSON.parse(execFileSync('runc', ['--root', root, 'list', '--format', 'json'], { encoding: 'utf8' })) as { id: string }[];
const container = list.find(({ id }) => id.includes('-app-app-'))?.id ?? '';

async function measured(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same two shells as over SSH; then without them. */
const bare = (argv: string[]) => () =>
  new Promise<void>((resolve, reject) => {
    const child = spawn('runc', ['--root', root, 'exec', '--user', '1000:1000', '--cwd', '/app', container, ...argv], { stdio: 'pipe' });
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`runc exec ended with ${code}`))));
  });

const connection = new ssh2.Client();
await new Promise<void>((resolve, reject) => {
  connection.once('ready', () => resolve(void connection.setNoDelay(true))).once('error', reject);
  connection.connect({ host: '127.0.0.1', port: installation.sshPort, username, privateKey: readFileSync(key) });
});
const overSsh = () =>
  new Promise<void>((resolve, reject) => {
    connection.exec('true', (error, channel) => {
      if (error) return reject(error);
      channel.resume().once('close', (code: number) => (code === 0 ? resolve() : reject(new Error(`The command ended with ${code}`))));
    });
  });
const options = ['-F', 'none', '-i', key, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'];
const newConnection = () =>
  promisify(execFile)('ssh', [...options, '-p', String(installation.sshPort), '-l', username, '127.0.0.1', 'true']);

const ways = { bare: bare(['true']), shells: bare(['bash', '-c', 'exec bash -c true']), ssh: overSsh, connection: newConnection };
const times: Record<keyof typeof ways, number[]> = { bare: [], shells: [], ssh: [], connection: [] };
for (let round = 0; round <= rounds; round += 1)
  for (const way of ['bare', 'ssh', 'shells', 'connection'] as const) {
    if (way === 'connection' && round > connections) continue;
    await sleep(restMilliseconds);
    const milliseconds = await measured(ways[way]);
    if (round > 0) times[way].push(milliseconds);
  }
const shownOut = new Promise<void>((resolve) => connection.once('close', () => resolve()));
await new Promise<void>((resolve, reject) => connection.exec('sleep 600', (error) => (error ? reject(error) : resolve())));
const shownOutSeconds =
  (await measured(async () => {
    await send(installation.url, await person.accessToken(), 'DELETE', `/ssh_keys/${added.json.key_id}`);
    await shownOut;
  })) / 1000;
rmSync(folder, { recursive: true });

const shown = (way: keyof typeof ways) => `${median(times[way]).toFixed(1)} ms (least ${Math.min(...times[way]).toFixed(1)})`;
const ratio = median(times.ssh) / median(times.bare);
if (ratio > ratioMax || shownOutSeconds > shownOutSecondsMax) process.exitCode = 1;
console.log(`runc exec of true: ${shown('bare')}; of the two shells that load an app's variables: ${shown('shells')}`);
console.log(
  `over SSH, connection open: ${shown('ssh')}: ${ratio.toFixed(2)} of runc exec (at most ${ratioMax}): ${ratio <= ratioMax ? 'ok' : 'TOO SLOW'}`,
);
console.log(`over SSH with a connection of its own, by OpenSSH's client: ${shown('connection')}`);
console.log(`whose key was taken away is shown out after ${shownOutSeconds.toFixed(1)} s (at most ${shownOutSecondsMax})`);
