/**
 * Each database belongs to a role of its own that nobody signs in as; accounts are members of it (`admin`), or of the roles that may write or
 * read what it owns. Accounts own nothing, so they come and go, and change their passwords, without a trace in the data.
 */
import {
  type Access,
  type Account,
  checkNames,
  dataFolder,
  mebibytes,
  type Privilege,
  type Service,
  type ServiceCommand,
} from '../service.ts';

const cluster = `${dataFolder}/cluster`;
const bin = '/usr/local/postgresql/bin';
/** Debian's; that of PostgreSQL 15 speaks with all of them. */
const clientBin = '/usr/lib/postgresql/15/bin';
const socketFolder = '/run';

/** Only the platform gets at the socket, through the container; everybody else shows a password. */
export const postgresqlFiles = {
  '/etc/postgresql/pg_hba.conf':
    'local all postgres trust\nlocal all all scram-sha-256\nhost all postgres all reject\nhost all all all scram-sha-256\n',
};

/**
 * A clone, or what a kill left, names the process that had the data before; inside another container some other process has that number, and
 * PostgreSQL would take it for the owner. Nobody else has the volume: one container at a time does.
 */
const forgetOwner = `rm -f -- ${cluster}/postmaster.pid`;

/**
 * A file that only takes room. PostgreSQL does not start on a full disk, since even to find out how it ended it writes: then this goes, and what is there can
 * be read and dumped, but not added to, until there is room for it again. Then PostgreSQL ends, and is started as usual.
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
  argv: [
    `${clientBin}/psql`,
    '--no-psqlrc',
    '--quiet',
    '--set=ON_ERROR_STOP=1',
    `--host=${socketFolder}`,
    '--username=postgres',
    'postgres',
  ],
  stdin: sql,
});

export const postgresql: Service = {
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
      // In /dev/shm, not among the data: whoever reads needs it also where the disk is full.
      dynamic_shared_memory_type: 'posix',
      // After a crash the container starts again, and with it what is done about a full disk; PostgreSQL by itself would try for ever.
      restart_after_crash: 'off',
      // Volumes are copy-on-write: writing into old segments saves nothing, and all that is kept for it would be in every backup.
      wal_recycle: 'off',
      wal_init_zero: 'off',
      log_destination: 'stderr',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return ['dash', '-c', startScript, 'start', `${bin}/postgres`, '-D', cluster, ...options];
  },
  probe: { kind: 'command', argv: [`${clientBin}/pg_isready`, '--quiet', `--host=${socketFolder}`], secondsMax: 60 },
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
    query: { is_master: true },
  },
};

const literal = (text: string) => `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
const escapedLiteral = (text: string) => `E${literal(text)}`;
const identifier = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => (names.length === 0 ? `('')` : `(${names.map(literal).join(', ')})`);

/** Names of roles are 63 characters at most; those of databases 48. */
const roleOf = (database: string, privilege: Privilege) => `${privilege}:${database}`;
const privileges: readonly Privilege[] = ['admin', 'rw', 'ro'];

function accessStatements({ databases, accounts, extensions = [] }: Access): string {
  const groups = databases.flatMap((database) => privileges.map((privilege) => roleOf(database, privilege)));
  const names = accounts.map(({ name }) => name);
  return [
    // A statement that fails is logged, and it may hold a password.
    `set log_min_error_statement = panic; set log_statement = 'none'; set client_min_messages = warning;`,
    ...[...groups.map((name) => [name, 'nologin']), ...names.map((name) => [name, 'login'])].map(([name = '', login]) =>
      createRole(name, login),
    ),
    ...databases.map(createDatabase),
    `select format('drop database %I with (force)', datname) from pg_database
       where not datistemplate and datname <> 'postgres' and datname not in ${list(databases)} \\gexec`,
    ...databases.flatMap((database) => grantsOf(database, extensions, names)),
    '\\connect postgres',
    `set log_min_error_statement = panic; set log_statement = 'none'; set client_min_messages = warning;`,
    ...accounts.flatMap((account) => accountStatements(account, databases)),
    dropRoles([...groups, ...names]),
    '',
  ].join('\n');
}

const createRole = (name: string, login = 'nologin') =>
  `select ${literal(`create role ${identifier(name)} ${login}`)} where not exists (select from pg_roles where rolname = ${literal(name)}) \\gexec`;

const createDatabase = (database: string) =>
  `select ${literal(`create database ${identifier(database)} owner ${identifier(roleOf(database, 'admin'))} template template0`)}
     where not exists (select from pg_database where datname = ${literal(database)}) \\gexec`;

/** What accounts that are to go own in spite of all is handed to the database's own role, so that they can go. */
function grantsOf(database: string, extensions: readonly string[], names: readonly string[]): string[] {
  const [admin, rw, ro] = privileges.map((privilege) => identifier(roleOf(database, privilege))) as [string, string, string];
  const kinds = [
    ['tables', 'select, insert, update, delete', 'select'],
    ['sequences', 'usage, select, update', 'select'],
  ];
  return [
    `\\connect ${identifier(database)}`,
    `alter database ${identifier(database)} owner to ${admin};`,
    `revoke all on database ${identifier(database)} from public;`,
    `grant connect, temporary on database ${identifier(database)} to ${rw}, ${ro};`,
    ...extensions.map((extension) => `create extension if not exists ${identifier(extension)};`),
    `select format('reassign owned by %I to ${admin}', rolname), format('drop owned by %I', rolname) from pg_roles
       where rolcanlogin and not rolsuper and rolname not in ${list(names)} \\gexec`,
    ...kinds.flatMap(([kind = '', write = '', read = '']) => [
      `alter default privileges for role ${admin} grant ${write} on ${kind} to ${rw};`,
      `alter default privileges for role ${admin} grant ${read} on ${kind} to ${ro};`,
      `select format('grant ${write} on all ${kind} in schema %I to ${rw}; grant ${read} on all ${kind} in schema %I to ${ro}', nspname, nspname)
         from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' \\gexec`,
    ]),
    `alter default privileges for role ${admin} grant usage on schemas to ${rw}, ${ro};`,
    `select format('grant usage on schema %I to ${rw}, ${ro}', nspname)
       from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' \\gexec`,
  ];
}

function accountStatements({ name, password, privileges: wanted }: Account, databases: readonly string[]): string[] {
  const role = identifier(name);
  const memberships = Object.entries(wanted)
    .filter(([database]) => databases.includes(database))
    .map(([database, privilege]) => ({ database, privilege, group: roleOf(database, privilege) }));
  return [
    `alter role ${role} login nosuperuser nocreaterole nocreatedb password ${escapedLiteral(password)};`,
    `select format('revoke %I from ${role}', g.rolname) from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles u on u.oid = m.member
       where u.rolname = ${literal(name)} and g.rolname not in ${list(memberships.map(({ group }) => group))} \\gexec`,
    ...databases.map((database) => `alter role ${role} in database ${identifier(database)} reset role;`),
    ...memberships.flatMap(({ database, privilege, group }) => [
      `grant ${identifier(group)} to ${role};`,
      // What it makes belongs to the database, not to the account.
      ...(privilege === 'admin' ? [`alter role ${role} in database ${identifier(database)} set role = ${identifier(group)};`] : []),
    ]),
  ];
}

const dropRoles = (keep: readonly string[]) =>
  `select format('drop role %I', rolname) from pg_roles
     where not rolsuper and rolname !~ '^pg_' and rolname not in ${list(keep)} \\gexec`;
