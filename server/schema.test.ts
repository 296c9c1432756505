import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { describeDatabase } from './kernel/describe-database.ts';
import { openPool } from './kernel/sql.ts';
import { cloneDatabase } from './testing/platform.ts';

const database = await cloneDatabase();
const pool = openPool(database.url);
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const checkedIn = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');

test('schema.sql and database.ts are what the migrations make (else run ./offshoot schema)', async () => {
  const { schema, types } = await describeDatabase(pool);
  expect(checkedIn('schema.sql')).toBe(schema);
  expect(checkedIn('database.ts')).toBe(types);
});
