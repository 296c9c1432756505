/** Before all tests: one real PostgreSQL with one migrated database, which each test file clones in a few milliseconds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../drivers/postgres/embedded.ts';
import { migrate } from '../kernel/migrate.ts';
import { openPool } from '../kernel/sql.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database; connections go to its server, never to itself. */
    templateUrl: string;
  }
}

/** Nothing here needs to survive a power failure. */
const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' };

export default async function setup(project: TestProject) {
  const scratch = await mkdtemp(join(tmpdir(), 'offshoot-test-'));
  const postgres = await openEmbeddedPostgres(join(scratch, 'postgres'), fast);
  const pool = openPool(postgres.url);
  await migrate(pool, join(import.meta.dirname, '..', 'migrations'));
  await pool.end();
  project.provide('templateUrl', postgres.url);
  return async () => {
    await postgres.stop();
    await rm(scratch, { recursive: true });
  };
}
