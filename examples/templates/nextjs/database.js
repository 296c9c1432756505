import pg from 'pg';

/** One pool for the process; the relationship `database` of the configuration is told as DATABASE_URL. */
export const database = new pg.Pool({ connectionString: process.env.DATABASE_URL?.replace(/^pgsql:/, 'postgresql:'), max: 5 });
