import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../testing/images.ts';
import { triedTypes } from '../testing/tried-types.ts';
import { catalogue, entryOf, nameOfType } from './catalogue.ts';
import { type Account, dataFolder, type Service, type ServiceCommand } from './service.ts';
import { openAmqp } from '../testing/amqp.ts';

const buildMillisecondsMax = 600_000;

interface Server {
  container: string;
  address: string;
}

/** How an app speaks with a service of the type. Each throws what it is refused with. */
interface Client {
  write(server: Server, account: Account, database: string): Promise<void>;
  /** What was written. */
  read(server: Server, account: Account, database: string): Promise<string>;
  /** What `ro` does not allow. */
  refused?: RegExp;
}

const word = `Grüße, it's "42"`;
let containers: TestContainers;

async function inside(container: string, argv: [string, ...string[]], stdin = '', env = {}) {
  const { code, stdout, stderr } = await containers.run(container, { argv, stdin, env });
  if (code !== 0) throw new Error(`${argv[0]} ended with ${code}: ${stderr || stdout}`);
  return stdout.trim();
}

const psql = ({ container, address }: Server, { name, password }: Account, database: string, sql: string) => {
  const options = ['--no-psqlrc', '--quiet', '--no-align', '--tuples-only', '--set=ON_ERROR_STOP=1', `--host=${address}`];
  return inside(container, ['psql', ...options, `--username=${name}`, database], sql, { PGPASSWORD: password });
};
const mariadb = ({ container, address }: Server, { name, password }: Account, database: string, sql: string) => {
  const options = [
    '--no-defaults',
    '--batch',
    '--skip-column-names',
    '--default-character-set=utf8mb4',
    '--protocol=tcp',
    `--host=${address}`,
  ];
  return inside(container, ['mariadb', ...options, `--user=${name}`, database], sql, { MYSQL_PWD: password });
};
async function memcached({ address }: Server, request: string) {
  const socket = connect(11211, address);
  socket.end(`${request}quit\r\n`);
  return text(socket);
}

/** Pages that are open, or the one that was opened. */
async function chrome({ address }: Server, method: string, path: string): Promise<{ title: string }[]> {
  const reply = await fetch(`http://${address}:9222/json/${path}`, { method });
  const pages: unknown = await reply.json();
  return (Array.isArray(pages) ? pages : [pages]) as { title: string }[];
}

/** The list of pages is made to be shown as HTML. */
const unescaped = (title: string) => title.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

const keyValueClient = (cli: string): Client => {
  const ask = ({ container, address }: Server, ...words: string[]) => inside(container, [cli, '-e', '-h', address, ...words]);
  return { write: async (server) => void (await ask(server, 'set', 'word', word)), read: (server) => ask(server, '--raw', 'get', 'word') };
};

/** A broker tells its clients its own name, which here is known inside its container alone. */
const kafkaTool = (name: string, ...options: string[]): [string, ...string[]] => [
  'java',
  '-cp',
  '/usr/share/kafka/*',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
  `org.apache.kafka.tools.${name}`,
  '--bootstrap-server',
  'localhost:9092',
  '--topic',
  'words',
  ...options,
];

const createTable = 'create table if not exists words (word varchar(100)); insert into words values';
const sqlWord = `('${word.replaceAll("'", "''")}')`;

