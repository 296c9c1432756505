/** PHP behind FastCGI, as an upstream of an edge to test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Upstream } from '../routing/table.ts';
import { locationWith, upstreamOf } from './edge.ts';

export interface Php extends AsyncDisposable {
  folder: string;
  upstream: Upstream;
}

/** Its files by name, of which index.php answers all that is no file. So many requests are answered at once. */
export async function openPhp(files: Record<string, string>, atOnce = 1): Promise<Php> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-php-'));
  await mkdir(join(folder, 'public'));
  await chmod(folder, 0o755);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'public', name), text);
  const socket = join(folder, 'php.sock');
  const env = { ...process.env, PHP_FCGI_CHILDREN: String(atOnce) };
  const child = spawn('php-cgi', ['-d', 'log_errors=1', '-b', socket], { stdio: 'ignore', env });
  await once(child, 'spawn');
  while (!(await listensAt(socket))) await sleep(20);
  return {
    folder,
    upstream: upstreamOf([{ id: 'php', address: { socket } }], {
      protocol: 'fastcgi',
      app_root: folder,
      files: [{ at: folder, folder, is_immutable: false }],
      locations: { '/': locationWith({ root: 'public', index: ['index.php'], passthru: '/index.php' }) },
    }),
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

/** A socket is there before anybody listens at it. */
const listensAt = (path: string) =>
  new Promise<boolean>((settle) => {
    const socket = connect(path, () => settle(true)).once('error', () => settle(false));
    socket.once('connect', () => socket.destroy());
  });
