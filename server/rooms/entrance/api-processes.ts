/** Which processes of the installation serve the API on this machine, as each of them said lately. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';

export interface ApiProcess {
  host: string;
  port: number;
}

/** One that was killed counts for so long; the edge, which finds nobody there, goes to another one meanwhile, where there is one. */
const countsSeconds = 35;

export const noteApiProcess = async (db: Db, { host, port }: ApiProcess): Promise<void> => {
  await sql`insert into api_processes (host, port) values (${host}, ${port})
    on conflict (host, port) do update set seen_at = clock_timestamp()`.execute(db);
};

export const forgetApiProcess = async (db: Db, { host, port }: ApiProcess): Promise<void> => {
  await sql`delete from api_processes where host = ${host} and port = ${port}`.execute(db);
};

/** Those that serve now, in an order that stays. Forgets those that were not heard of for long. */
export async function apiProcesses(db: Db): Promise<ApiProcess[]> {
  await sql`delete from api_processes where seen_at < clock_timestamp() - make_interval(secs => ${countsSeconds})`.execute(db);
  return db.selectFrom('api_processes').select(['host', 'port']).orderBy('host').orderBy('port').execute();
}
