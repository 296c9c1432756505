/** Deliveries are kept for a while, to be looked at and repeated, and then forgotten; so are lanes in which nothing was sent for long. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';

const keptDays = 30;
/** Attempts add up where a receiver fails; these many at a time are forgotten, so that no statement takes long. */
const atOnceMax = 5000;

export const forgetDeliveries: Reconciler = {
  name: 'deliveries are forgotten',
  everySeconds: 600,
  run: async ({ db }, signal) => {
    while (!signal.aborted && (await forgetSome(db)) === atOnceMax);
    await sql`delete from delivery_lanes where head > tail and holder is null and due_at < now() - make_interval(days => ${keptDays})`.execute(
      db,
    );
  },
};

async function forgetSome(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from deliveries where id in (
      select id from deliveries where finished_at < now() - make_interval(days => ${keptDays}) order by finished_at limit ${atOnceMax}
    )`.execute(db);
  return Number(numAffectedRows);
}
