import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Conversation, Git, Served } from './git.ts';
import { tryGit } from './command.ts';
import { openGit } from './open-git.ts';

const partyMax = 60;
const perRepositoryMax = 40;
const slowFetches = 20;
const slowCommands = 40;

let folder: string;
let git: Git;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-greedy-git-'));
  git = await openGit(folder, { allowPrivateAddresses: ['0.0.0.0/0'] });
  for (const project of ['one', 'two', 'modest']) await git.create(project, 'main');
});
afterAll(async () => {
  await git.close();
  await rm(folder, { recursive: true });
});

const conversation = (user: string, parties: readonly string[]): Conversation => ({
  user,
  parties,
  service: 'upload-pack',
  part: 'whole',
  protocol: undefined,
  hiddenRefs: [],
  keepsWhatCame: false,
  packBytesMax: 1024,
  hooks: undefined,
});

test('an organization that fetches from many sides leaves conversations to others', async () => {
  const open: Served[] = [];
  const begin = (project: string, n: number, parties: readonly string[]) => {
    const served = git.serve(project, conversation(`user ${n}`, parties));
    served.stdout.resume();
    open.push(served);
  };
  try {
    for (let n = 0; n < partyMax; n += 1) begin(n < perRepositoryMax ? 'one' : 'two', n, ['mallory', 'greedy']);
    expect(() => begin('two', partyMax, ['mallory', 'greedy'])).toThrow('Too many are fetching and pushing just now');
    begin('modest', partyMax, ['ada', 'modest']);
  } finally {
    for (const served of open) served.abandon();
    await Promise.all(open.map(({ ended }) => ended));
  }
  expect(open).toHaveLength(partyMax + 1);
});

test('two owners who fetch from many sides leave a conversation to each of those who have none', async () => {
  const open: Served[] = [];
  const begin = (n: number, parties: readonly string[]) => {
    const served = git.serve(`many${n % 4}`, conversation(`user ${n}`, parties));
    served.stdout.resume();
    open.push(served);
  };
  for (let n = 0; n < 4; n += 1) await git.create(`many${n}`, 'main');
  try {
    for (let n = 0; n < 50; n += 1) begin(n, ['mallory', 'one']);
    for (let n = 50; n < 100; n += 1) begin(n, ['mike', 'two']);
    expect(() => begin(100, ['mike', 'two'])).toThrow('Too many are fetching and pushing just now');
    begin(101, ['ada', 'modest']);
    expect(() => begin(102, ['ada', 'modest'])).toThrow('Too many are fetching and pushing just now');
    begin(103, ['bob', 'modest too']);
  } finally {
    for (const served of open) served.abandon();
    await Promise.all(open.map(({ ended }) => ended));
  }
});

test('commands of one owner, or of two, that take long leave a place to those of everybody else', async () => {
  const over = new AbortController();
  const slow = ['-c', 'alias.slow=!exec sleep 900', 'slow'];
  const begin = (project: string, parties: readonly string[]) =>
    tryGit(git.path(project), slow, { parties, signal: over.signal }).catch(() => undefined);
  const greedy = [
    ...Array.from({ length: slowCommands }, (_, n) => begin(n % 2 === 0 ? 'one' : 'two', ['mallory', 'greedy'])),
    ...Array.from({ length: slowCommands }, () => begin('two', ['mike', 'greedy too'])),
  ];
  try {
    const { code } = await tryGit(git.path('modest'), ['for-each-ref'], { parties: ['ada', 'modest'] });
    expect(code).toBe(0);
    // Nor do those wait of whom only the repository is known.
    expect(await git.branches('modest')).toEqual(new Map());
  } finally {
    over.abort();
    await Promise.all(greedy);
  }
});

test('repositories elsewhere that never answer keep nobody from working here', async () => {
  const sockets = new Set<{ destroy(): void }>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const over = new AbortController();
  const by = { name: 'Mallory', email: 'mallory@example.org' };
  const source = { repository: `http://127.0.0.1:${port}/slow.git`, files: [] };
  const imports = Array.from({ length: slowFetches }, () => git.import('one', source, by, () => {}, over.signal).catch(() => {}));
  try {
    await expect.poll(() => sockets.size).toBe(slowFetches);
    expect(await git.branches('modest')).toEqual(new Map());
  } finally {
    over.abort();
    await Promise.all(imports);
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  }
});
