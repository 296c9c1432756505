import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Problem } from '../kernel/problem.ts';
import { catalogue, entryOf, offerDescribed } from './catalogue.ts';
import { describedEntry } from './described-service.ts';
import { shippedDescriptions } from './described-services.ts';
import { readDescription } from './read-description.ts';
import { relationshipOf } from './service.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operating', 'service-types.md'), 'utf8');

const written = {
  name: 'search',
  versions: {
    '3.10': { image: 'registry.example.org/team/search:3.10' },
    '3.9': { image: 'localhost:5000/search@sha256:'.padEnd(93, 'a') },
  },
  port: 9200,
  scheme: 'http',
  start: ['search', '--heap={memory 50%}m', '$HOME', '${home}'],
};

/** What is said of each bad field. */
function flawsOf(description: unknown): Record<string, string> {
  try {
    readDescription(typeof description === 'string' ? description : JSON.stringify(description));
    return {};
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { fields = {}, message } = error;
    const untold = Object.entries(fields).find(([field, flaw]) => !message.includes(`${field} ${flaw}.`));
    if (untold) throw new Error(`The message does not tell of ${untold[0]}: ${message}`, { cause: error });
    return { ...fields, ...(Object.keys(fields).length === 0 && { '': message }) };
  }
}

test('the types that are shipped as descriptions can be read, and each says that nobody has tried it', () => {
  expect(Object.keys(shippedDescriptions).length).toBeGreaterThanOrEqual(10);
  for (const [name, text] of Object.entries(shippedDescriptions)) expect(readDescription(text)).toMatchObject({ name, untried: true });
  expect(entryOf(catalogue, 'opensearch:3').version).toMatchObject({ isUntried: true, image: 'docker.io/opensearchproject/opensearch:3' });
});

test('the whole example of the page for operators is a description that can be used', () => {
  const examples = [...page.matchAll(/^```yml\n(.*?)^```$/gms)].map(([, block = '']) => block);
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples) expect(flawsOf(example)).toEqual({});
});

test('every field that cannot be as it is written is named, with what it should be', () => {
  const flaws = flawsOf({
    ...written,
    name: 'Search',
    versions: { '3': { image: 'search:3' }, 'a b': { image: 'docker.io/library/redis:8' } },
    port: 80,
    start: [],
    data: { folder: 'data', format: 'minor' },
    ready: { http: 'health', after: 3 },
    stop: { signal: 'SIGKILL' },
    accounts: { run: ['sh'] },
    strat: ['search'],
  });
  expect(flaws).toMatchObject({
    name: expect.stringContaining('lower-case letters'),
    'versions.3.image': expect.stringContaining('registry.example.org/team/notes:1'),
    'versions.a b': 'is not a known field',
    port: 'must be at least 1024',
    start: 'must not be empty',
    'data.folder': expect.stringContaining('absolute path'),
    'data.format': 'must be one of major, version',
    'ready.http': expect.stringContaining('/health'),
    'ready.after': 'is not a known field',
    'stop.signal': expect.stringContaining('SIGTERM'),
    'accounts.account': 'is required',
    'accounts.database': 'is required',
    strat: 'is not a known field',
  });
  expect(flawsOf({ name: 'search' })).toEqual(
    Object.fromEntries(['versions', 'port', 'scheme', 'start'].map((field) => [field, 'is required'])),
  );
  expect(flawsOf('name: [')['']).toContain('cannot be used');
  expect(flawsOf('[]')['']).toContain('a map of fields');
});

