/** What `./offshoot import` makes of other descriptions of a project: everything they say is either in the result or named as lost. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { treeOf, type Files } from '../../server/rooms/builds/config/test-trees.ts';
import { importConfiguration } from './import.ts';

async function imported(files: Files) {
  const found = await importConfiguration(treeOf(files));
  const yaml = found.files['.upsun/config.yaml'] ?? '';
  return { ...found, yaml, configuration: parse(yaml), losses: found.remarks.filter(({ isLoss }) => isLoss).map(({ text }) => text) };
}

const nodeFiles: Files = {
  'web/package.json': '{"name": "web", "scripts": {"build": "true"}}',
  'web/server.js': '',
  'web/Dockerfile': `
ARG NODE=22
FROM node:\${NODE}-alpine AS build
RUN apk add --no-cache git \\
  && npm install -g pnpm
WORKDIR /usr/src/app
COPY package*.json ./
RUN npm ci
COPY . .
RUN npm run build
ENV NODE_ENV=production
USER node
EXPOSE 3000
CMD ["node", "server.js", "--port=3000"]
`,
};

test('a compose file becomes apps, services, workers, mounts, relationships and routes, and values that name a service are told by the platform', async () => {
  const { configuration, files, mistakes, losses, yaml } = await imported({
    ...nodeFiles,
    'docker-compose.yml': `
x-usual: &usual {restart: always}
services:
  web:
    <<: *usual
    build: ./web
    ports: ["127.0.0.1:8080:3000"]
    environment:
      DATABASE_URL: postgres://shop:secret@db:5432/shop?sslmode=disable
      DB_PASS: secret
      REDIS_HOST: cache
      REDIS_PORT: 6379
      LOG_LEVEL: \${LOG_LEVEL:-info}
      SECRET_KEY: \${SECRET_KEY}
      PRICE: 5$$
      PORT: 3000
    env_file: .env
    volumes: ["./web:/usr/src/app", "/usr/src/app/node_modules", "uploads:/usr/src/app/uploads", "./certs:/etc/certs"]
    depends_on: {db: {condition: service_healthy}}
  jobs:
    build: {context: ./web}
    command: [node, jobs.js, --every, 5 minutes]
    depends_on: [queue]
  db:
    image: docker.io/library/postgres:16-alpine
    environment: [POSTGRES_USER=shop, POSTGRES_PASSWORD=secret, POSTGRES_DB=shop]
    volumes: ["data:/var/lib/postgresql/data"]
    healthcheck: {test: pg_isready}
  cache: {image: "redis:7.0.15"}
  queue: {image: "bitnami/rabbitmq:2", command: rabbitmq-server --loud}
  adminer: {image: adminer, ports: ["8081:8080"]}
  odd: {image: "registry.example:5000/acme/odd:1"}
volumes: {data: {}, uploads: {}}
`,
  });
  expect(mistakes).toBe('');
  expect(configuration.applications).toEqual({
    web: {
      type: 'nodejs:22',
      source: { root: '/web' },
      relationships: { db: { service: 'db' }, cache: { service: 'cache' }, queue: { service: 'queue' } },
      mounts: { uploads: { source: 'storage' } },
      variables: { env: { LOG_LEVEL: 'info', PRICE: '5$' } },
      build: { flavor: 'none' },
      hooks: { build: 'set -e\nnpm ci\nnpm run build\n' },
      web: { commands: { start: 'node server.js --port=$PORT' }, locations: { '/': { passthru: true } } },
      workers: { jobs: { commands: { start: "node jobs.js --every '5 minutes'" } } },
    },
  });
  expect(Object.keys(configuration.services)).toEqual(['db', 'cache', 'queue']);
  expect(configuration.services.db.type).toBe('postgresql:16');
  expect(configuration.services.cache.type).toMatch(/^redis:7\.0/);
  expect(configuration.services.queue.type).toMatch(/^rabbitmq:[34]/);
  expect(configuration.routes).toEqual({ 'https://{default}/': { type: 'upstream', upstream: 'web:http' } });
  expect(files['web/.environment']?.split('\n').slice(1)).toEqual([
    'export NODE_ENV="production"',
    'export DATABASE_URL="postgres://$DB_USERNAME:$DB_PASSWORD@$DB_HOST:$DB_PORT/$DB_PATH?sslmode=disable"',
    'export DB_PASS="$DB_PASSWORD"',
    'export REDIS_HOST="$CACHE_HOST"',
    'export REDIS_PORT="$CACHE_PORT"',
    '',
  ]);
  for (const lost of [
    'adminer',
    'acme/odd',
    '/etc/certs',
    'apk add',
    'npm install -g pnpm',
    'USER',
    'restart',
    'SECRET_KEY',
    '.env',
    'healthcheck',
    '--loud',
  ])
    expect
      .soft(
        losses.filter((text) => text.includes(lost)),
        lost,
      )
      .not.toEqual([]);
  // Each is a comment of the file, too, and no password is in it.
  for (const text of losses) expect.soft(yaml.replaceAll(/\n\s*# */g, ' '), text).toContain(`NOT ${text}`);
  expect(yaml).toContain('Version 2 is not offered here');
  expect(yaml).not.toContain('secret@');
});

