/**
 * Bytes of logs that sinks outside took. Each forwarding counts them in a file of its own, on and on, together with how far it has come in the logs; here the difference to what was
 * counted before is added to the hour, in one transaction with the new count. So whatever is killed, each byte is counted once, whenever it is found.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { ForwardedLogs } from './usage-of-hour.ts';

export interface CountedForwarding {
  /** Tells it from all others that are going on. */
  name: string;
  /** Another one each time that counting begins anew. */
  generation: string;
  /** All that was ever taken of this generation. */
  bytes: number;
  projectId: string;
  /** The environment's machine name. */
  environment: string;
}

/** What is found late belongs to the hour in which it is found: hours that are closed do not change. */
export const countForwarded = (db: Db, { name, generation, bytes, projectId, environment }: CountedForwarding): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`insert into counted_forwardings (name, generation, bytes) values (${name}, ${generation}, 0) on conflict do nothing`.execute(
      tx,
    );
    const { rows } = await sql<{ bytes: string }>`
      select bytes from counted_forwardings where name = ${name} and generation = ${generation} for update`.execute(tx);
    const more = bytes - Number(rows[0]?.bytes ?? 0);
    if (more <= 0) return;
    await sql`update counted_forwardings set bytes = ${bytes} where name = ${name} and generation = ${generation}`.execute(tx);
    await sql`
      insert into forwarded_logs (hour, project_id, environment, bytes)
      values (greatest(date_trunc('hour', clock_timestamp(), 'UTC'), (select closed_until from metering)), ${projectId}, ${environment}, ${more})
      on conflict (hour, project_id, environment) do update set bytes = forwarded_logs.bytes + excluded.bytes`.execute(tx);
  });

/** For one that has ended, once the file that counted it is gone: as long as that is there, it is counted on from here. */
export const forgetCounted = (db: Db, { name, generation }: Pick<CountedForwarding, 'name' | 'generation'>) =>
  sql`delete from counted_forwardings where name = ${name} and generation = ${generation}`.execute(db);

export async function forwardedIn(tx: Tx, hour: Date): Promise<ForwardedLogs[]> {
  const { rows } = await sql<Omit<ForwardedLogs, 'bytes'> & { bytes: string }>`
    select project_id, environment, bytes from forwarded_logs where hour = ${hour.toISOString()}`.execute(tx);
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

export const forgetForwarded = (tx: Tx, before: Date) => sql`delete from forwarded_logs where hour < ${before.toISOString()}`.execute(tx);
