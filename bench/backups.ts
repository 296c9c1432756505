/**
 * What a backup costs those who visit, and how long it takes until it can be trusted: of a database of five gibibytes that hardly compresses, held and
 * live, again after one per cent of it has changed, and back again; with a plain copy of the same bytes as the anchor.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../e2e/eventually.ts';
import { createInstallation, plainHttp } from '../e2e/installation.ts';
import { firstPerson, openProject, read, type Project } from '../e2e/open-project.ts';
import { visit } from '../e2e/visit.ts';
import { startLoad } from '../edge/testing/load.ts';
import { fillsFor, fullFiles } from './harness/measured-stack.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const gibibyte = 2 ** 30;
const mebibyte = 2 ** 20;
const clients = 4;
const changedShare = 0.01;
/** A large backup takes minutes until all of it is compressed and read back. */
const backupSecondsMax = 1800;
const targets = { heldMilliseconds: 1000, secondShare: 0.05, restoreSeconds: 10 };

await using installation = await createInstallation(plainHttp);
const person = await firstPerson(installation.url, await installation.start());

async function fill(main: string, ranges: readonly { from: number; to: number }[]) {
  for (const { from, to } of ranges) {
    const { status, text } = await visit(new URL(`/?from=${from}&to=${to}&kind=various`, main).href, { method: 'POST' });
    if (status !== 200) throw new Error(`The database could not be filled: ${status} ${text}`);
    // PostgreSQL marks every page some time after a large insert; that is not a change that the backup is to be measured by.
    await read(main, '/settle');
  }
}

async function filled(gibibytes: number) {
  const project = await openProject(person);
  await project.write(fullFiles, 'First');
  await project.push('main');
  const main = await project.address('main');
  const ranges = fillsFor(gibibytes * gibibyte);
  const seconds = await timed(() => fill(main, ranges));
  console.error(`a database of ${gibibytes} GiB was filled in ${seconds.toFixed(0)} s`);
  return { project, main, rows: ranges.at(-1)?.to ?? 0 };
}

interface Backup {
  id: string;
  seconds: number;
  addedBytes: number;
}

/** Makes a backup while there are visitors, and tells what they noticed. */
async function backup({ project, main }: { project: Project; main: string }, safe: boolean, what: string): Promise<Backup> {
  const { hostname, port } = new URL(main);
  const load = startLoad({ port: Number(port), host: hostname, clients, keepAlive: true });
  let log = '';
  const seconds = await timed(
    async () => ({ log } = await ended(project, await project.api('POST', '/environments/main/backup', { safe }))),
  );
  const { failures, replies, slowestMilliseconds } = await load.stop();
  for (const failure of failures.slice(0, 5)) console.error(`  ${failure}`);
  note({
    what: `${what}: the longest that a visitor waited`,
    measured: `${slowestMilliseconds.toFixed(0)} ms; ${failures.length} of ${replies + failures.length} requests failed`,
    target: `< ${targets.heldMilliseconds} ms, 0 failed`,
    isMet: slowestMilliseconds < targets.heldMilliseconds && failures.length === 0,
  });
  const [newest] = await project.api('GET', '/environments/main/backups');
  const addedBytes = addedIn(log);
  note({
    what: `${what}: until it was stored and read back`,
    measured: `${seconds.toFixed(1)} s; ${(addedBytes / mebibyte).toFixed(0)} MiB added`,
  });
  return { id: newest.id, seconds, addedBytes };
}

async function ended(project: Project, { _embedded }: { _embedded: { activities: { id: string }[] } }): Promise<{ log: string }> {
  const path = `/activities/${_embedded.activities[0]?.id}`;
  let activity = await project.api('GET', path);
  const isOver = async () => (activity = await project.api('GET', path)).state === 'complete';
  await eventually('the backup is made', isOver, backupSecondsMax, () => activity.log);
  if (activity.result !== 'success') throw new Error(activity.log);
  return activity;
}

/** The log of a backup says what it added to the store. */
function addedIn(log: string): number {
  const [, megabytes] = /(\d+(?:\.\d+)?) MB (?:were )?added/.exec(log) ?? [];
  if (megabytes === undefined) throw new Error(`The log does not say how much was added:\n${log}`);
  return Number(megabytes) * mebibyte;
}

/** The anchor: as many bytes from one file to another, to the disk. */
async function copySeconds(gibibytes: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
  try {
    const run = promisify(execFile);
    await run('dd', ['if=/dev/urandom', `of=${folder}/from`, 'bs=1M', `count=${gibibytes * 1024}`]);
    return await timed(() => run('dd', [`if=${folder}/from`, `of=${folder}/to`, 'bs=1M', 'conv=fsync']));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const large = 5;

async function measureFive() {
  const stack = await filled(large);
  const first = await backup(stack, true, 'safe backup of 5 GiB');
  await fill(stack.main, [{ from: 1, to: Math.floor(stack.rows * changedShare) }]);
  const second = await backup(stack, false, 'live backup, 1 % changed');
  const share = second.addedBytes / first.addedBytes;
  note({
    what: 'what the second one added, of the first',
    measured: `${(100 * share).toFixed(1)} %`,
    target: `< ${100 * targets.secondShare} %`,
    isMet: share < targets.secondShare,
  });
}

async function measureRestore() {
  const stack = await filled(1);
  const [before, { id }] = [await read(stack.main, '/rows'), await backup(stack, false, 'live backup of 1 GiB')];
  await fill(stack.main, [{ from: 1, to: 100 }]);
  let timings: Record<string, number> = {};
  const seconds = await timed(async () => ({ timings } = await stack.project.act(`/environments/main/backups/${id}/restore`)));
  if ((await read(stack.main, '/rows')) !== before) throw new Error('What was restored is not what was there.');
  const anchor = await copySeconds(1);
  note({
    what: 'restore of 1 GiB of PostgreSQL',
    measured: `${seconds.toFixed(1)} s; a plain copy of 1 GiB ${anchor.toFixed(1)} s (${(seconds / anchor).toFixed(1)})`,
    target: `< ${targets.restoreSeconds} s`,
    isMet: seconds < targets.restoreSeconds,
  });
  const told = Object.entries(timings).filter(([, took]) => took >= 0.05);
  note({ what: '  of which', measured: told.map(([name, took]) => `${name} ${took.toFixed(2)} s`).join(', ') });
}

await measureFive();
await measureRestore();
printTable();