test('fields that need each other, and words in braces that stand for nothing, are named too', () => {
  const account = { account: 'root', database: 'main', run: ['sh'] };
  const flaws = flawsOf({
    ...written,
    versions: { ...written.versions, '2': { image: 'docker.io/library/redis' } },
    retired: ['3.9'],
    start: ['search', '{memroy}', '{memory 0%}', '{password}'],
    environment: { HEAP: '{memory}' },
    query: { token: '{secret}' },
    writable: ['/usr', '/var/../etc'],
    snapshot: { before: [{ run: ['sync'] }] },
    set_up: { commands: [], makes: '../done' },
    ready: { http: '/', command: ['true'] },
    accounts: {
      ...account,
      reserved_accounts: ['ro*'],
      configuration: { databases: 'databases', default: 'default' },
      each_account: 'let {acount} in',
    },
  });
  expect(Object.keys(flaws).toSorted()).toEqual(
    [
      'versions.2.image retired.0 start.1 start.2 start.3 environment.HEAP query.token writable.0 writable.1 snapshot set_up set_up.makes ready',
      'accounts.account accounts.each_account accounts.each_database accounts.each_privilege.admin accounts.each_privilege.rw accounts.each_privilege.ro',
    ]
      .flatMap((fields) => fields.split(' '))
      .toSorted(),
  );
  expect(flaws['accounts.each_account']).toBe(
    'has {acount}, which stands for nothing; here are filled in {account}, {password}, {database}',
  );
});

test('a description becomes an entry of the catalogue as every other', () => {
  const { versions, profile, service } = describedEntry(
    readDescription(
      JSON.stringify({ ...written, data: { folder: '/data', disk_mb: 1024 }, query: { key: '{password}' }, accounts: letIn }),
    ),
  );
  expect(versions.map(({ version }) => version)).toEqual(['3.10', '3.9']);
  expect(profile).toBe('HIGH_MEMORY');
  expect(service).toMatchObject({ keepsData: true, dataAt: '/data', diskMin: 1024, probe: { kind: 'port', port: 9200 } });
  expect(service.start({ limits: { cpu: 1, memoryBytes: 2 ** 30 }, configuration: {}, host: 'localhost', apps: {} })).toEqual([
    'search',
    '--heap=512m',
    '$HOME',
    '${home}',
  ]);
  const account = { name: 'main', password: 'pass-word_1' };
  expect(relationshipOf(service.relationship, account, 'notes')).toMatchObject({
    rel: 'search',
    path: 'notes',
    query: { key: 'pass-word_1' },
  });
  const [command] =
    service.access?.({ databases: ['notes', 'more'], accounts: [{ ...account, privileges: { notes: 'admin', more: 'ro' } }] }) ?? [];
  expect(command).toEqual({
    argv: ['tell', 'it'],
    stdin: "only 'main' in 'notes', 'more'\nmake notes\nmake more\nmain has pass-word_1\nmain owns notes\nmain reads more\n",
  });
  expect(service.configuration?.offer?.({ databases: ['notes'] }).endpoints).toEqual({
    search: { default_database: 'notes', privileges: { notes: 'admin' } },
  });
});

const letIn = {
  account: 'main',
  database: 'main',
  configuration: { databases: 'databases', default: 'default_database' },
  run: ['tell', 'it'],
  first: 'only {accounts} in {databases}',
  each_database: 'make {database}',
  each_account: '{account} has {password}\n',
  each_privilege: { admin: '{account} owns {database}', rw: '', ro: '{account} reads {database}' },
};

test('what operators describe is offered beside all else, in place of what is shipped, until it is described no more', () => {
  try {
    const mine = describedEntry(readDescription(JSON.stringify({ ...written, name: 'opensearch' })));
    offerDescribed({ opensearch: mine, search: mine });
    expect(catalogue['opensearch']).toBe(mine);
    expect(Object.keys(catalogue)).toEqual(expect.arrayContaining(['search', 'nodejs', 'postgresql', 'solr']));
    expect(entryOf(catalogue, 'search:3.10').version.isUntried).toBeUndefined();
  } finally {
    offerDescribed({});
  }
  expect(catalogue['search']).toBeUndefined();
  expect(entryOf(catalogue, 'opensearch:3').version.isUntried).toBe(true);
});
