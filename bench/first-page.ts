/**
 * From nothing to a first page, as on a new machine: `./offshoot` in an empty Debian until it has its packages, and a platform with an empty cache of images until
 * the guestbook answers; then an example of another type. Everything is fetched, kept in folders of its own, and removed afterwards.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createInstallation, repository } from '../e2e/installation.ts';
import { firstPerson, openProject, type Person } from '../e2e/open-project.ts';
import { visit } from '../e2e/visit.ts';
import { mirrorLines } from '../server/drivers/images/build-debian.ts';
import { records } from '../server/drivers/images/layer-cache.ts';
import { unshareMounts } from '../server/drivers/mounts.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const targets = { firstSeconds: 90, secondSeconds: 30 };
const pageSecondsMax = 1800;
const pollMilliseconds = 100;
const run = promisify(execFile);
const outputBytesMax = 64 * 2 ** 20;

/** What the smallest installation of Debian has, and a checkout of this repository. */
async function makeEmptyDebian(root: string) {
  const machine = { maxBuffer: outputBytesMax };
  await run(
    'mmdebstrap',
    ['--variant=minbase', '--dpkgopt=force-unsafe-io', 'bookworm', root, ...(await mirrorLines('bookworm'))],
    machine,
  );
  const { stdout } = await run('git', ['-C', repository, 'ls-files'], machine);
  for (const file of stdout.split('\n').filter((name) => existsSync(join(repository, name)) && name !== ''))
    cpSync(join(repository, file), join(root, 'srv', file), { recursive: true });
  const authorities = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(authorities)) cpSync(authorities, join(root, 'root/authorities.crt'));
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) cpSync(file, join(root, file), { dereference: true });
}

/** Any command that needs all packages will do. */
async function measurePackages(): Promise<number> {
  const root = mkdtempSync(join(tmpdir(), 'offshoot-bench-'));
  try {
    await makeEmptyDebian(root);
    const script = `mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" && exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      NODE_EXTRA_CA_CERTS=/root/authorities.crt /srv/offshoot backup --help`;
    const [command, ...args] = [...unshareMounts, '--pid', '--fork', 'sh', '-c', script, 'sh', root];
    return await timed(() => run(command, args, { maxBuffer: outputBytesMax }));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function untilPage(address: string) {
  const deadline = performance.now() + pageSecondsMax * 1000;
  while ((await visit(address).catch(() => undefined))?.status !== 200) {
    if (performance.now() > deadline) throw new Error(`There is no page at ${address}`);
    await sleep(pollMilliseconds);
  }
}

/** From the project that somebody creates to its page. */
async function measurePage(person: Person, example: string, httpsPort: number): Promise<number> {
  return timed(async () => {
    const project = await openProject(person);
    await project.copyFrom(join(repository, 'examples', example), 'First');
    const { edge_hostname } = await project.environment('main');
    await Promise.all([project.push('main'), untilPage(`https://${edge_hostname}:${httpsPort}/`)]);
  });
}

const seconds = (value: number) => `${value.toFixed(1)} s`;

const packages = await measurePackages();
note({ what: 'packages of the system and of npm, in an empty Debian', measured: seconds(packages) });

const images = mkdtempSync(join(tmpdir(), 'offshoot-bench-images-'));
try {
  await using installation = await createInstallation({ OFFSHOOT_IMAGES: images, OFFSHOOT_IMAGES_AHEAD: 'examples' });
  let person: Person | undefined;
  const start = await timed(async () => (person = await firstPerson(installation.url, await installation.start())));
  note({ what: 'start, until it answers', measured: seconds(start) });
  if (!person) throw new Error('Nobody is there');
  const page = await measurePage(person, 'guestbook', installation.httpsPort);
  note({ what: 'guestbook, from its project to its page', measured: seconds(page) });
  const all = packages + start + page;
  note({ what: 'all of it', measured: seconds(all), target: `< ${targets.firstSeconds} s`, isMet: all < targets.firstSeconds });
  const second = await measurePage(person, 'counter', installation.httpsPort);
  note({
    what: 'counter right after it, of other types',
    measured: seconds(second),
    target: `< ${targets.secondSeconds} s`,
    isMet: second < targets.secondSeconds,
  });
  const layers = records(images);
  const sum = (of: (layer: (typeof layers)[number]) => number) => layers.reduce((total, layer) => total + of(layer), 0);
  note({
    what: 'layers built for it',
    measured: `${layers.length}, ${Math.round(sum(({ bytes }) => bytes) / 1e6)} MB, ${seconds(sum((layer) => layer.seconds))}`,
  });
} finally {
  rmSync(images, { recursive: true, force: true });
}
printTable();
