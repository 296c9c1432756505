/** What goes on in the storm around backups: an app with a database and files, people who visit it, and somebody who backs up, restores and deletes. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Person } from '../../testing/platform.ts';

/** `POST /?n=` writes an entry to the database and then a file; `/entries` tells of both. */
export const stormFiles = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { files: { source: storage, source_path: files } }
    relationships: { pg: "pg:postgresql" }
    web: { commands: { start: exec node server.js } }
services: { pg: { type: "postgresql:17" } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': `
const { execFile } = require('node:child_process');
const { open, readdir, readFile } = require('node:fs/promises');
const { createServer } = require('node:http');
const { promisify } = require('node:util');
const { PORT, PG_HOST, PG_PORT, PG_USERNAME, PG_PASSWORD, PG_PATH } = process.env;
const at = ['-qAt', '-h', PG_HOST, '-p', PG_PORT, '-U', PG_USERNAME, PG_PATH, '-v', 'ON_ERROR_STOP=1'];
const ask = async (statement) => {
  const made = 'set client_min_messages = warning; create table if not exists entries (n bigint primary key, words text);';
  const { stdout } = await promisify(execFile)('psql', [...at, '-c', made, '-c', statement], { env: { ...process.env, PGPASSWORD: PG_PASSWORD } });
  return stdout.trim();
};
const write = async (n) => {
  await ask('insert into entries select ' + n + ', string_agg(md5((n * ' + n + ')::text), chr(32)) from generate_series(1, 20000) as n');
  const file = await open('/app/files/entry-' + n, 'w');
  await file.writeFile('entry ' + n + ' '.repeat(n));
  await file.sync();
  await file.close();
};
const entries = async () => {
  const names = (await readdir('/app/files')).sort();
  const files = await Promise.all(names.map(async (name) => [name, await readFile('/app/files/' + name, 'utf8')]));
  return JSON.stringify({ rows: await ask('select n, md5(words) from entries order by n'), files });
};
createServer(async (request, reply) => {
  try {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    if (request.method === 'POST') await write(Number(searchParams.get('n')));
    reply.end(pathname === '/entries' ? await entries() : 'served');
  } catch (error) {
    reply.writeHead(500).end(String(error));
  }
}).listen(PORT, '0.0.0.0');
`,
};

const operationsMax = 32;
const lookMilliseconds = 50;
const turnSecondsMax = 300;

export type Random = (below: number) => number;

/** A generator that gives the same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

type Visit = (method: string, path: string) => Promise<string>;

/** Visits through the edge, as people do, however long that takes. */
export function visitorOf(port: number, host: string): Visit {
  return (method, path) =>
    new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', method, path, headers: { host }, agent: false }, (reply) => {
        text(reply).then((body) => resolve(`${reply.statusCode} ${body}`), reject);
      })
        .on('error', reject)
        .end();
    });
}

/** Two visitors at a time until stopped; answers with every reply that was not right. */
export function visitConstantly(visit: Visit) {
  const wrong: string[] = [];
  const stop = new AbortController();
  const one = async () => {
    while (!stop.signal.aborted) {
      const got = await visit('GET', '/').catch(String);
      if (got !== '200 served') wrong.push(got);
      await sleep(lookMilliseconds);
    }
  };
  const visiting = [one(), one()];
  return async () => {
    stop.abort();
    await Promise.all(visiting);
    return wrong;
  };
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + turnSecondsMax * 1000;
  for (let found = await look(); ; found = await look()) {
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`The test waited in vain for: ${what}`);
    await sleep(lookMilliseconds);
  }
}

/** A user who knows nothing of the kills, and begins each thing as soon as it is allowed. */
function openOperator(owner: Person, projectId: string, visit: Visit, random: Random) {
  const at = `/projects/${projectId}/environments/main`;
  /** The entries that each backup holds. */
  const entries = new Map<string, string>();
  const begin = (method: string, path: string, body?: unknown): Promise<string> =>
    until(`${method} ${path}`, async () => {
      const { status, json, text: said } = await owner.send(method, `${at}${path}`, body);
      if (status === 409) return undefined;
      if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${said}`);
      return json._embedded.activities[0].payload.backup_name;
    });
  const restorable = (atLeast: number): Promise<string[]> =>
    until(`${atLeast} can be restored`, async () => {
      const backups: { id: string; restorable: boolean; status: string }[] = (await owner.send('GET', `${at}/backups`)).json;
      const ids = backups.filter((backup) => backup.restorable && backup.status === 'CREATED').map(({ id }) => id);
      return ids.length >= atLeast ? ids : undefined;
    });

  return {
    entries,
    backUp: async (safe: boolean, n: number) => {
      await until('nothing happens', async () => ((await owner.send('GET', at)).json.is_dirty ? undefined : true));
      const written = await visit('POST', `/?n=${n}`);
      if (written !== '200 served') throw new Error(`Entry ${n} was answered ${written}`);
      const now = await visit('GET', '/entries');
      entries.set(await begin('POST', '/backup', { safe }), now);
    },
    restore: async () => {
      const ids = await restorable(1);
      return begin('POST', `/backups/${ids[random(ids.length)]}/restore`, {});
    },
    remove: async () => {
      const id = (await restorable(2)).at(-1);
      entries.delete(await begin('DELETE', `/backups/${id}`));
    },
  };
}

/** Does one thing after the other until there are enough and all have ended; tells what each backup holds, and which was restored last. */
export async function operate(owner: Person, projectId: string, visit: Visit, random: Random, isEnough: () => boolean) {
  const { entries, backUp, restore, remove } = openOperator(owner, projectId, visit, random);
  const script = [(n: number) => backUp(true, n), (n: number) => backUp(false, n), restore, remove];
  for (let n = 0; n < operationsMax && (n < script.length || !isEnough()); n++) await script[n % script.length]?.(n);
  const last = await restore();
  await until('all is done', async () => {
    const { rows } = await sql`select from activities where state in ('pending', 'in_progress')`.execute(owner.home.platform.db);
    return rows.length === 0 ? true : undefined;
  });
  return { entries, last };
}