const clients: Record<string, Client> = {
  postgresql: {
    write: async (...to) => void (await psql(...to, `${createTable} ${sqlWord};`)),
    read: (...from) => psql(...from, 'select word from words;'),
    refused: /password authentication failed|no pg_hba.conf entry/,
  },
  mariadb: {
    write: async (...to) => void (await mariadb(...to, `${createTable} ${sqlWord};`)),
    read: (...from) => mariadb(...from, 'select word from words;'),
    refused: /Access denied/,
  },
  redis: keyValueClient('redis-cli'),
  'redis-persistent': keyValueClient('redis-cli'),
  valkey: keyValueClient('valkey-cli'),
  'valkey-persistent': keyValueClient('valkey-cli'),
  memcached: {
    write: async (server) => void (await memcached(server, `set word 0 0 ${Buffer.byteLength(word)}\r\n${word}\r\n`)),
    read: async (server) => (await memcached(server, 'get word\r\n')).split('\r\n')[1] ?? '',
  },
  'chrome-headless': {
    write: async (server) =>
      void (await chrome(server, 'PUT', `new?data:text/html;charset=utf-8,<title>${encodeURIComponent(word)}</title>`)),
    read: async (server) => {
      const titles = async () => (await chrome(server, 'GET', 'list')).map(({ title }) => unescaped(title));
      await expect.poll(titles, { timeout: 30_000 }).toContain(word);
      return (await titles()).find((title) => title === word) ?? '';
    },
  },
  kafka: {
    write: async ({ container }) => void (await inside(container, kafkaTool('ConsoleProducer'), `${word}\n`)),
    read: ({ container }) => inside(container, kafkaTool('consumer.ConsoleConsumer', '--from-beginning', '--max-messages', '1')),
  },
  varnish: {
    write: async () => {},
    read: async ({ address }) => (await fetch(`http://${address}:8080/`)).text(),
  },
  rabbitmq: {
    write: async ({ address }, account, database) => (await openAmqp(address, account, database)).publish('words', word),
    read: async ({ address }, account, database) => (await openAmqp(address, account, database)).peek('words'),
    refused: /ACCESS_REFUSED/,
  },
};
/** What a service needs to answer by itself, where there is no app behind it. */
const configurations: Record<string, Record<string, string>> = {
  varnish: { vcl: `sub vcl_recv { return (synth(200)); } sub vcl_synth { set resp.body = {"${word}"}; return (deliver); }` },
};

clients['mysql'] = clients['mariadb']!;

const secret = `s3cret '"\\ ü`;
const ada: Account = { name: 'ada', password: secret, privileges: {} };
const bob: Account = { name: 'bob', password: `${secret}2`, privileges: {} };

/** Sets the service up if its volume is empty, and starts it, as a deployment does. */
async function start(container: string, type: string, service: Service, volume: string): Promise<Server> {
  const { layers } = await containers.images.ensure(type);
  const mounts = service.keepsData ? [{ from: volume, at: dataFolder, writable: true }] : [];
  const { env, writable, probe, stop, initialised, initialise } = service;
  if (initialised !== undefined && !existsSync(join(volume, initialised))) {
    await containers.start({ name: container, layers, argv: ['sleep', 'infinity'], env, writable, mounts });
    await perform(container, service, initialise);
    await containers.runtime.remove(container);
  }
  const argv = service.start({
    limits: containers.limits,
    configuration: configurations[nameOfType(type)] ?? {},
    host: 'localhost',
    apps: {},
  });
  const { address = '' } = await containers.start({ name: container, layers, argv, env, writable, mounts, probe, stop });
  return { container, address };
}

async function perform(container: string, { env }: Service, commands: readonly ServiceCommand[]) {
  for (const { argv, stdin } of commands) await inside(container, [...argv], stdin, env);
}

const serviceTypes = triedTypes(catalogue).filter((type) => entryOf(catalogue, type).entry.service);

describe.runIf(canRunContainers)(`images of services${whyNoContainers}`, () => {
  beforeAll(async () => {
    containers = await openTestContainers();
  });
  afterAll(() => containers.close());

  const options = { timeout: buildMillisecondsMax };
  test.for(serviceTypes)('%s keeps what its users write, and lets in nobody else', options, async (type) => {
    const name = type.split(':')[0] ?? '';
    const { service } = entryOf(catalogue, type).entry;
    const client = clients[name];
    if (!service || !client) throw new Error(`These tests do not know how to speak with ${name}.`);
    const container = type.replace(/[^a-z0-9]/g, '-');
    const volume = await containers.volume(container);
    const { defaultAccount } = service.relationship;
    const database = defaultAccount?.database ?? '';
    const access = (...accounts: Account[]) => perform(container, service, service.access?.({ databases: [database], accounts }) ?? []);
    const admin: Account = { ...ada, privileges: { [database]: 'admin' } };

    const server = await start(container, type, service, volume);
    await access(admin);
    await access(admin);
    await client.write(server, admin, database);
    expect(await client.read(server, admin, database)).toBe(word);
    if (service.access) await expectRightsToHold(server, client, admin, database, access);

    if (!service.keepsData) return containers.runtime.remove(container);
    await perform(container, service, service.quiesce);
    const clone = await containers.clone(container, `${container}-clone`);
    await perform(container, service, service.resume);
    await containers.runtime.remove(container);
    const again = await start(container, type, service, volume);
    expect(await client.read(again, admin, database)).toBe(word);
    const cloned = await start(`${container}-clone`, type, service, clone);
    expect(await client.read(cloned, admin, database)).toBe(word);
    for (const each of [container, `${container}-clone`]) await containers.runtime.remove(each);
    expect(readdirSync(volume)).not.toEqual([]);
  });
});

