/** Repositories to deploy and measure. They need no packages, so that what takes time is the platform. */

/** Nothing but a Node.js program. */
export const smallFiles: Record<string, string> = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    web: {commands: {start: exec node server.mjs}}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.mjs': `
import { createServer } from 'node:http';
createServer((request, response) => response.end('here')).listen(Number(process.env.PORT));
`,
};

/** An answer takes so long that at every moment some are under way, and clients leave the processors to others. */
const answerMilliseconds = 20;
const bytesPerRow = 8192;
const rowsAtOnceMax = 2 ** 14;

/** Node.js, PostgreSQL and Redis. In the legacy files, because they say how large disks are. */
export const fullFiles: Record<string, string> = {
  '.platform.app.yaml': `
name: app
type: nodejs:24
relationships: {database: 'db:postgresql', cache: 'cache:redis'}
web: {commands: {start: exec node server.mjs}}
`,
  '.platform/services.yaml': `
db: {type: 'postgresql:17', disk: 16384}
cache: {type: 'redis:8.0'}
`,
  '.platform/routes.yaml': `
https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.mjs': `
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

const { DATABASE_USERNAME, DATABASE_PASSWORD, DATABASE_HOST, DATABASE_PORT, DATABASE_PATH, PORT } = process.env;
const database = \`postgresql://\${DATABASE_USERNAME}:\${DATABASE_PASSWORD}@\${DATABASE_HOST}:\${DATABASE_PORT}/\${DATABASE_PATH}\`;
const sql = async (statement) => (await promisify(execFile)('psql', [database, '-qAtc', statement])).stdout.trim();

// Words are the same ones over and over, or all different.
const wordsOf = (kind) => kind === 'various'
  ? \`(select string_agg(encode(sha512(convert_to(n || ' ' || i || ' ' || random(), 'UTF8')), 'hex'), '') from generate_series(1, ${bytesPerRow / 128}) i)\`
  : \`repeat(md5(n::text), ${bytesPerRow / 32})\`;

// Not compressed: a row is as large as it says.
const fill = (from, to, kind) => sql(\`
  set client_min_messages = warning;
  create table if not exists filler (n bigint primary key, words text not null);
  alter table filler alter column words set storage external;
  insert into filler select n, \${wordsOf(kind)} from generate_series(\${from}, \${to}) n on conflict (n) do update set words = excluded.words;
  select pg_database_size(current_database())\`);

// As many whatever the size: what takes time is to be the platform.
const sample = \`select string_agg(n || ' ' || md5(words), ',') from filler, (select max(n) as last from filler) m where n in (1, last / 3, last / 2, last)\`;

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://x');
  try {
    if (request.method === 'POST')
      return response.end(await fill(Number(searchParams.get('from')), Number(searchParams.get('to')), searchParams.get('kind')));
    if (pathname === '/settle') return response.end(await sql('vacuum (freeze, analyze) filler'));
    if (pathname === '/rows') return response.end(await sql(sample));
    if (pathname === '/count') return response.end(await sql('select count(*), sum(octet_length(words)) from filler'));
    setTimeout(() => response.end('here'), ${answerMilliseconds});
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}).listen(Number(PORT));
`,
};

/** Ranges of rows to ask for one after the other, until the table holds so many bytes. */
export function fillsFor(bytes: number): { from: number; to: number }[] {
  const rows = Math.ceil(bytes / bytesPerRow);
  return Array.from({ length: Math.ceil(rows / rowsAtOnceMax) }, (_, index) => ({
    from: index * rowsAtOnceMax + 1,
    to: Math.min(rows, (index + 1) * rowsAtOnceMax),
  }));
}
