/** Inside the container the user `app` is MariaDB's administrator, by its socket; over the network there are only the accounts that were asked for. */
import type { Files } from '../../drivers/images/recipe.ts';
import { bookworm, packages, trixie } from '../debian.ts';
import { deprecated, type ServiceEntry } from '../entry.ts';
import { adminEndpoint, type ServiceConfiguration } from '../service-configuration.ts';
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

const data = `${dataFolder}/mysql`;
const socket = '/run/mysqld.sock';

const privilegesOf: Record<Privilege, string> = {
  ro: 'select, show view',
  rw: 'select, insert, update, delete, create temporary tables, lock tables, execute, show view',
  admin: 'all privileges',
};

const sql = (statements: string): ServiceCommand => ({
  argv: ['mariadb', '--no-defaults', '--batch', `--socket=${socket}`, 'mysql'],
  stdin: statements,
});

/** The settings that people may choose in `configuration.properties`. */
const properties = new Set([
  'max_allowed_packet',
  'default_charset',
  'default_collation',
  'optimizer_switch',
  'optimizer_use_condition_selectivity',
  'innodb_adaptive_hash_index',
  'max_heap_table_size',
  'table_definition_cache',
  'table_open_cache',
  'wait_timeout',
  'tmp_table_size',
  'log_bin',
]);

/** Once `schemas` or `endpoints` is given, none of the defaults apply. */
const configuration: ServiceConfiguration = {
  databases: { key: 'schemas', reserved: /^(?:mysql|information_schema|performance_schema|sys|root)$/i },
  endpoints: { defaultKey: 'default_schema', reserved: /^root$/i },
  settings: { properties: { kind: 'map', expected: 'a map of properties' }, rotate_passwords: { kind: 'flag' } },
  offer: ({ databases, endpoints }) =>
    databases || endpoints
      ? { databases: databases ?? [], endpoints: endpoints ?? {} }
      : { databases: ['main'], endpoints: { mysql: adminEndpoint(['main']) } },
};

const service: Service = {
  ports: [3306],
  keepsData: true,
  writable: ['/tmp', '/run'],
  env: {},
  initialise: [
    { argv: ['rm', '-rf', '--', `${data}.new`] },
    {
      argv: [
        'mariadb-install-db',
        '--no-defaults',
        `--datadir=${data}.new`,
        '--auth-root-authentication-method=socket',
        '--auth-root-socket-user=app',
        '--skip-test-db',
        '--skip-name-resolve',
      ],
    },
    { argv: ['mv', '--no-target-directory', '--', `${data}.new`, data] },
  ],
  initialised: 'mysql/mysql',
  start: ({ limits, configuration: written }) => [
    'mariadbd',
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${socket}`,
    '--pid-file=/run/mysqld.pid',
    '--bind-address=*',
    '--port=3306',
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_general_ci',
    `--innodb-buffer-pool-size=${Math.max(16, mebibytes(limits.memoryBytes * 0.4))}M`,
    `--max-connections=${Math.min(300, Math.max(20, Math.floor(mebibytes(limits.memoryBytes) / 4)))}`,
    '--key-buffer-size=8M',
    '--aria-pagecache-buffer-size=8M',
    '--performance-schema=off',
    ...propertyArguments(written['properties']),
  ],
  probe: { kind: 'command', argv: ['mariadb', '--no-defaults', `--socket=${socket}`, '--execute=select 1'], secondsMax: 60 },
  access: (access) => {
    checkNames(access);
    return [sql(accessStatements(access))];
  },
  // InnoDB recovers by itself from a snapshot; the other engines need everything written to their files first.
  quiesce: [sql('flush local tables; flush engine logs;\n')],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 60 },
  relationship: {
    rel: 'mysql',
    scheme: 'mysql',
    port: 3306,
    defaultAccount: { name: 'user', database: 'main' },
    query: { is_master: true },
  },
  configuration,
};

/** From version 11.4 on, clients refuse servers without TLS, such as older ones here. The network belongs to the environment alone, so they need not. */
const clientSettings: Files = {
  kind: 'files',
  files: { '/etc/mysql/mariadb.conf.d/60-older-servers.cnf': '[client-mariadb]\nssl-verify-server-cert=OFF\n' },
};

const program = packages('mariadb-server-core', 'mariadb-client-core', 'mariadb-client');

export const mariadb: ServiceEntry = {
  versions: [trixie.version('11.8', program), deprecated(bookworm.version('10.11', program))],
  retired: ['11.2', '11.0', '10.6', '10.5', '10.4', '10.3', '10.2', '10.1', '10.0', '5.5'],
  profile: 'HIGH_MEMORY',
  service,
  clients: { packages: ['mariadb-client'], recipes: [clientSettings] },
};

/** `default_charset` and `default_collation` are names of the configuration language, the others are MariaDB's own. */
function propertyArguments(given: unknown): string[] {
  if (typeof given !== 'object' || given === null) return [];
  const renamed: Record<string, string> = { default_charset: 'character-set-server', default_collation: 'collation-server' };
  return Object.entries(given)
    .filter(([name, value]) => properties.has(name) && ['string', 'number'].includes(typeof value))
    .map(([name, value]) => `--${renamed[name] ?? name.replaceAll('_', '-')}=${String(value)}`);
}

const literal = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const identifier = (name: string) => `\`${name}\``;
const list = (names: readonly string[]) => `(${['', ...names].map(literal).join(', ')})`;
const ownSchemas = ['information_schema', 'performance_schema', 'mysql', 'sys'];

function accessStatements({ databases, accounts }: Access): string {
  const names = accounts.map(({ name }) => name);
  return [
    'set sql_log_bin = 0;',
    'delimiter //',
    removeOthers("concat(quote(User), '@', quote(Host)) as name", 'mysql.user', `Host = '%' and User not in ${list(names)}`, 'drop user '),
    removeOthers(
      "concat('`', schema_name, '`') as name",
      'information_schema.schemata',
      `schema_name not in ${list([...ownSchemas, ...databases])}`,
      'drop database ',
    ),
    'delimiter ;',
    ...databases.map((database) => `create database if not exists ${identifier(database)};`),
    ...accounts.flatMap((account) => accountStatements(account, databases)),
    '',
  ].join('\n');
}

const removeOthers = (what: string, from: string, where: string, remove: string) =>
  `begin not atomic for other in (select ${what} from ${from} where ${where}) do execute immediate concat('${remove}', other.name); end for; end //`;

function accountStatements({ name, password, privileges }: Account, databases: readonly string[]): string[] {
  const account = `${literal(name)}@'%'`;
  return [
    `create user if not exists ${account} identified by ${literal(password)};`,
    `alter user ${account} identified by ${literal(password)};`,
    `revoke all privileges, grant option from ${account};`,
    ...Object.entries(privileges)
      .filter(([database]) => databases.includes(database))
      // In a grant, _ and % in the name of a database are wildcards.
      .map(
        ([database, privilege]) => `grant ${privilegesOf[privilege]} on ${identifier(database.replaceAll('_', '\\_'))}.* to ${account};`,
      ),
  ];
}