describe.runIf(canRunContainers)(`tools in the images of apps${whyNoContainers}`, { timeout: buildMillisecondsMax }, () => {
  beforeAll(async () => {
    containers = await openTestContainers();
    const { layers } = await containers.images.ensure('static:1');
    await containers.start({ name: 'app', layers, argv: ['sleep', 'infinity'], writable: ['/tmp'] });
  });
  afterAll(() => containers.close());

  test.for(serviceTypes.filter((type) => type.startsWith('postgresql:')))('dump %s and bring it back', async (type) => {
    const { service } = entryOf(catalogue, type).entry;
    const { address } = await start('server', type, service!, await containers.volume(type.replace(':', '-')));
    const fromApp = { container: 'app', address };
    const owner: Account = { ...ada, privileges: { main: 'admin' } };
    await perform('server', service!, service!.access!({ databases: ['main'], accounts: [owner] }));
    await psql(fromApp, owner, 'main', `${createTable} ${sqlWord};`);
    const as = [`--host=${address}`, `--username=${owner.name}`, 'main'];
    const password = { PGPASSWORD: owner.password };
    const dump = await inside('app', ['pg_dump', ...as], '', password);
    await psql(fromApp, owner, 'main', 'drop table words;');
    // As people do it: a setting that the server is too old to know is told, and does not stop it.
    await inside('app', ['psql', '--no-psqlrc', '--quiet', ...as], dump, password);
    expect(await psql(fromApp, owner, 'main', 'select word from words;')).toBe(word);
    await containers.runtime.remove('server');
  });
});

describe.runIf(canRunContainers)(`the app's client of MariaDB${whyNoContainers}`, { timeout: buildMillisecondsMax }, () => {
  beforeAll(async () => {
    containers = await openTestContainers();
    const { layers } = await containers.images.ensure('static:1');
    await containers.start({ name: 'app', layers, argv: ['sleep', 'infinity'], writable: ['/tmp'] });
  });
  afterAll(() => containers.close());

  test.for(serviceTypes.filter((type) => type.startsWith('mariadb:')))('dumps %s and brings it back', async (type) => {
    const { service } = entryOf(catalogue, type).entry;
    const { address } = await start('server', type, service!, await containers.volume(type.replace(/[^a-z0-9]/g, '-')));
    const owner: Account = { name: 'owner', password: 'secret', privileges: { main: 'admin' } };
    await perform('server', service!, service!.access!({ databases: ['main'], accounts: [owner] }));
    const asOwner = (program: string, stdin: string) =>
      inside('app', [program, `--host=${address}`, `--user=${owner.name}`, 'main'], stdin, { MYSQL_PWD: owner.password });
    await asOwner('mariadb', `${createTable} ${sqlWord};`);
    const dump = await asOwner('mariadb-dump', '');
    await asOwner('mariadb', 'drop table words;');
    await asOwner('mariadb', dump);
    expect(await asOwner('mariadb', 'select word from words;')).toBe(`word\n${word}`);
    await containers.runtime.remove('server');
  });
});

/** Each statement as the account in the database; an error in words that say it was refused, or what it gives. */
const sqlClients = { postgresql: psql, mariadb } as const;

