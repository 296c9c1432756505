/**
 * A tenant whose folders are served wants a file of somebody else: of the machine, of the installation, of a neighbour. It rewrites the folders that its
 * own are mounted from, at rest and while visitors come, and puts something else in the place of a socket. It gets its own files, and nothing else.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { firstPerson, openProject, type Project } from '../open-project.ts';
import type { RunningPlatform } from '../running-platform.ts';
import { visit } from '../visit.ts';

const startMilliseconds = 300_000;
const canary = 'of the neighbour alone';

/** Does whatever it is told to, on a connection of its own each time. */
const obedient = `
import { exec } from 'node:child_process';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
createServer(async (request, response) => {
  exec((await text(request)) || 'true', (failed, output, errors) => response.writeHead(failed ? 500 : 200, { connection: 'close' }).end(output + errors));
}).listen(process.env.SOCKET ?? Number(process.env.PORT));
`;

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    source: {root: app}
    build: {flavor: none}
    mounts:
      all: {source: storage, source_path: ''}
      s1: {source: storage, source_path: z/s1}
      s2: {source: storage, source_path: z/s2}
      etc: {source: storage, source_path: y/middle/etc}
      data: {source: storage, source_path: y/middle/data}
      all/nested: {source: storage, source_path: n}
    hooks: {deploy: 'mv all/z/s1 all/z/s1.old; ln -s /etc all/z/s1'}
    web:
      commands: {start: exec node server.mjs}
      locations:
        /: {passthru: true}
        /s1: {root: s1, passthru: false, allow: true}
        /s2: {root: s2, passthru: false, allow: true}
        /etc: {root: etc, passthru: false, allow: true}
        /data: {root: data, passthru: false, allow: true}
        /all: {root: all, passthru: false, allow: true}
  neighbour:
    type: nodejs:24
    source: {root: neighbour}
    build: {flavor: none}
    mounts: {kept: {source: storage, source_path: ''}}
    hooks: {deploy: 'echo ${canary} >kept/canary.txt'}
    web: {commands: {start: exec node server.mjs}, upstream: {socket_family: unix}}
routes:
  http://{default}/: {type: upstream, upstream: 'app:http'}
  http://{default}/neighbour/: {type: upstream, upstream: 'neighbour:http'}
