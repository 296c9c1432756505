/**
 * Who may do what in PostgreSQL. Each database belongs to a role of its own that nobody signs in as; accounts are members of it (`admin`), or of the roles that
 * may write or read what it owns. Accounts own nothing, so they come and go, and change their passwords, without a trace in the data.
 */
import type { Access, Account, Privilege } from '../service.ts';

const literal = (text: string) => `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
const escapedLiteral = (text: string) => `E${literal(text)}`;
const identifier = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => (names.length === 0 ? `('')` : `(${names.map(literal).join(', ')})`);

/** The name fits: PostgreSQL allows 63 characters for a role, and names of databases have at most 48. */
const roleOf = (database: string, privilege: Privilege) => `${privilege}:${database}`;
const privileges: readonly Privilege[] = ['admin', 'rw', 'ro'];

/** The statements for psql, to be run as the administrator. */
export function accessStatements({ databases, accounts, extensions = [] }: Access): string {
  const groups = databases.flatMap((database) => privileges.map((privilege) => roleOf(database, privilege)));
  const names = accounts.map(({ name }) => name);
  return [
    // Logging of statements is off, because a failed statement would be logged, and may hold a password.
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

/**
 * Which text comes before which is decided by a library (ICU), and another build of PostgreSQL may bring another version of it. Indexes in the order of the old one
 * would miss rows, so they are built anew; the versions are noted last, so that an end in between is followed by another attempt.
 */
const orderedAnew = [
  'set client_min_messages = error;',
  `select distinct format('reindex index %s', d.objid::regclass)
     from pg_depend d join pg_index i on i.indexrelid = d.objid join pg_collation c on c.oid = d.refobjid
     where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_collation'::regclass and c.collversion <> pg_collation_actual_version(c.oid) \\gexec`,
  `select format('alter collation %I.%I refresh version', n.nspname, c.collname) from pg_collation c join pg_namespace n on n.oid = c.collnamespace
     where c.collversion <> pg_collation_actual_version(c.oid) \\gexec`,
  'reset client_min_messages;',
];

/** Whatever is still owned by accounts that are to be removed is handed to the database's own role, because PostgreSQL does not drop owners. */
function grantsOf(database: string, extensions: readonly string[], names: readonly string[]): string[] {
  const [admin, rw, ro] = privileges.map((privilege) => identifier(roleOf(database, privilege))) as [string, string, string];
  const kinds = [
    ['tables', 'select, insert, update, delete', 'select'],
    ['sequences', 'usage, select, update', 'select'],
  ];
  return [
    `\\connect ${identifier(database)}`,
    ...orderedAnew,
    `alter database ${identifier(database)} owner to ${admin};`,
    `revoke all on database ${identifier(database)} from public;`,
    `grant connect, temporary on database ${identifier(database)} to ${rw}, ${ro};`,
    ...extensions.map((extension) => `create extension if not exists ${identifier(extension)} cascade;`),
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
      // What the account creates belongs to the database's role, not to the account.
      ...(privilege === 'admin' ? [`alter role ${role} in database ${identifier(database)} set role = ${identifier(group)};`] : []),
    ]),
  ];
}

const dropRoles = (keep: readonly string[]) =>
  `select format('drop role %I', rolname) from pg_roles
     where not rolsuper and rolname !~ '^pg_' and rolname not in ${list(keep)} \\gexec`;