describe.runIf(canRunContainers)(`accounts of databases${whyNoContainers}`, { timeout: buildMillisecondsMax }, () => {
  beforeAll(async () => {
    containers = await openTestContainers();
  });
  afterAll(() => containers.close());

  test.for([
    { type: 'postgresql:17', name: 'postgresql' },
    { type: 'mariadb:11.8', name: 'mariadb' },
  ] as const)('$type: each account may do in each database what it was given, until it is taken away', async ({ type, name }) => {
    const { service } = entryOf(catalogue, type).entry;
    const sql = sqlClients[name];
    const server = await start(name, type, service!, await containers.volume(name));
    const access = (databases: string[], accounts: Account[]) =>
      perform(
        name,
        service!,
        service!.access!({
          databases,
          accounts,
          ...(name === 'postgresql' && { extensions: ['pg_trgm', 'uuid-ossp', 'vector', 'postgis'] }),
        }),
      );
    const owner: Account = { name: 'owner', password: 'one', privileges: { main: 'admin', with_under: 'admin' } };
    const writer: Account = { name: 'writer', password: 'two', privileges: { main: 'rw' } };
    await access(['main', 'with_under', 'other-db'], [owner, writer]);
    if (name === 'postgresql') await expectExtensionsToWork(server, owner);
    if (name === 'postgresql') await expectOrderAnew(server, owner, () => access(['main', 'with_under', 'other-db'], [owner, writer]));

    await sql(server, owner, 'main', "create table notes (note varchar(20)); insert into notes values ('first');");
    await sql(server, writer, 'main', "insert into notes values ('second');");
    expect(await sql(server, owner, 'main', 'select count(*) from notes;')).toBe('2');
    await sql(server, owner, 'with_under', 'create table notes (note varchar(20));');
    await expect(sql(server, writer, 'main', 'drop table notes;')).rejects.toThrow(/denied|must be owner/);
    await expect(sql(server, writer, 'main', 'create table mine (note varchar(20));')).rejects.toThrow(/denied/);
    await expect(sql(server, writer, 'with_under', 'select * from notes;')).rejects.toThrow(/denied/);
    await expect(sql(server, owner, 'other-db', 'select 1;')).rejects.toThrow(/denied/);

    const successor: Account = { name: 'successor', password: 'three', privileges: { main: 'admin' } };
    await access(['main'], [successor, { ...writer, privileges: { main: 'ro' } }]);
    await expect(sql(server, owner, 'main', 'select 1;')).rejects.toThrow(/denied|authentication failed/);
    await expect(sql(server, writer, 'main', "insert into notes values ('third');")).rejects.toThrow(/denied/);
    expect(await sql(server, writer, 'main', 'select count(*) from notes;')).toBe('2');
    await sql(server, successor, 'main', 'alter table notes add extra integer; drop table notes;');
    await expect(sql(server, successor, 'with_under', 'select 1;')).rejects.toThrow(/denied|does not exist|Unknown database/);
    await containers.runtime.remove(name);
  });
});

/** As an app uses them: similar things, found by an index, and places near each other. */
async function expectExtensionsToWork(server: Server, owner: Account) {
  const similar = `create table things (name text, features vector(3)); create index on things using hnsw (features vector_l2_ops);
    insert into things values ('near', '[1,2,3]'), ('far', '[9,9,9]'); select name from things order by features <-> '[1,2,4]' limit 1;`;
  expect(await psql(server, owner, 'main', similar)).toBe('near');
  const distance = `select round(st_distance('POINT(13.4 52.5)'::geography, 'POINT(2.35 48.85)'::geography) / 1000);`;
  expect(Number(await psql(server, owner, 'main', distance))).toBeGreaterThan(870);
}

async function expectRightsToHold(
  server: Server,
  client: Client,
  admin: Account,
  database: string,
  access: (...accounts: Account[]) => Promise<void>,
) {
  const refused = client.refused ?? /never/;
  await expect(client.read(server, { ...admin, password: 'wrong' }, database)).rejects.toThrow(refused);
  await expect(client.read(server, bob, database)).rejects.toThrow(refused);

  const reader: Account = { ...bob, privileges: { [database]: 'ro' } };
  const changed = { ...admin, password: 'changed' };
  await access(changed, reader);
  await expect(client.read(server, admin, database)).rejects.toThrow(refused);
  expect(await client.read(server, changed, database)).toBe(word);
  expect(await client.read(server, reader, database)).toBe(word);
  await expect(client.write(server, reader, database)).rejects.toThrow(/denied|refused/i);

  await access(admin);
  await expect(client.read(server, reader, database)).rejects.toThrow(refused);
  expect(await client.read(server, admin, database)).toBe(word);
}

/** As where the data is opened by a build with another library for the order of texts. */
async function expectOrderAnew(server: Server, owner: Account, again: () => Promise<void>) {
  await psql(server, owner, 'main', 'create table ordered (word text collate "de-x-icu"); create index ordered_words on ordered (word);');
  const asAdministrator = 'exec /usr/lib/postgresql/*/bin/psql --no-psqlrc --quiet --host=/run --username=postgres main';
  const outdated = "update pg_collation set collversion = '1.2' where collname = 'de-x-icu';";
  const state = () =>
    psql(
      server,
      owner,
      'main',
      `select pg_relation_filenode('ordered_words'), collversion = pg_collation_actual_version(oid) from pg_collation where collname = 'de-x-icu';`,
    );
  const before = await state();
  await again();
  expect(await state()).toBe(before);
  await inside(server.container, ['dash', '-c', asAdministrator], outdated);
  expect(await state()).toBe(before.replace(/t$/, 'f'));
  await again();
  const after = await state();
  expect(after).toMatch(/\|t$/);
  expect(after).not.toBe(before);
}
