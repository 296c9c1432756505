/**
 * Small repositories to push, each of another kind. They need no packages: they speak to their services with the clients that their images have. What
 * they answer tells everything a test wants to know.
 */

/** Python with MariaDB. It also tells whether an address can be reached from where it runs, and what another password opens. */
export const ledgerFiles: Record<string, string> = {
  '.upsun/config.yaml': `
applications:
  ledger:
    type: python:3.13
    relationships:
      database: {service: db, endpoint: mysql}
    web:
      commands: {start: exec python3 server.py}
    hooks:
      deploy: python3 prepare.py
services:
  db: {type: 'mariadb:11.8'}
routes:
  https://{default}/: {type: upstream, upstream: 'ledger:http'}
`,
  'database.py': `
import os, subprocess

def sql(statement, password=os.environ['DATABASE_PASSWORD']):
    told = {name: os.environ['DATABASE_' + name] for name in ('HOST', 'PORT', 'USERNAME', 'PATH')}
    command = ['mariadb', '--batch', '--skip-column-names', '--host', told['HOST'], '--port', told['PORT'], '--user', told['USERNAME'], told['PATH']]
    done = subprocess.run(command, input=statement, capture_output=True, text=True, env={**os.environ, 'MYSQL_PWD': password})
    if done.returncode != 0: raise RuntimeError(done.stderr)
    return done.stdout.strip()
`,
  'prepare.py': `
from database import sql
sql('create table if not exists lines_ (n bigint primary key, words varchar(100)) character set utf8mb4')
print('the ledger is ready')
`,
  'server.py': `
import base64, json, os, socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse
from database import sql

def reaches(host, port):
    try:
        socket.create_connection((host, int(port)), timeout=1.5).close()
        return 'reached'
    except OSError as error:
        return f'not reached: {error}'

def opens(password):
    try:
        return sql('select 1', password) and 'opened'
    except RuntimeError as error:
        return f'refused: {error}'

def told():
    service = json.loads(base64.b64decode(os.environ['PLATFORM_RELATIONSHIPS']))['database'][0]
    with socket.create_connection((service['host'], service['port'])) as connection: own = connection.getsockname()[0]
    return ' '.join([service['ip'], str(service['port']), service['password'], own])

pages = {
    '/': lambda asked: 'ledger of ' + os.environ['PLATFORM_BRANCH'],
    '/lines': lambda asked: sql('select count(*) from lines_'),
    '/words': lambda asked: sql("select group_concat(words order by n separator ',') from lines_"),
    '/told': lambda asked: told(),
    '/reach': lambda asked: reaches(asked['host'][0], asked['port'][0]),
    '/open': lambda asked: opens(asked['password'][0]),
}

class Ledger(BaseHTTPRequestHandler):
    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlparse(self.path)
        page = pages.get(url.path)
        try:
            self.answer(*((200, page(parse_qs(url.query))) if page else (404, 'no such page')))
        except Exception as error:
            self.answer(500, repr(error))

    def do_POST(self):
        n, words = [parse_qs(urlparse(self.path).query)[name][0] for name in ('n', 'words')]
        sql(f"insert into lines_ values ({int(n)}, '{words}')")
        self.answer(200, 'written')

ThreadingHTTPServer(('', int(os.environ['PORT'])), Ledger).serve_forever()
`,
};

export interface Pair {
  front: string;
  back: string;
  /** What starts the front, and what builds it. */
  start?: string;
  build?: string;
}

/** Two applications in one repository: the front, on a socket, asks the back over HTTP, and the back has a worker. */
export const pairFiles = ({ front, back, start = 'exec node server.mjs', build = 'true' }: Pair): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  front:
    type: nodejs:24
    source: {root: front}
    relationships:
      behind: {service: back, endpoint: http}
    web:
      commands: {start: ${JSON.stringify(start)}}
      upstream: {socket_family: unix}
    hooks:
      build: ${JSON.stringify(build)}
  back:
    type: nodejs:24
    source: {root: back}
    mounts:
      notes: {source: storage, source_path: notes}
    web:
      commands: {start: exec node server.mjs}
    workers:
      bell:
        commands: {start: exec node bell.mjs}
        mounts:
          notes: {source: storage, source_path: notes, service: back}
routes:
  https://{default}/: {type: upstream, upstream: 'front:http'}
  https://back.{default}/: {type: upstream, upstream: 'back:http'}
`,
  'front/server.mjs': `