test('values of .env say which image and port, and are in nothing that is committed', async () => {
  const { configuration, files, losses, mistakes } = await imported({
    'compose.yaml': `
services:
  app:
    image: node:\${NODE}
    working_dir: /srv
    volumes: ["./app:/srv", "\${KEPT}:/srv/kept"]
    command: [node, index.js, "--token=\${TOKEN}", --level, "\${LEVEL:-low}", "say $TOKEN, $$5"]
    ports: ["\${PUBLIC}:3000"]
  jobs: {image: "node:24", working_dir: /srv, volumes: ["./app:/srv"], command: "node jobs.js $TOKEN"}
`,
    '.env': 'NODE=24\nTOKEN=very-secret\nLEVEL=very-secret\nKEPT=very-secret\nPUBLIC=8080\n',
    'app/index.js': '',
    'app/package.json': '{}',
  });
  expect(mistakes).toBe('');
  expect(JSON.stringify([files, losses])).not.toContain('very-secret');
  expect(configuration.applications.app).toMatchObject({
    type: 'nodejs:24',
    web: { commands: { start: `node index.js --token="\${TOKEN}" --level low 'say '"\${TOKEN}"', $5'` } },
    workers: { jobs: { commands: { start: 'node jobs.js ${TOKEN}' } } },
  });
  expect(losses.join('\n')).toContain('--name TOKEN');
});

test('pages that are only built, a Python app without a Dockerfile, and apps that name each other in a circle', async () => {
  const { configuration, mistakes, warnings, losses, files } = await imported({
    'compose.yaml': `
services:
  site: {build: site, ports: [80]}
  api:
    build: api
    ports: ["8000:8000"]
    command: gunicorn --bind 0.0.0.0:8000 main:app
    environment: {SITE: "http://site:80/from", BACK: "back:9000"}
  back:
    image: node:24
    working_dir: /srv
    volumes: ["./back:/srv"]
    command: node index.js
    expose: [9000]
    environment: {API: http://api:8000}
`,
    'site/Dockerfile':
      'FROM node:24 AS made\nWORKDIR /w\nCOPY . .\nRUN npm ci && npm run build\nFROM nginx:1.29\nCOPY --from=made /w/dist /usr/share/nginx/html\n',
    'site/package.json': '{"scripts": {"build": "vite build"}, "engines": {"node": ">=22"}}',
    'api/requirements.txt': 'flask\ngunicorn\n',
    'api/main.py': 'app = Flask(__name__)\n',
    'back/index.js': '',
    'back/package.json': '{}',
  });
  expect(mistakes).toBe('');
  expect(warnings).toContain('"site" starts nothing that could answer');
  expect(configuration.applications.site).toMatchObject({
    type: expect.stringMatching(/^nodejs:/),
    hooks: { build: 'set -e\nnpm ci\nnpm run build\n' },
    web: { locations: { '/': { root: 'dist', passthru: '/index.html' } } },
  });
  expect(configuration.applications.api).toMatchObject({
    type: expect.stringMatching(/^python:/),
    hooks: { build: expect.stringContaining('.venv/bin/pip install -r requirements.txt') },
    web: { commands: { start: '. .venv/bin/activate && exec gunicorn --bind 0.0.0.0:$PORT main:app' } },
    relationships: { site: { service: 'site', endpoint: 'http' }, back: { service: 'back', endpoint: 'http' } },
  });
  expect(configuration.applications.back).toMatchObject({
    type: 'nodejs:24',
    source: { root: '/back' },
    web: { commands: { start: 'node index.js' } },
  });
  expect(configuration.applications.back.relationships).toBeUndefined();
  expect(losses.join('\n')).toContain('its way to api, which has one to it');
  expect(files['api/.environment']).toContain('export SITE="http://$SITE_HOST:$SITE_PORT/from"\nexport BACK="$BACK_HOST:$BACK_PORT"\n');
  expect(configuration.routes).toMatchObject({
    'https://{default}/': { upstream: 'site:http' },
    'https://api.{default}/': { upstream: 'api:http' },
  });
});

test('a program that is copied out of the image that made it is started from where it was made', async () => {
  const { configuration, mistakes } = await imported({
    'compose.yaml': 'services: {app: {build: ., ports: ["80:9000"]}}\n',
    Dockerfile:
      'FROM maven:3.9-eclipse-temurin-17 AS build\nWORKDIR /src\nCOPY . .\nRUN mvn -B package\nFROM eclipse-temurin:17-jre\nCOPY --from=build /src/target/shop.jar /opt/shop.jar\nENTRYPOINT ["java", "-jar", "/opt/shop.jar"]\nCMD ["--server.port=9000"]\n',
    'pom.xml': '<project/>',
  });
  expect(mistakes).toBe('');
  expect(configuration.applications.app).toMatchObject({
    type: 'java:17',
    hooks: { build: 'set -e\nmvn -B package\n' },
    web: { commands: { start: 'java -jar target/shop.jar --server.port=$PORT' } },
  });
});

