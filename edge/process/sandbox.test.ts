/** What a program can do that has all the rights of the edge: somebody who took the edge over gets to see what it may serve, and nothing else. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEdge } from '../../server/drivers/edge/open-edge.ts';
import { openLog } from '../../server/kernel/log.ts';
import type { EdgeEnvironment } from '../routing/table.ts';
import { locationWith } from '../testing/edge.ts';
import { environmentWith, type RunningEdge, startRunningEdge } from '../testing/running-edge.ts';

const isRoot = process.getuid?.() === 0;
const launcher = join(import.meta.dirname, 'launch.pl');
const sandbox = join(import.meta.dirname, 'sandbox.pl');
const appUser = 1000;
const startMillisecondsMax = 60_000;

let folder = '';
const at = (path: string) => join(folder, path);
const put = (path: string, text: string, user = 0) => {
  mkdirSync(join(at(path), '..'), { recursive: true });
  writeFileSync(at(path), text, { mode: 0o600 });
  chownSync(at(path), user, user);
};
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'edge-sandbox-')));
  for (const kept of ['edge', 'logs', 'volumes']) mkdirSync(at(kept), { mode: 0o700 });
  put('secret-key', 'SECRET');
  put('system/closed', 'SECRET');
  put('volumes/shop/data/private.txt', 'of the shop', appUser);
  symlinkSync(at('secret-key'), at('volumes/shop/data/link'));
  symlinkSync('private.txt', at('volumes/shop/data/short'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Tries each of its words, and says what came of each. */
const trying = `
use Socket;
my $is_x64 = (POSIX::uname())[4] eq 'x86_64';
my %calls = (mount => [$is_x64 ? 165 : 40, 0, 0, 0, 0, 0], handle => [$is_x64 ? 304 : 265, -100, 0, 0], unshare => [$is_x64 ? 272 : 97, 0x10000000],
  clone => [$is_x64 ? 56 : 220, 0x10000000 | 17, 0, 0, 0, 0], ptrace => [$is_x64 ? 101 : 117, 16, getppid(), 0, 0], tree => [428, -100, 0, 1]);
my %tries = (
  read => sub { open my $file, '<', $_[0] or return "$!"; sysread($file, my $text, 100) // return "$!"; $text },
  write => sub { open my $file, '>>', $_[0] or return "$!"; syswrite($file, 'x') ? 'written' : "$!" },
  connect => sub { socket(my $socket, PF_UNIX, SOCK_STREAM, 0); connect($socket, sockaddr_un($_[0])) ? 'connected' : "$!" },
  call => sub { my ($number, @words) = @{ $calls{$_[0]} }; my $done = syscall($number, @words); POSIX::_exit(0) if $_[0] eq 'clone' && $done == 0; $done < 0 ? "$!" : 'done' },
);
for (@ARGV) { my ($try, $word) = split /:/, $_, 2; print $tries{$try}->($word), "\\n" }
`;

/** As edge-sandbox.ts has the edge itself started, with what came of each word. */
function tried(...words: string[]) {
  const shown = ['4', 'keep', at('edge'), 'keep', at('logs'), 'serve', at('volumes'), 'system', at('system')];
  const program = ['perl', '-MPOSIX', '-e', trying, ...words];
  const { stdout, stderr } = spawnSync('perl', [sandbox, 'enter', 'some', 'offshoot-edge,offshoot', ...shown, ...program], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  return { said: stdout.trim().split('\n'), warnings: stderr };
}

const listenAt = async (path: string) => {
  const server = createServer().listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o600);
  chownSync(path, appUser, appUser);
  return { [Symbol.dispose]: () => void server.close() };
};

const mountedAt = (path: string, type: string) => {
  execFileSync('mount', ['-t', type, type, path]);
  return { [Symbol.dispose]: () => void execFileSync('umount', [path]) };
};

const notThere = 'No such file or directory';
const notFollowed = 'Too many levels of symbolic links';
const refused = 'Operation not permitted';

