/**
 * An environment with every kind of data: PostgreSQL, MariaDB, a Redis that keeps what it has, and files. It can be filled with known state and read back
 * row by row and byte by byte, and written to all the time.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import type { Platform } from '../../platform.ts';
import { rooms } from '../../rooms.ts';
import { activityRow } from '../../testing/activities.ts';
import type { Content, TestDeployments } from '../../testing/deployed-project.ts';
import { commitFiles, git } from '../../testing/repository.ts';

export const drillTypes = ['nodejs:22', 'postgresql:17', 'mariadb:11.8', 'redis-persistent:8.0'];

/** Answers with its version and color; `POST /?n=` writes an entry everywhere, one place after the other, and answers once all have it. */
const server = (version: string) => `
const { execFile } = require('node:child_process');
const { open } = require('node:fs/promises');
const { createServer } = require('node:http');
const { promisify } = require('node:util');
const { PORT, COLOR } = process.env;
const run = promisify(execFile);
async function write(n) {
  await run('dash', ['/app/client.sh', 'pg', 'insert into entries values (' + n + ')']);
  await run('dash', ['/app/client.sh', 'maria', 'insert into entries values (' + n + ')']);
  await run('dash', ['/app/client.sh', 'keys', 'rpush', 'entries', n]);
  const file = await open('/app/files/entries-' + n, 'w');
  await file.writeFile(String(n));
  await file.sync();
  await file.close();
}
createServer(async (request, reply) => {
  try {
    const n = new URL(request.url, 'http://x').searchParams.get('n');
    if (request.method === 'POST') await write(Number(n));
    reply.end(JSON.stringify({ version: '${version}', color: COLOR ?? null, n }));
  } catch (error) {
    reply.writeHead(500).end(String(error));
  }
}).listen(PORT, '0.0.0.0');
`;

const client = `
case "$1" in
  pg) PGPASSWORD=$PG_PASSWORD exec psql -qAt -h "$PG_HOST" -p "$PG_PORT" -U "$PG_USERNAME" "$PG_PATH" -v ON_ERROR_STOP=1 -c "$2" ;;
  maria) MYSQL_PWD=$MARIA_PASSWORD exec mariadb --batch --skip-column-names -h "$MARIA_HOST" -P "$MARIA_PORT" -u "$MARIA_USERNAME" "$MARIA_PATH" -e "$2" ;;
  keys) shift; exec redis-cli -e -h "$KEYS_HOST" -p "$KEYS_PORT" "$@" ;;
esac
`;

export interface Drill {
  services?: string;
  hooks?: string;
  type?: string;
}

const threeServices = '{ pg: { type: "postgresql:17" }, maria: { type: "mariadb:11.8" }, keys: { type: "redis-persistent:8.0" } }';
const threeRelationships = '{ pg: "pg:postgresql", maria: "maria:mysql", keys: "keys:redis" }';

export const drillFiles = (version: string, { hooks = '{}' }: Drill = {}): Content => ({
  ...smallFiles(version, { hooks, services: threeServices }),
  'client.sh': client,
});

/** A project without databases, for what is done many times. */
export const smallFiles = (version: string, { services = '{}', hooks = '{}' }: Drill = {}): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { files: { source: storage, source_path: files } }
    relationships: ${services === threeServices ? threeRelationships : '{}'}
    hooks: ${hooks}
    web: { commands: { start: exec node server.js } }
services: ${services}
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': server(version),
});

/** Fetches from the store once, and then from a copy: for tests that restore many times, as others test the store. */
export function fetchingOnce({ blobs, config }: Platform): Blobs['restore'] {
  const fetched = mkdtempSync(join(config.data, 'fetched-'));
  return async (repository, stored, parts, signal) => {
    for (const { name, folder } of parts) {
      const copy = join(fetched, stored.backup, name);
      const isThere = existsSync(copy);
      if (!isThere) mkdirSync(copy, { recursive: true });
      if (!isThere) await blobs.restore(repository, stored, [{ name, folder: copy }], signal);
      execFileSync('cp', ['--archive', '--', `${copy}/.`, folder]);
    }
  };
}

const workSecondsMax = 280;
const lookMilliseconds = 20;