import { createServer } from 'node:http';
const { BEHIND_HOST, BEHIND_PORT, SOCKET, MOOD = 'calm' } = process.env;
createServer(async (request, response) => {
  try {
    const answer = await fetch(\`http://\${BEHIND_HOST}:\${BEHIND_PORT}\${request.url}\`);
    response.writeHead(answer.status).end(\`front ${front} (\${MOOD}) before \${await answer.text()}\`);
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
}).listen(SOCKET);
`,
  'back/server.mjs': `
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
createServer(async (request, response) => {
  response.end(request.url === '/bell' ? await readFile('notes/bell', 'utf8').catch(() => 'no bell') : 'back ${back}');
}).listen(Number(process.env.PORT));
`,
  'back/bell.mjs': `
import { writeFile } from 'node:fs/promises';
for (let rings = 1; ; rings++) {
  await writeFile('notes/bell', 'rings');
  await new Promise((resolve) => setTimeout(resolve, 500));
}
`,
});

/**
 * Node.js with PostgreSQL and a folder for files. Each entry is a row and a file, the row first, and is answered once both are on disk; one is written
 * after the other. So at every moment the rows are 1 to n, and the files 1 to n, or to n - 1.
 */
export const journalFiles: Record<string, string> = {
  '.upsun/config.yaml': `
applications:
  journal:
    type: nodejs:24
    relationships:
      database: {service: db, endpoint: postgresql}
    mounts:
      pages: {source: storage, source_path: pages}
    web:
      commands: {start: exec node server.mjs}
    hooks:
      deploy: psql "$JOURNAL_DATABASE" -qc 'create table if not exists entries (n bigint primary key, words text not null)'
services:
  db: {type: 'postgresql:17'}
routes:
  https://{default}/: {type: upstream, upstream: 'journal:http'}
`,
  '.environment': `export JOURNAL_DATABASE="postgresql://$DATABASE_USERNAME:$DATABASE_PASSWORD@$DATABASE_HOST:$DATABASE_PORT/$DATABASE_PATH"\n`,
  'server.mjs': `
import { execFile, spawn } from 'node:child_process';
import { open, readFile, readdir, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const database = process.env.JOURNAL_DATABASE;
const ask = async (statement) => (await promisify(execFile)('psql', [database, '-qAtc', statement])).stdout.trim();

/** One connection that stays; it says what it was told to return. */
let session;
const insert = (n) => {
  session ??= spawn('psql', [database, '-qAt'], { stdio: ['pipe', 'pipe', 'inherit'] });
  session.lines ??= createInterface({ input: session.stdout })[Symbol.asyncIterator]();
  session.stdin.write(\`insert into entries values (\${n}, repeat('\${n} ', 500)) returning n;\\n\`);
  return session.lines.next();
};

const pageOf = (n) => \`\${n} \`.repeat(8192);
async function writePage(n) {
  const file = await open(\`pages/\${n}.new\`, 'w');
  await file.writeFile(pageOf(n));
  await file.sync();
  await file.close();
  await rename(\`pages/\${n}.new\`, \`pages/\${n}\`);
}

async function state() {
  const [rows, lastRow, tornRows] = (await ask("select count(*), coalesce(max(n), 0), count(*) filter (where words <> repeat(n || ' ', 500)) from entries")).split('|').map(Number);
  const files = (await readdir('pages')).filter((name) => /^[0-9]+$/.test(name)).map(Number);
  const torn = [];
  for (const n of files) if ((await readFile(\`pages/\${n}\`, 'utf8')) !== pageOf(n)) torn.push(n);
  return JSON.stringify({ rows, lastRow, tornRows, files: files.length, lastFile: Math.max(0, ...files), torn });
}

createServer(async (request, response) => {
  try {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    if (request.method === 'POST') {
      const n = Number(searchParams.get('n'));
      const { value } = await insert(n);
      if (value !== String(n)) throw new Error(\`\${value} in place of \${n}\`);
      await writePage(n);
      return response.end(String(n));
    }
    response.end(pathname === '/state' ? await state() : 'journal');
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}).listen(Number(process.env.PORT));
`,
};

/** As people bring it: a compose file with a program of their own, a database and a cache. Each visit is counted in both. */
export const composedFiles: Record<string, string> = {
  'docker-compose.yml': `
services:
  visits:
    build: .
    ports: ["8080:3000"]
    restart: unless-stopped
    environment:
      DATABASE_URL: postgres://visits:secret@db:5432/visits
      REDIS_HOST: cache
      REDIS_PORT: 6379
      GREETING: \${GREETING:-Hello}
    depends_on: [db]
  db:
    image: postgres:17-alpine
    environment: {POSTGRES_USER: visits, POSTGRES_PASSWORD: secret, POSTGRES_DB: visits}
    volumes: ["data:/var/lib/postgresql/data"]
  cache:
    image: redis:7
volumes: {data: {}}
`,
  Dockerfile: `
FROM node:24-alpine
RUN apk add --no-cache postgresql-client
WORKDIR /app
COPY . .
EXPOSE 3000
CMD ["node", "server.mjs", "--port", "3000"]
`,
  'package.json': '{"name": "visits", "private": true, "type": "module"}',
  'server.mjs': `
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const { DATABASE_URL, REDIS_HOST, REDIS_PORT, GREETING } = process.env;
const ask = (statement) => execFileSync('psql', [DATABASE_URL, '-qAtc', statement], { encoding: 'utf8' }).trim();
const cached = () => new Promise((resolve, reject) => {
  const socket = connect(Number(REDIS_PORT), REDIS_HOST, () => socket.write('INCR visits\\r\\n'));
  socket.once('data', (reply) => resolve(String(reply).trim()) || socket.end());
  socket.once('error', reject);
});
createServer(async (request, response) => {
  try {
    ask('create table if not exists visits (at timestamptz); insert into visits values (now())');
    response.end([GREETING, ask('select count(*) from visits'), await cached()].join(' '));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}).listen(Number(process.argv.at(-1)));
`,
};
