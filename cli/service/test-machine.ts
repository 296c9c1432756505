/**
 * A machine to install services on, in a folder of its own, with a real database. In the place of systemd is something that does what a platform does that matters
 * here: it migrates the database with the migrations of the program that is current, and answers. A program with a file `broken` ends after that.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type pg from 'pg';
import { freePort } from '../../edge/testing/ports.ts';
import { migrate } from '../../server/kernel/migrate.ts';
import { openPool } from '../../server/kernel/sql.ts';
import { cloneDatabase } from '../../server/testing/platform.ts';
import { install } from './install.ts';
import { currentLink, currentVersion, type ServicePaths } from './service-paths.ts';
import type { Service } from './service.ts';
import type { ServiceManager } from './service-manager.ts';
import { platformUnit } from './unit-files.ts';

const migrations = join(import.meta.dirname, '..', '..', 'server', 'migrations');

export interface TestMachine extends AsyncDisposable {
  service: Service;
  paths: ServicePaths;
  env: Record<string, string>;
  pool: pg.Pool;
  said: string[];
  enabled: Set<string>;
  /** Calls that change something, in their order. */
  calls: string[];
  /** From that call on, or right after it, nothing can be done any more: as if the command had been killed. */
  killAt(call: number, when: 'before' | 'after'): void;
  /** Somebody runs a command again. */
  revive(): void;
  /** The folder of a version, with further files by their paths. */
  program(version: string, files?: Record<string, string>): Promise<string>;
  installed(version: string): Promise<void>;
  runs(): boolean;
}

export async function openTestMachine(): Promise<TestMachine> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-service-'));
  const { url, drop } = await cloneDatabase();
  const pool = openPool(url);
  const paths: ServicePaths = {
    programs: join(folder, 'opt'),
    settings: join(folder, 'etc', 'offshoot.env'),
    units: join(folder, 'units'),
    command: join(folder, 'bin', 'offshoot'),
    data: join(folder, 'data'),
  };
  const [port, sshPort, edgePort, httpsPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const env = {
    DATABASE_URL: url,
    OFFSHOOT_PORT: String(port),
    OFFSHOOT_SSH_PORT: String(sshPort),
    OFFSHOOT_HTTP_PORT: String(edgePort),
    OFFSHOOT_HTTPS_PORT: String(httpsPort),
    OFFSHOOT_TRACES_PORT: String(await freePort()),
    OFFSHOOT_RELAY_PORT: String(await freePort()),
  };
  const { manager, ...managed } = testManager(paths, pool, port);
  const said: string[] = [];
  const patience = { answerSecondsMax: 5, lastingSeconds: 0 };
  const service: Service = { paths, manager, patience, isRoot: true, flush: async () => {}, say: (line) => void said.push(line) };
  const program = (version: string, files: Record<string, string> = {}) => makeProgram(join(folder, 'sources', version), version, files);
  return {
    ...managed,
    service,
    paths,
    env,
    pool,
    said,
    program,
    installed: async (version) => install(service, await program(version), env),
    [Symbol.asyncDispose]: async () => {
      managed.revive();
      await manager.stop(platformUnit);
      await pool.end();
      await drop();
      await rm(folder, { recursive: true });
    },
  };
}

async function makeProgram(folder: string, version: string, files: Record<string, string>): Promise<string> {
  await mkdir(join(folder, 'server'), { recursive: true });
  await cp(migrations, join(folder, 'server', 'migrations'), { recursive: true });
  const all = {
    'package.json': JSON.stringify({ version }),
    'package-lock.json': JSON.stringify({ packages: { 'node_modules/needed': {}, 'node_modules/for-developers': { dev: true } } }),
    'node_modules/needed/index.js': '',
    'node_modules/for-developers/index.js': '',
    'node_modules/.cache/large': '',
    'node_modules/.vitest-cache/large': '',
    'data/secret-key': '',
    offshoot: '#!/bin/sh\n',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

function testManager(paths: ServicePaths, pool: pg.Pool, port: number) {
  const [calls, enabled] = [[] as string[], new Set<string>()];
  let platform: Server | undefined;
  let [starts, readySince] = [0, 0];
  let kill: { call: number; when: 'before' | 'after' } | undefined;
  const isKilled = (when: 'before' | 'after') =>
    kill !== undefined && (calls.length > kill.call || (calls.length === kill.call && (when === 'after' || kill.when === when)));
  const change = async (call: string, work: () => unknown) => {
    calls.push(call);
    if (isKilled('before')) throw new Error('killed');
    await work();
    if (isKilled('after')) throw new Error('killed');
  };
  const end = async () => {
    const ended = platform;
    platform = undefined;
    if (ended) await once(ended.close(), 'close');
  };
  const start = async () => {
    if (platform) return;
    starts += 1;
    const program = currentLink(paths);
    await migrate(pool, join(program, 'server', 'migrations'));
    const answer = `${currentVersion(paths)}`;
    if (existsSync(join(program, 'broken'))) throw new Error(await readFile(join(program, 'broken'), 'utf8'));
    const server = createServer((_, response) => void response.setHeader('connection', 'close').end(answer));
    await once(server.listen(port, '127.0.0.1'), 'listening');
    platform = server;
    readySince = Date.now();
  };
  const manager: ServiceManager = {
    isThere: () => true,
    reload: () => change('reload', () => {}),
    enable: (unit) => change(`enable ${unit}`, () => enabled.add(unit)),
    disable: (unit) => change(`disable ${unit}`, () => enabled.delete(unit)),
    start: (unit) => change(`start ${unit}`, start),
    stop: (unit) => change(`stop ${unit}`, end),
    runningAs: async () => (platform ? String(starts) : undefined),
    readySince: async () => readySince,
  };
  return {
    manager,
    calls,
    enabled,
    runs: () => platform !== undefined,
    killAt: (call: number, when: 'before' | 'after') => {
      calls.length = 0;
      kill = { call, when };
    },
    revive: () => void (kill = undefined),
  };
}