/** Works until nothing waits any more; slower machines have their time. */
export async function workOff(platform: Platform): Promise<void> {
  const runner = startRunner(activitiesOf(rooms), platform, { leaseSeconds: 2 });
  const isWorkLeft = async () =>
    (await sql`select from activities where state in ('pending', 'in_progress') limit 1`.execute(platform.db)).rows.length > 0;
  try {
    const until = Date.now() + workSecondsMax * 1000;
    while (await isWorkLeft()) {
      if (Date.now() > until) throw new Error('The activities did not come to an end');
      await new Promise((resolve) => setTimeout(resolve, lookMilliseconds));
    }
  } finally {
    await runner.close();
  }
}

export async function openDrill(all: TestDeployments) {
  const project = await all.project();
  const { platform } = all.home;
  const { projectId, owner } = project;
  const at = (environment: string) => `/projects/${projectId}/environments/${encodeURIComponent(environment)}`;

  const begin = async (environment: string, path: string, body: unknown = {}): Promise<{ id: string }> => {
    const { status, json, text } = await owner.send('POST', `${at(environment)}${path}`, body);
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${path} answered ${status}: ${text}`);
    return activity;
  };
  const ended = async ({ id }: { id: string }) => {
    await workOff(platform);
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(platform.db);
    const { result, payload, environments } = await activityRow(platform, id);
    return { id, result, payload, environments, log: rows.map(({ message }) => message).join('') };
  };
  const well = async (activity: { id: string }) => {
    const end = await ended(activity);
    if (end.result !== 'success') throw new Error(`The activity failed:\n${end.log}`);
    return end;
  };

  return {
    ...project,
    at,
    ended,
    act: async (path: string, body: unknown) => well(await begin('main', path, body)),
    /** Deploys the content and makes it the head of its branch, as a push does. */
    release: async (content: Content, environment = 'main') => {
      const log = await project.push(content, { environment });
      const [row] = await platform.db
        .selectFrom('deployments')
        .select('commit_id')
        .where('project_id', '=', projectId)
        .where('environment_id', '=', environment)
        .where('status', '=', 'current')
        .execute();
      const head_commit = row?.commit_id ?? '';
      git(platform.git.path(projectId), ['update-ref', `refs/heads/${environment}`, head_commit]);
      await platform.db
        .updateTable('environments')
        .set({ head_commit })
        .where('project_id', '=', projectId)
        .where('id', '=', environment)
        .execute();
      return log;
    },
    commit: (content: Content) => commitFiles(platform.git.path(projectId), undefined, content),
    /** Answers with the id of the backup. */
    backUp: async (safe: boolean, environment = 'main'): Promise<string> => {
      const { id } = await well(await begin(environment, '/backup', { safe }));
      const { json } = await owner.send('GET', `${at(environment)}/backups`);
      return json.find((backup: { restorable: boolean }) => backup.restorable)?.id ?? `none was made by ${id}`;
    },
    beginRestore: (backup: string, body: object = {}, origin = 'main') => begin(origin, `/backups/${backup}/restore`, body),
    restore: async (backup: string, body: object = {}, origin = 'main') => well(await begin(origin, `/backups/${backup}/restore`, body)),
    /** Restores the backup, and accepts any result. */
    tryToRestore: async (backup: string, body: object = {}) => ended(await begin('main', `/backups/${backup}/restore`, body)),
    folder: async (volume: string, environment = 'main') => {
      const { stack_id } = await project.row(environment);
      const found = await all.machine.volumes.volume(`stack-${stack_id}-${volume}`);
      if (!found) throw new Error(`There is no ${volume}`);
      return found.path;
    },
  };
}

export type DrilledProject = Awaited<ReturnType<typeof openDrill>>;

const ask = ({ inside }: DrilledProject, kind: 'pg' | 'maria', statement: string, environment?: string) =>
  inside(`dash /app/client.sh ${kind} '${statement.replaceAll("'", `'\\''`)}'`, environment);
const askKeys = ({ inside }: DrilledProject, command: string, environment?: string) =>
  inside(`dash /app/client.sh keys ${command}`, environment);

const rowsMax = 500;

/** Puts known data into every place, some of it awkward. */
export async function fill(project: DrilledProject): Promise<void> {
  const tables = 'create table entries (n bigint primary key);';
  await ask(
    project,
    'pg',
    `${tables} create table things (n serial primary key, words text, bytes bytea, doc jsonb, at timestamptz);
     insert into things (words, bytes, doc, at) select repeat(md5(n::text), n), decode(md5(n::text), 'hex'), jsonb_build_object('n', n, 'ü', null),
       timestamptz '2026-01-01' + n * interval '1 hour' from generate_series(1, ${rowsMax}) as n; create index on things (words text_pattern_ops);`,
  );
  await ask(
    project,
    'maria',
    `${tables} create table things (n bigint primary key auto_increment, words longtext character set utf8mb4, bytes blob, at datetime(6));
     insert into things (words, bytes, at) select repeat(md5(seq), seq), unhex(md5(seq)), date_add('2026-01-01', interval seq hour) from seq_1_to_${rowsMax};`,
  );
  for (const command of ['set word "ünïcode"', 'hset things a 1 b 2', 'zadd ranks 1 one 2.5 two', 'rpush list x y z', 'setbit bits 77 1'])
    await askKeys(project, command);
  await fillFiles(await project.folder('storage-app'));
}

export async function fillFiles(root: string): Promise<void> {
  const files = join(root, 'files/known');
  const path = (name: string) => join(files, name);
  mkdirSync(path('empty folder/within'), { recursive: true });
  writeFileSync(path('empty'), '');
  writeFileSync(path('ünïcode \n name'), 'odd');
  writeFileSync(path('secret'), 'only for its owner');
  chmodSync(path('secret'), 0o400);
  writeFileSync(path('sticky'), 'set');
  chmodSync(path('sticky'), 0o6755);
  writeFileSync(path('of another'), 'x');
  chownSync(path('of another'), 1234, 4321);
  linkSync(path('of another'), path('the same'));
  symlinkSync('/nowhere/at all', path('dangling'));
  symlinkSync('secret', path('link'));
  writeFileSync(path('sparse'), 'begin');
  truncateSync(path('sparse'), 64 * 2 ** 20);
  execFileSync('dd', ['if=/dev/urandom', `of=${path('large')}`, 'bs=1M', 'count=5'], { stdio: 'ignore' });
  utimesSync(path('empty folder'), 1_000_000_000, 1_000_000_000.5);
}

/** All data of the environment except for the entries. */
export async function stateOf(project: DrilledProject, environment = 'main') {
  const keys = async (command: string) => askKeys(project, command, environment);
  const things = 'select * from things order by n;';
  return {
    pg: digest(await ask(project, 'pg', `${things} select last_value from things_n_seq;`, environment)),
    maria: digest(await ask(project, 'maria', `${things} check table things;`, environment)),
    keys: await Promise.all(['get word', 'hgetall things', 'zrange ranks 0 -1 withscores', 'lrange list 0 -1', 'bitcount bits'].map(keys)),
    files: filesBelow(await project.folder('storage-app', environment), 'files/known'),
  };
}

const digest = (text: string) => `${text.split('\n').length} lines: ${createHash('sha256').update(text).digest('hex')}`;

/** The entries that were written one after the other: at every moment each place has the numbers from 1 to its last. */
export async function entriesOf(project: DrilledProject, environment = 'main') {
  const counted = 'select count(*) = coalesce(max(n), 0), count(*) from entries';
  const [pg, maria, keys] = await Promise.all([
    ask(project, 'pg', counted, environment),
    ask(project, 'maria', counted, environment),
    askKeys(project, 'llen entries', environment),
  ]);
  const files = readdirSync(join(await project.folder('storage-app', environment), 'files')).filter((name) => name.startsWith('entries-'));
  const [pgWhole, pgCount] = pg.split('|');
  const [mariaWhole, mariaCount] = maria.split('\t');
  if (pgWhole !== 't' || mariaWhole !== '1') throw new Error(`There are gaps: ${pg}, ${maria}`);
  return [Number(pgCount), Number(mariaCount), Number(keys), files.length] as const;
}

/** Everything there is to know of every file, by its path. */
export function filesBelow(root: string, below = '.'): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(root, below))) {
    const path = join(below, name);
    const at = join(root, path);
    const { mode, uid, gid, size, mtimeNs, nlink, blocks } = lstatSync(at, { bigint: true });
    const kind = Number(mode) & 0o170000;
    const content =
      kind === 0o120000 ? readlinkSync(at) : kind === 0o100000 ? createHash('sha256').update(readFileSync(at)).digest('hex') : '';
    const isSparse = kind === 0o100000 && blocks * 512n < size / 2n;
    const times = kind === 0o120000 ? '' : mtimeNs;
    found[path] = [mode.toString(8), uid, gid, kind === 0o040000 ? '' : size, times, nlink, isSparse ? 'sparse' : '', content].join(' ');
    if (kind === 0o040000) Object.assign(found, filesBelow(root, path));
  }
  const top = lstatSync(root);
  found['.'] = [top.mode.toString(8), top.uid, top.gid].join(' ');
  return found;
}