describe.runIf(isRoot)('inside of the sandbox', () => {
  const own = () => at('volumes/shop/data/private.txt');
  const socket = () => at('volumes/shop/data/app.sock');
  const link = () => at('volumes/shop/data/link');
  const usable = () => [`read:${own()}`, `connect:${socket()}`, `write:${at('logs/x')}`, `write:${at('edge/x')}`];
  const used = ['of the shop', 'connected', 'written', 'written'];

  test('files and sockets of applications can be used, and the edge’s own written', async () => {
    using _ = await listenAt(socket());
    expect(tried(...usable())).toEqual({ said: used, warnings: '' });
    expect(readFileSync(at('logs/x'), 'utf8')).toContain('x');
  });

  test('nothing of applications can be written, and no link in it is followed, wherever it leads', () => {
    const words = [`write:${own()}`, `read:${link()}`, `read:${at('volumes/shop/data/short')}`];
    expect(tried(...words).said).toEqual(['Read-only file system', notFollowed, notFollowed]);
  });

  test('no other file of the machine is there, by any path', () => {
    const paths = [
      at('secret-key'),
      '/etc/shadow',
      '/etc/passwd',
      '/root',
      '/home',
      '/var',
      '/run',
      '/proc/1/root/etc/shadow',
      '/proc/1/environ',
    ];
    expect(tried(...paths.map((path) => `read:${path}`)).said).toEqual(paths.map(() => notThere));
  });

  test('rights are those over files of applications: what else is shown is as closed as to anybody', () => {
    expect(tried(`read:${at('system/closed')}`).said).toEqual(['Permission denied']);
  });

  test('system calls that reach around the view are refused, and so are namespaces', () => {
    const calls = ['mount', 'handle', 'unshare', 'ptrace', 'tree'];
    expect(tried(...calls.map((call) => `call:${call}`)).said).toEqual(calls.map(() => refused));
    expect(tried('call:clone').said).toEqual(['No space left on device']);
  });

  test('what cannot be mounted for users of its own is shown all the same, and everything else is as far away', async () => {
    using _logs = mountedAt(at('logs'), 'ramfs');
    using _socket = await listenAt(socket());
    const others = [
      `read:${at('secret-key')}`,
      'read:/etc/shadow',
      'read:/proc/1/root/etc/shadow',
      `read:${link()}`,
      'call:handle',
      'call:mount',
    ];
    const { said, warnings } = tried(...usable(), ...others);
    expect(said).toEqual([...used, notThere, notThere, notThere, notFollowed, refused, refused]);
    expect(warnings).toContain(`${at('logs')} is on a file system that cannot be mounted for users of a namespace`);
  });
});

/** An environment that serves what is in a volume. */
const serving = (volume: string, version: number): EdgeEnvironment => {
  const files = [{ at: '/app/s1', folder: volume, below: '', is_immutable: false }];
  const locations = { '/': locationWith({ root: 's1', passthru: false }) };
  return environmentWith('shop', version, [], {
    upstreams: { app: { protocol: 'http', instances: [], locations, files, app_root: '/app' } },
  });
};

describe.runIf(isRoot)('an edge', () => {
  let running: RunningEdge;
  let version = 0;
  const serve = () => running.edge.put(serving(at('volumes/shop/data'), ++version));
  const get = async (path: string) => (await running.get('shop.localhost', path)).body;

  beforeAll(async () => {
    running = await startRunningEdge({ volumes: at('volumes') });
  });
  afterAll(() => running[Symbol.asyncDispose]());

  /** Of each process: its capabilities, the users that they are for, and what it sees of the folder. */
  const view = async () => {
    const { pid, processes } = await running.edge.status();
    return [pid, ...processes.map((it) => it.pid)].map((it) => [
      /^CapEff:\s+(\w+)$/m.exec(readFileSync(`/proc/${it}/status`, 'utf8'))?.[1],
      readFileSync(`/proc/${it}/uid_map`, 'utf8').trim().split(/\s+/),
      readdirSync(`/proc/${it}/root${folder}`),
    ]);
  };
  const isHeldBack = Array.from({ length: 2 }, () => ['0000000000000006', ['0', '805306368', '65536'], ['volumes']]);

  test('sees only what it may serve, also after an upgrade and a kill', async () => {
    await serve();
    expect(await view()).toEqual(isHeldBack);
    expect(await get('/private.txt')).toBe('of the shop');
    await running.reopen({ routerName: 'another' });
    const { pid } = await running.edge.status();
    process.kill(pid, 'SIGKILL');
    await expect.poll(async () => (await running.edge.status()).pid, { timeout: startMillisecondsMax }).not.toBe(pid);
    expect(await view()).toEqual(isHeldBack);
    expect(await get('/private.txt')).toBe('of the shop');
  });

  test('is shown a pool that is mounted anew by the next start of the platform', async () => {
    await serve();
    {
      using _ = mountedAt(at('volumes'), 'tmpfs');
      put('volumes/shop/data/private.txt', 'mounted anew', appUser);
      await running.reopen();
      expect(await get('/private.txt')).toBe('mounted anew');
    }
    await running.reopen();
    expect(await get('/private.txt')).toBe('of the shop');
  });

  test('cannot choose what root writes to, by links in its own folder', async () => {
    const { version: its } = await running.edge.status();
    const file = join(running.options.folder, `settings-${its}.json`);
    symlinkSync(at('secret-key'), `${file}.new`);
    await running.reopen();
    expect([readFileSync(at('secret-key'), 'utf8'), lstatSync(file).isFile()]).toEqual(['SECRET', true]);
  });

  test('that an older version started without a sandbox is replaced by one with', async () => {
    await serve();
    const { folder: itsFolder } = running.options;
    const before = await running.edge.status();
    const program = readFileSync(`/proc/${before.pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    await running.edge.stop(0);
    const guard = ['perl', launcher, 'guard', itsFolder, '0', ...program];
    const older = spawn('perl', [launcher, 'open', itsFolder, '1', '127.0.0.1', String(running.port), ...guard], { stdio: 'ignore' });
    const ended = once(older, 'exit');
    await expect.poll(() => get('/private.txt').catch(() => ''), { timeout: startMillisecondsMax }).toBe('of the shop');
    running.edge = await openEdge(running.options, openLog('silent'));
    expect(await ended).toEqual([0, null]);
    expect((await running.edge.status()).version).toBe(before.version);
    expect(await view()).toEqual(isHeldBack);
    expect(await get('/private.txt')).toBe('of the shop');
  });
});