`,
  'app/server.mjs': obedient,
  'neighbour/server.mjs': obedient,
};

describe.runIf(canRunContainers)(`files over HTTP${whyNoContainers}`, () => {
  let installation: Installation;
  let platform: RunningPlatform;
  let project: Project;
  let address: string;
  /** The folder with the canary, as the machine has it. */
  let neighbours: string;

  beforeAll(async () => {
    installation = await createInstallation(plainHttp);
    platform = await installation.start();
    project = await openProject(await firstPerson(installation.url, platform));
    await project.write(files, 'First');
    await project.push('main');
    address = await project.address('main');
    const [kept = ''] = globSync(join(installation.data, 'volumes/pool/volumes/*/data/canary.txt'));
    neighbours = dirname(kept);
  }, startMilliseconds);
  afterAll(() => installation?.[Symbol.asyncDispose](), startMilliseconds);

  const get = async (path: string) => {
    const { status, text } = await visit(new URL(path, address).href);
    return status === 200 ? text : status;
  };
  const tell = async (app: string, command: string) => {
    const { status, text } = await visit(new URL(app, address).href, { method: 'POST', body: command });
    if (status !== 200) throw new Error(`${command}: ${status} ${text}`);
    return text.trim();
  };
  const inside = (command: string) => tell('/', command);
  const edgeProcess = () => Number(readFileSync(join(installation.data, 'edge/main-process'), 'utf8').split('\n', 1)[0]);

  test('a link that a hook puts in the place of a mounted folder leads to nothing', async () => {
    expect(await inside('readlink all/z/s1')).toBe('/etc');
    for (const path of ['/s1/shadow', '/s1/passwd', '/s1/hostname', '/s1/', '/s1', '/all/z/s1/shadow', '/all/z/s1/passwd', '/all/z/s1/'])
      expect([path, await get(path)]).toEqual([path, 404]);
  });

  test('nor does one anywhere on the way to it, or below it, whatever it leads to', async () => {
    const { data } = installation;
    const attacks: [place: string, target: string, paths: string[]][] = [
      ['z/s2', '/etc', ['/s2/shadow', '/s2/passwd', '/s2', '/s2/']],
      ['z/s2', data, ['/s2/secret-key', '/s2/']],
      ['z/s2', neighbours, ['/s2/canary.txt']],
      ['z/s2', `/proc/self/root${data}`, ['/s2/secret-key']],
      ['z/s2', `../../../../../../../../../..${data}`, ['/s2/secret-key']],
      ['y/middle', '/', ['/etc/shadow', '/etc/passwd', '/etc/']],
      ['y/middle', dirname(neighbours), ['/data/canary.txt', '/data/']],
      ['y', dirname(dirname(neighbours)), ['/data/canary.txt', '/data/']],
      ['lie', '/etc', ['/all/lie/shadow', '/all/lie/passwd', '/all/lie/']],
      ['nested/lie', neighbours, ['/all/nested/lie/canary.txt', '/all/nested/lie/']],
      ['file', join(data, 'secret-key'), ['/all/file']],
      ['file', join(data, 'edge/control.sock'), ['/all/file']],
    ];
    await inside('mkdir -p all/z/s2 all/y/middle/data; echo own | tee all/z/s2/own.txt >all/y/middle/data/own.txt');
    for (const [place, target, paths] of attacks) {
      await inside(`rm -rf all/kept; mv all/${place} all/kept; ln -s '${target}' all/${place}`);
      for (const path of paths) expect([place, target, path, await get(path)]).toEqual([place, target, path, 404]);
      await inside(`rm all/${place}; [ ! -e all/kept ] || mv all/kept all/${place}`);
    }
    expect([await get('/s2/own.txt'), await get('/data/own.txt')]).toEqual(['own\n', 'own\n']);
  });

  test('its own links and second names lead where they lead in its container, and what is no file is none', async () => {
    await inside('echo own >all/own.txt; ln -f all/own.txt all/second.txt; ln -sf /app/all/own.txt all/link.txt');
    for (const path of ['/all/own.txt', '/all/second.txt', '/all/link.txt']) expect([path, await get(path)]).toEqual([path, 'own\n']);
    await inside('rm -rf all/z/s2 all/pipe; mkfifo all/z/s2 all/pipe');
    for (const path of ['/s2', '/s2/', '/s2/own.txt', '/all/pipe', '/all/z/s2']) expect([path, await get(path)]).toEqual([path, 404]);
  });

  test('thousands of requests, while it exchanges a folder for a link as fast as it can, get its own or nothing', async () => {
    const numbers = `(uname)[4] eq "x86_64" ? 316 : 276`;
    const exchange = `use POSIX; my $call = ${numbers}; syscall($call, -100, "$ARGV[0]", -100, "$ARGV[1]", 2) for 1 .. 1_000_000_000`;
    await inside(`rm -rf all/z/s2 all/z/lie; mkdir all/z/s2; echo own >all/z/s2/canary.txt; ln -s '${neighbours}' all/z/lie`);
    const exchanging = await inside(`perl -e '${exchange}' all/z/s2 all/z/lie >/dev/null 2>&1 & echo $!`);
    const answers = new Map<string | number, number>();
    const ask = async () => {
      const answer = await get('/s2/canary.txt');
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    };
    const isRare = (answer: string | number) => (answers.get(answer) ?? 0) < 20;
    for (let round = 0; round < 100 || isRare('own\n') || isRare(404); round++) await Promise.all(Array.from({ length: 20 }, ask));
    await inside(`kill ${exchanging}`);
    expect(new Set(answers.keys())).toEqual(new Set(['own\n', 404]));
  });

  test('what is in the place of its socket leads to nobody', async () => {
    expect(await tell('/neighbour/', 'cat kept/canary.txt')).toBe(canary);
    const control = join(installation.data, 'edge/control.sock');
    await tell('/neighbour/', `mv /run/app.sock /run/own.sock; ln -s '${control}' /run/app.sock`);
    const { status, text } = await visit(new URL('/neighbour/status', address).href);
    expect([status, text.includes('"pid"')]).toEqual([502, false]);
  });

  test('the edge itself sees volumes, logs and its own folder, and has no right to any other file of the machine', async () => {
    const { data } = installation;
    const pid = edgeProcess();
    const seen = (path: string) => readdirSync(join(`/proc/${pid}/root`, path)).toSorted();
    expect(seen(data)).toEqual(['edge', 'logs', 'volumes']);
    expect([seen(join(data, 'volumes')), seen(join(data, 'volumes/pool'))]).toEqual([['pool'], ['volumes']]);
    expect(seen('/etc').filter((name) => /shadow|passwd|ssh/.test(name))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^CapEff:\t0000000000000006$/m);
    expect(readlinkSync(`/proc/${pid}/ns/user`)).not.toBe(readlinkSync('/proc/self/ns/user'));
    // All capabilities that can be had where it is, which are more than it has, and with the whole machine in view.
    const asEdge = (namespaces: string[], path: string) =>
      spawnSync('nsenter', ['--target', String(pid), '--setuid', '0', '--setgid', '0', ...namespaces, 'perl', '-e', reading, path], {
        encoding: 'utf8',
      }).stdout;
    for (const path of ['/etc/shadow', join(data, 'secret-key')]) {
      expect([path, asEdge(['--user'], path)]).toEqual([path, 'Permission denied']);
      expect([path, asEdge(['--user', '--mount'], path)]).toEqual([path, 'No such file or directory']);
    }
    expect(asEdge(['--user', '--mount'], join(neighbours, 'canary.txt'))).toContain(canary);
  });

  test('after a shutdown nothing of the pool stays mounted anywhere', async () => {
    await platform.stop();
    expect(await installation.run(['shutdown'])).toMatchObject({ code: 0 });
    const isPool = (mount: string) => mount.includes(installation.data) && mount.includes(' /dev/loop');
    const holders = () =>
      readdirSync('/proc')
        .filter((pid) => /^\d+$/.test(pid) && procFile(pid, 'mountinfo').split('\n').some(isPool))
        .map((pid) => `${pid} ${procFile(pid, 'cmdline').replaceAll('\0', ' ')}`);
    // Whoever starts beside it, also of another installation, has a copy of all mounts until it has made its own view of the machine.
    await expect.poll(holders).toEqual([]);
    const loops = () => execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' });
    await expect.poll(loops).not.toContain(installation.data);
  });
});

const reading = `open my $file, '<', $ARGV[0] or print("$!"), exit; print <$file>;`;

/** What the kernel tells of a process, which may be gone by now. */
function procFile(pid: string, file: string) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
