/**
 * A small shop to push: Node.js with PostgreSQL, Redis, a folder for files, a worker and hooks. It needs no packages: it speaks to its services with
 * the clients that its image has. What it answers tells everything a test wants to know.
 */
export const shopFiles = (version: string): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  shop:
    type: nodejs:24
    relationships:
      database: {service: db, endpoint: postgresql}
      cache: {service: cache, endpoint: redis}
    mounts:
      files: {source: storage, source_path: files}
    web:
      commands: {start: node server.mjs}
    workers:
      clerk:
        commands: {start: node clerk.mjs}
        mounts:
          files: {source: storage, source_path: files, service: shop}
    hooks:
      build: |
        set -e
        echo ${version} > version
      deploy: |
        echo preparing the database
        psql "$SHOP_DATABASE" -qc 'create table if not exists sales (n bigint primary key, what text)'
      post_deploy: echo open
      sanitize: psql "$SHOP_DATABASE" -qc "update sales set what = 'sanitized' where what = 'secret'"
services:
  db: {type: 'postgresql:17'}
  cache: {type: 'redis:8.0'}
routes:
  https://{default}/: {type: upstream, upstream: 'shop:http'}
  https://www.{default}/: {type: redirect, to: 'https://{default}/'}
`,
  '.environment': `export SHOP_DATABASE="postgresql://$DATABASE_USERNAME:$DATABASE_PASSWORD@$DATABASE_HOST:$DATABASE_PORT/$DATABASE_PATH"\n`,
  'server.mjs': `
import { execFile } from 'node:child_process';
import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

const run = promisify(execFile);
const sql = async (statement) => (await run('psql', [process.env.SHOP_DATABASE, '-qAtc', statement])).stdout.trim();
const redis = async (...words) => (await run('redis-cli', ['-h', process.env.CACHE_HOST, '-p', process.env.CACHE_PORT, ...words])).stdout.trim();
const version = (await readFile('version', 'utf8')).trim();

const pages = {
  '/': async () => version,
  '/sales': async () => sql('select count(*) from sales'),
  '/whats': async () => sql("select string_agg(distinct what, ',' order by what) from sales"),
  '/files': async () => (await readFile('files/sales', 'utf8').catch(() => '')).split('\\n').length - 1,
  '/clerk': async () => readFile('files/clerk', 'utf8').catch(() => 'nobody'),
  '/visits': async () => redis('incr', 'visits'),
  '/told': async () => JSON.stringify(process.env),
};
createServer(async (request, response) => {
  try {
    const url = new URL(request.url, 'http://x');
    if (request.method === 'POST') {
      const n = Number(url.searchParams.get('n'));
      await sql(\`insert into sales values (\${n}, '\${url.searchParams.get('what') === 'secret' ? 'secret' : 'thing'}')\`);
      await appendFile('files/sales', \`\${n}\\n\`);
      return response.end('sold');
    }
    const page = pages[url.pathname];
    if (!page) return response.writeHead(404).end('no such page');
    response.end(String(await page()));
  } catch (error) {
    console.error(error);
    response.writeHead(500).end(String(error));
  }
}).listen(Number(process.env.PORT));
`,
  'clerk.mjs': `
import { rename, writeFile } from 'node:fs/promises';
await writeFile('files/clerk.new', 'at work in ' + process.env.PLATFORM_BRANCH);
await rename('files/clerk.new', 'files/clerk');
setInterval(() => {}, 1000);
process.on('SIGTERM', () => process.exit(0));
`,
});
