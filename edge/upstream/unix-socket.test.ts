import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { answerTo, environmentOf, openTestEdge, statuses } from '../testing/edge.ts';

test('a socket is connected to where the table says, and not where the application makes that lead', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-sockets-'));
  const listenAt = async (path: string, word: string) => {
    const server = createServer(
      (socket) => void socket.on('data', () => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${word}`)),
    );
    server.listen(path);
    await once(server, 'listening');
    return server;
  };
  await mkdir(join(folder, 'theirs'));
  await mkdir(join(folder, 'ours'));
  const servers = await Promise.all([
    listenAt(join(folder, 'theirs/app.sock'), 'theirs'),
    listenAt(join(folder, 'ours/app.sock'), 'secret'),
  ]);
  await symlink('../ours/app.sock', join(folder, 'theirs/link.sock'));
  await symlink('ours', join(folder, 'folder-link'));
  await writeFile(join(folder, 'theirs/file.sock'), '');
  const answerAt = async (path: string) => {
    const instance = { id: path, address: { socket: join(folder, path) } };
    await using made = await openTestEdge([environmentOf([instance])]);
    return await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 30);
  };
  expect(await answerAt('theirs/app.sock')).toContain('theirs');
  for (const path of ['theirs/link.sock', 'folder-link/app.sock', 'theirs/file.sock', 'theirs/nothing.sock']) {
    const answer = await answerAt(path);
    expect(statuses(answer)).toEqual([502]);
    expect(answer).not.toContain('secret');
  }
  for (const server of servers) server.close();
  await rm(folder, { recursive: true });
});

/** Takes nobody in for a while, and has room for one who waits. */
const busyApplication = `
  const server = require('node:http').createServer((_, reply) => reply.end('served'));
  server.listen({ path: process.argv[1], backlog: 1 }, () => {
    process.stdout.write('listening');
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600), 50);
  });`;

test('who finds no room in the queue of a socket waits for it, as with any other address', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-sockets-'));
  const path = join(folder, 'app.sock');
  const application = spawn(process.execPath, ['-e', busyApplication, path], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(application.stdout, 'data');
    await sleep(200);
    await using made = await openTestEdge([environmentOf([{ id: 'busy', address: { socket: path } }])], { connectSeconds: 60 });
    const ask = () => answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 30);
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    expect(answers.flatMap(statuses)).toEqual(answers.map(() => 200));
  } finally {
    application.kill();
    await rm(folder, { recursive: true });
  }
});
