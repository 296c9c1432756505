/**
 * What the platform adds to a push: a commit of 1,000 files over HTTP, against the same push to `git http-backend` behind a bare Node server. Both
 * take turns in one run, each time to an empty repository; the median of each is taken. Ours also asks who pushes, announces and records the push,
 * and starts an activity; it does not wait for that to end, which is told beside it.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { activitiesOf } from '../server/kernel/room.ts';
import { shortId } from '../server/kernel/id.ts';
import { startRunner } from '../server/kernel/runner.ts';
import { rooms } from '../server/rooms.ts';
import { createDefaultEnvironment } from '../server/rooms/environments/work.ts';
import { insertProject } from '../server/rooms/projects/public.ts';
import { median, openMeasuredPlatform } from './harness/platform.ts';

const files = 1000;
const rounds = 11;
const ratioMax = 1.5;
const scratch = mkdtempSync(join(tmpdir(), 'offshoot-bench-git-'));
const run = promisify(execFile);
const plain = { PATH: process.env['PATH'] ?? '', HOME: scratch, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
const git = (cwd: string, ...args: string[]) =>
  run('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', ...args], { cwd, env: plain });

const { api, platform, db, headers, close } = await openMeasuredPlatform();
const runner = startRunner(activitiesOf(rooms), platform);
const address = await api.listen({ host: '127.0.0.1', port: 0 });
const { id: organization_id } = (await api.inject({ method: 'POST', url: '/organizations', headers, payload: { label: 'Bench' } })).json<{
  id: string;
}>();

const bare = createServer((request, response) => throughBackend(request, response));
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
const bareAddress = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;

const copy = join(scratch, 'copy');
mkdirSync(copy);
await git(copy, 'init', '--quiet', '-b', 'main');
for (let n = 0; n < files; n += 1) {
  mkdirSync(join(copy, `folder-${n % 20}`), { recursive: true });
  writeFileSync(join(copy, `folder-${n % 20}`, `file-${n}.txt`), `${n}\n`.repeat(100 + n));
}
await git(copy, 'add', '--all');
await git(copy, 'commit', '--quiet', '-m', 'A thousand files');

const times: Record<'ours' | 'waiting' | 'bare', number[]> = { ours: [], waiting: [], bare: [] };
for (let round = 0; round <= rounds; round += 1) {
  const remotes = { ours: await emptyProject(), bare: await emptyRepository(round), waiting: await emptyProject() };
  for (const [name, remote] of Object.entries(remotes)) {
    const startedAt = performance.now();
    await git(
      copy,
      '-c',
      `http.extraHeader=Authorization: ${headers.authorization}`,
      'push',
      '--quiet',
      ...(name === 'ours' ? ['-o', 'no-wait'] : []),
      remote,
      'main',
    );
    if (round > 0) times[name as keyof typeof times].push(performance.now() - startedAt);
  }
}

const [ours, theirs] = [median(times.ours), median(times.bare)];
const ratio = ours / theirs;
console.log(
  `push of ${files} files: ours ${ours.toFixed(0)} ms, git http-backend ${theirs.toFixed(0)} ms: ${ratio.toFixed(2)} (at most ${ratioMax}): ${ratio <= ratioMax ? 'ok' : 'TOO SLOW'}`,
);
console.log(`with the activity to its end: ${median(times.waiting).toFixed(0)} ms`);
if (ratio > ratioMax) process.exitCode = 1;
bare.close();
await runner.close();
await close();
rmSync(scratch, { recursive: true, maxRetries: 5 });

async function emptyProject(): Promise<string> {
  const id = shortId();
  await db.transaction().execute(async (tx) => {
    const project = await insertProject(tx, { id, organization_id, region: platform.config.region.id, title: 'Bench', status: 'active' });
    await createDefaultEnvironment(tx, project);
  });
  await platform.git.create(id, 'main');
  return `${address}/git/${id}.git`;
}

async function emptyRepository(round: number): Promise<string> {
  await git(scratch, 'init', '--quiet', '--bare', '-b', 'main', `bare-${round}.git`);
  await git(join(scratch, `bare-${round}.git`), 'config', 'http.receivepack', 'true');
  return `${bareAddress}/bare-${round}.git`;
}

/** The shortest possible CGI around `git http-backend`. */
function throughBackend(request: IncomingMessage, response: ServerResponse) {
  const [PATH_INFO = '', QUERY_STRING = ''] = (request.url ?? '').split('?');
  const cgi = {
    GIT_PROJECT_ROOT: scratch,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO,
    QUERY_STRING,
    REQUEST_METHOD: request.method ?? '',
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
  };
  const child = spawn('git', ['http-backend'], { env: { ...plain, ...cgi }, stdio: ['pipe', 'pipe', 'ignore'] });
  request.pipe(child.stdin);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const lines = head
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.split(': ', 2) as [string, string]);
    response.writeHead(200, Object.fromEntries(lines));
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.on('close', () => response.end());
}
