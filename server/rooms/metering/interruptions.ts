/**
 * What did not go on while nobody looked. Containers outlive the platform, so what is allocated counts while the platform is off; but nothing runs while the machine is off,
 * and builds end with the platform. Both are found by the next platform, which knows when what is allocated was last seen to be there.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Allocated } from './allocated.ts';

export interface Look {
  /** Unix milliseconds. */
  now: number;
  /** Changes with each boot of the machine. */
  bootId: string;
  /** When this process was started. */
  processStarted: number;
}

const at = (milliseconds: number) => sql`to_timestamp(${milliseconds / 1000}::double precision)`;

/** Notes that what is allocated is there now; ends what cannot have been there all the time. Metering begins with the first look. */
export const lookAtAllocations = (db: Db, look: Look): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`insert into metering (closed_until, seen_at, boot_id)
      values (date_trunc('hour', ${at(look.now)}, 'UTC'), ${at(look.now)}, ${look.bootId}) on conflict do nothing`.execute(tx);
    const { rows } = await sql<{ boot_id: string; seen_at: number }>`
      select boot_id, extract(epoch from seen_at)::double precision * 1000 as seen_at from metering for update`.execute(tx);
    const [before] = rows;
    if (!before) return;
    if (before.seen_at < look.processStarted) await endBuilds(tx, before.seen_at, look);
    if (before.boot_id !== look.bootId) await interruptAll(tx, before.seen_at, look);
    await sql`update metering set seen_at = ${at(look.now)}, boot_id = ${look.bootId}`.execute(tx);
  });

const endBuilds = (tx: Tx, seenAt: number, { processStarted }: Look) =>
  sql`update allocations set until = greatest(since, ${at(seenAt)})
    where until is null and subject like 'build %' and since < ${at(processStarted)}`.execute(tx);

interface Interrupted {
  id: string;
  amounts: Allocated[];
}

/** Disks keep what is on them. Everything else ended when it was last seen, and is there again from now on. */
async function interruptAll(tx: Tx, seenAt: number, { now }: Look): Promise<void> {
  const { rows } = await sql<Interrupted>`
    update allocations set until = greatest(since, ${at(seenAt)}) where until is null and since < ${at(now)} returning id, amounts`.execute(
    tx,
  );
  for (const { id, amounts } of rows) {
    const resting = amounts.map((amount) => ({ ...amount, cpu: 0, memory: 0 }));
    await sql`
      insert into allocations (organization_id, project_id, environment, subject, version, amounts, since, until)
      select organization_id, project_id, environment, subject, version, each.amounts, each.since, each.until
      from allocations, lateral (values
        (${JSON.stringify(resting)}::jsonb, allocations.until, ${at(now)}),
        (allocations.amounts, ${at(now)}, null::timestamptz)) as each (amounts, since, until)
      where id = ${id} and allocations.until < ${at(now)}`.execute(tx);
  }
}
