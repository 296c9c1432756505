/**
 * What the migrations amount to, read from the catalogue of a migrated database: `schema.sql` for people and reviews, `database.ts` for the
 * compiler. Both are checked in, and a test compares them, so the code's idea of the database cannot drift.
 */
import type pg from 'pg';

interface Column {
  table_name: string;
  column_name: string;
  type: string;
  required: boolean;
  expression: string | null;
  identity: boolean;
}

const columnsQuery = `
  select c.relname as table_name, a.attname as column_name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
         pg_get_expr(d.adbin, d.adrelid) as expression, a.attidentity <> '' as identity
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`;

const constraintsQuery = `
  select conrelid::regclass::text as table_name, conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
  order by 1, contype desc, 2`;

const indexesQuery = `
  select tablename as table_name, indexdef as definition from pg_indexes
  where schemaname = 'public' and indexname not in (select conname from pg_constraint) order by indexname`;

const routinesQuery = `
  select pg_get_functiondef(p.oid) as definition from pg_proc p
  where p.pronamespace = 'public'::regnamespace and p.prolang = (select oid from pg_language where lanname = 'sql') order by proname`;

const rangesQuery = `
  select format('create type %s as range (subtype = %s, collation = %s);', rngtypid::regtype, rngsubtype::regtype, rngcollation::regcollation) as definition
  from pg_range join pg_type on pg_type.oid = rngtypid where typnamespace = 'public'::regnamespace order by typname`;

const viewsQuery = `
  select viewname as name, pg_get_viewdef(format('%I.%I', schemaname, viewname)::regclass) as definition from pg_views
  where schemaname = 'public' order by 1`;

export async function describeDatabase(pool: pg.Pool): Promise<{ schema: string; types: string }> {
  const { rows: columns } = await pool.query<Column>(columnsQuery);
  const { rows: constraints } = await pool.query<{ table_name: string; name: string; definition: string }>(constraintsQuery);
  const { rows: indexes } = await pool.query<{ table_name: string; definition: string }>(indexesQuery);
  const { rows: ranges } = await pool.query<{ definition: string }>(rangesQuery);
  const { rows: routines } = await pool.query<{ definition: string }>(routinesQuery);
  const before = [...ranges, ...routines.map(({ definition }) => ({ definition: `${definition.trimEnd()};` }))];
  const { rows: views } = await pool.query<{ name: string; definition: string }>(viewsQuery);
  const tables = [...Map.groupBy(columns, ({ table_name }) => table_name)];
  const schema = tables.map(([table, its]) => {
    const lines = [
      ...its.map(columnSql),
      ...constraints.filter((one) => one.table_name === table).map(({ name, definition }) => `constraint ${name} ${definition}`),
    ];
    const tail = indexes.filter((one) => one.table_name === table).map(({ definition }) => `${definition};\n`);
    return `create table ${table} (\n  ${lines.join(',\n  ')}\n);\n${tail.join('')}`;
  });
  const types = tables.map(([table, its]) => `  ${table}: {\n${its.map(columnType).join('')}  };\n`);
  return {
    schema: `-- Generated from the migrations by ./offshoot schema; do not edit.\n\n${[...before.map(({ definition }) => `${definition}\n`), ...schema, ...views.map(viewSql)].join('\n')}`,
    types: `// Generated from the migrations by ./offshoot schema; do not edit.
import type { Generated, GeneratedAlways } from 'kysely';

/** A time with microseconds, as in 2026-01-31T12:00:00.000000+00:00. */
type Time = string;

export interface Database {
${types.join('')}}
`,
  };
}

const viewSql = ({ name, definition }: { name: string; definition: string }) => `create view ${name} as\n${definition}\n`;

const columnSql = ({ column_name, type, required, expression, identity }: Column) =>
  [
    column_name,
    type,
    ...(required ? ['not null'] : []),
    ...(expression === null ? [] : [`default ${expression}`]),
    ...(identity ? ['generated always as identity'] : []),
  ].join(' ');

const typeNames: Record<string, string> = {
  text: 'string',
  uuid: 'string',
  'timestamp with time zone': 'Time',
  date: 'string',
  boolean: 'boolean',
  integer: 'number',
  bigint: 'string',
  'double precision': 'number',
  json: 'unknown',
  jsonb: 'unknown',
  'text[]': 'string[]',
  'uuid[]': 'string[]',
  bytea: 'Buffer',
};

function columnType({ table_name, column_name, type, required, expression, identity }: Column) {
  const base = typeNames[type];
  if (!base) throw new Error(`No TypeScript type for ${type} of ${table_name}.${column_name}; add it to typeNames.`);
  const full = required || base === 'unknown' ? base : `${base} | null`;
  if (identity) return `    ${column_name}: GeneratedAlways<${full}>;\n`;
  return `    ${column_name}: ${expression === null ? full : `Generated<${full}>`};\n`;
}
