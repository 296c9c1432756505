import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openEmbeddedPostgres, runningEmbeddedPostgresUrl } from './embedded.ts';

const asRoot = process.getuid?.() === 0;
const opened: { stop(): Promise<void> }[] = [];
const children: ChildProcess[] = [];
const slow = { timeout: 120_000 };
const whole = { timeout: 300_000 };
const template = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
let parent: string;

/** Made by mkdtemp, so nobody else can enter it: as root this is the private view of launcher.ts. */
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
});

beforeAll(async () => {
  const server = await openEmbeddedPostgres(template);
  await server.stop();
});

afterAll(() => rmSync(template, { recursive: true, force: true }));

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of opened.splice(0)) await server.stop();
  rmSync(parent, { recursive: true, force: true });
});

/** What a first start makes, quicker than a first start. */
const copyTemplate = (folder: string) => execFileSync('cp', ['--archive', '--', template, folder]);

async function open(folder = join(parent, 'postgres')) {
  if (!existsSync(folder)) copyTemplate(folder);
  const server = await openEmbeddedPostgres(folder);
  opened.push(server);
  return server;
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new Client(url);
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return rows;
  } finally {
    await client.end();
  }
}

/** Another process opens the folder, and writes numbers for as long as it lives, saying each that is committed. */
const openAndWrite = `
  import { Client } from 'pg';
  import { openEmbeddedPostgres } from ${JSON.stringify(new URL('embedded.ts', import.meta.url).href)};
  const { url } = await openEmbeddedPostgres(process.argv[1]);
  const client = new Client(url);
  await client.connect();
  await client.query('create table numbers (number int)');
  for (let number = 1; ; number++) {
    await client.query('insert into numbers values ($1)', [number]);
    console.log(number);
  }
`;

function startWriter(folder: string) {
  const writer = spawn(process.execPath, ['--input-type=module', '--eval', openAndWrite, folder], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  writer.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  children.push(writer);
  return { writer, lastSaid: () => Number(said.slice(0, said.lastIndexOf('\n')).split('\n').pop()) };
}

async function killed(child: ChildProcess) {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

const postmasterOf = (folder: string) => Number.parseInt(readFileSync(join(folder, 'cluster', 'postmaster.pid'), 'utf8'), 10);

test('what was stored is there after a stop and a start', async () => {
  chmodSync(parent, 0o711);
  const first = await open();
  await query(first.url, `create table words (word text); insert into words values ('Grüne')`);
  expect(runningEmbeddedPostgresUrl(join(parent, 'postgres'))).toBe(first.url);
  await first.stop();
  expect(runningEmbeddedPostgresUrl(join(parent, 'postgres'))).toBeUndefined();

  const second = await open();
  expect(await query(second.url, 'select word, upper(word) from words')).toEqual([{ word: 'Grüne', upper: 'GRÜNE' }]);
});

test.runIf(asRoot)('no other user of the machine can connect, and PostgreSQL is not root', async () => {
  chmodSync(parent, 0o711);
  const { url } = await open();
  const refusalOf = async (user: string) => {
    process.seteuid!(user);
    const refusal: unknown = await query(url, 'select 1').catch((error: unknown) => error);
    process.seteuid!(0);
    return refusal;
  };
  expect(await refusalOf('nobody')).toMatchObject({ code: 'EACCES' });
  expect(await refusalOf('offshoot')).toMatchObject({ message: expect.stringContaining('Peer authentication failed') });
  expect(readFileSync(`/proc/${postmasterOf(join(parent, 'postgres'))}/status`, 'utf8')).not.toMatch(/^Uid:.*\b0\b/m);
});

test('after kill -9 PostgreSQL comes back in its place, with committed rows; killed again and again, its opener is told', async () => {
  const folder = join(parent, 'postgres');
  const first = await open();
  await query(first.url, 'create table numbers as select 42 as number');
  const lockFile = join(folder, 'cluster', 'postmaster.pid');
  const numbers = () => query(first.url, 'select number from numbers').catch(() => undefined);
  for (let kills = 1; kills <= 3; kills++) {
    const killed = postmasterOf(folder);
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => existsSync(`/proc/${killed}`)).toBe(false);
    await expect.poll(numbers).toEqual([{ number: 42 }]);
  }
  const lock = readFileSync(lockFile, 'utf8');
  process.kill(postmasterOf(folder), 'SIGKILL');
  expect(await first.exited).toMatch(/PostgreSQL has ended by itself \(signal SIGKILL\)/);

  const stranger = spawn('sleep', ['60']);
  children.push(stranger);
  writeFileSync(lockFile, lock.replace(/^\d+/, String(stranger.pid)));
  const second = await open();
  expect(await query(second.url, 'select number from numbers')).toEqual([{ number: 42 }]);
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
});

test('after kill -9 of the opener PostgreSQL ends too, and nothing acknowledged is lost', whole, async () => {
  const folder = join(parent, 'postgres');
  copyTemplate(folder);
  const { writer, lastSaid } = startWriter(folder);
  await expect.poll(lastSaid, slow).toBeGreaterThan(50);
  const postmaster = postmasterOf(folder);
  await killed(writer);
  await expect.poll(() => existsSync(`/proc/${postmaster}/cwd`), slow).toBe(false);

  const { url } = await open();
  const [row] = await query(url, 'select count(*)::int as rows, max(number) as last from numbers');
  expect(row).toEqual({ rows: expect.any(Number), last: expect.any(Number) });
  expect(row).toSatisfy(({ rows, last }: { rows: number; last: number }) => rows === last && last >= lastSaid());
});

const lateMax = 10;

/** Where the kill came too late, because the machine kept us waiting, and nothing was interrupted, all is begun again, and killed sooner. */
async function killFirstStart(folder: string, milliseconds: number, timesLate = 0): Promise<void> {
  const { writer } = startWriter(folder);
  const isThere = (name: string) => existsSync(join(folder, name));
  await expect.poll(() => isThere('cluster-in-the-making') || isThere('cluster'), { ...slow, interval: 5 }).toBe(true);
  await sleep(milliseconds / 2 ** timesLate);
  await killed(writer);
  if (!isThere('cluster')) return;
  expect(timesLate).toBeLessThan(lateMax);
  await (await openEmbeddedPostgres(folder)).stop();
  rmSync(folder, { recursive: true });
  await killFirstStart(folder, milliseconds, timesLate + 1);
}

test('a first start killed at any moment is made good by the next one', whole, async () => {
  const folder = join(parent, 'postgres');
  for (const milliseconds of [0, 50, 200, 500]) await killFirstStart(folder, milliseconds);
  const { url } = await open();
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(readdirSync(folder)).not.toContain('cluster-in-the-making');
});

test('a folder with a long and odd name will do', async () => {
  const folder = join(parent, `it's "odd", %41 and ${'long '.repeat(20)}`, 'postgres');
  mkdirSync(join(folder, '..'));
  const { url } = await open(folder);
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a start that fails says why, in the words of PostgreSQL', async () => {
  copyTemplate(join(parent, 'postgres'));
  await expect(openEmbeddedPostgres(join(parent, 'postgres'), { shared_buffers: 'plenty' })).rejects.toThrow(
    /PostgreSQL did not start[^]*invalid value for parameter "shared_buffers"/,
  );
});
