/** `./offshoot schema`: writes server/schema.sql and server/database.ts anew after a migration was added. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../server/drivers/postgres/embedded.ts';
import { describeDatabase } from '../server/kernel/describe-database.ts';
import { migrate } from '../server/kernel/migrate.ts';
import { openPool } from '../server/kernel/sql.ts';

export async function writeSchema(server: string) {
  const scratch = await mkdtemp(join(tmpdir(), 'offshoot-schema-'));
  const postgres = await openEmbeddedPostgres(join(scratch, 'postgres'), { fsync: 'off' });
  const pool = openPool(postgres.url);
  try {
    await migrate(pool, join(server, 'migrations'));
    const { schema, types } = await describeDatabase(pool);
    await writeFile(join(server, 'schema.sql'), schema);
    await writeFile(join(server, 'database.ts'), types);
  } finally {
    await pool.end();
    await postgres.stop();
    await rm(scratch, { recursive: true });
  }
}