test('a Procfile and its app.json become an app with workers, a deploy hook and the services of its add-ons', async () => {
  const { configuration, mistakes, losses, files } = await imported({
    Procfile: 'web: gunicorn --bind 0.0.0.0:$PORT shop.wsgi\nrelease: python manage.py migrate\nworker: celery -A shop worker\n',
    'app.json': JSON.stringify({
      name: 'My Shop',
      addons: ['heroku-postgresql:standard-0', { plan: 'heroku-redis' }, 'papertrail'],
      env: { DEBUG: { value: 'no' }, SECRET: { generator: 'secret' }, NEEDED: { required: true } },
      formation: { web: { quantity: 2 } },
      scripts: { postdeploy: 'python seed.py' },
    }),
    'manage.py': "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')",
    'requirements.txt': 'django\ngunicorn\ncelery\n',
  });
  expect(mistakes).toBe('');
  expect(configuration.applications['my-shop']).toMatchObject({
    type: expect.stringMatching(/^python:/),
    relationships: { database: { service: 'db' }, cache: { service: 'cache' } },
    variables: { env: { DEBUG: 'no' } },
    hooks: { deploy: '. .venv/bin/activate && python manage.py migrate\n' },
    web: { commands: { start: '. .venv/bin/activate && exec gunicorn --bind 0.0.0.0:$PORT shop.wsgi' } },
    workers: { worker: { commands: { start: '. .venv/bin/activate && celery -A shop worker' } } },
  });
  expect(Object.keys(configuration.services)).toEqual(['db', 'cache']);
  expect(files['.environment']).toContain('export REDIS_URL="$CACHE_URL"');
  for (const lost of ['papertrail', 'SECRET', 'NEEDED', 'formation', 'postdeploy']) expect(losses.join('\n')).toContain(lost);
});

test('the older form becomes one file that keeps its comments, and says which files have to go', async () => {
  const { configuration, yaml, mistakes, losses, replaces } = await imported({
    '.platform.app.yaml': `
# The shop
name: shop
type: nodejs:18
size: M
disk: 2048
relationships:
  database: 'db:postgresql'   # where the goods are
mounts:
  'web/files': 'shared:files/files'
  tmp: {source: local, source_path: tmp}
web:
  commands: {start: node server.js}
crons:
  sweep: {spec: 'H * * * *', cmd: node sweep.js}
workers:
  mail: {size: S, commands: {start: node mail.js}}
`,
    'admin/.platform.app.yaml': 'name: admin\ntype: static:1\nweb: {document_root: /public, passthru: /index.html, whitelist: [".html"]}\n',
    'admin/public/index.html': 'Admin',
    '.platform/services.yaml': 'db:\n  type: postgresql:9.6\n  disk: 1024\n',
    '.platform/routes.yaml':
      'https://{default}/: {type: upstream, upstream: shop:http}\nhttps://admin.{default}/: {type: upstream, upstream: admin:http}\n',
    'server.js': '',
  });
  expect(mistakes).toBe('');
  expect(configuration.applications.shop).toMatchObject({
    type: 'nodejs:20',
    relationships: { database: 'db:postgresql' },
    mounts: { 'web/files': { source: 'storage', source_path: 'files' }, tmp: { source: 'storage', source_path: 'tmp' } },
    crons: { sweep: { commands: { start: 'node sweep.js' } } },
    workers: { mail: { commands: { start: 'node mail.js' } } },
  });
  expect(configuration.applications.admin).toMatchObject({
    source: { root: '/admin' },
    web: { locations: { '/': { root: 'public', passthru: '/index.html' } } },
  });
  expect(configuration.services.db.type).toMatch(/^postgresql:1\d$/);
  expect(Object.keys(configuration.routes)).toHaveLength(2);
  expect(yaml).toContain('# where the goods are');
  for (const lost of ['size: "M"', 'disk: 2048', 'disk: 1024', 'whitelist']) expect(losses.join('\n')).toContain(lost);
  expect(replaces).toEqual(['.platform.app.yaml', 'admin/.platform.app.yaml', '.platform/services.yaml', '.platform/routes.yaml']);
});

test('what cannot be read, or says nothing, is refused with a sentence', async () => {
  await expect(imported({ 'README.md': '' })).rejects.toThrow('Found none of compose.yaml');
  await expect(imported({ 'compose.yaml': 'services: [' })).rejects.toThrow('The compose file is no YAML');
  await expect(imported({ 'compose.yaml': 'services: {}' })).rejects.toThrow('names no services');
  await expect(imported({ Procfile: 'web: ./run' })).rejects.toThrow('which of the languages');
  await expect(imported({ Procfile: 'web: node x', 'app.json': '{' })).rejects.toThrow('app.json is no JSON');
  await expect(imported({ '.platform.app.yaml': 'type: nodejs:24' })).rejects.toThrow('has no name');
});
