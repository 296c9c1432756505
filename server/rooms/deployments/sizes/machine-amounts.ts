/**
 * What the machine has to give out, written down for processes that do not have the machine, and how much of it each deployment is given, counted as
 * this version counts.
 */
import { sql } from 'kysely';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Amounts } from './amounts.ts';
import { amountsOf, amountsThere } from './capacity.ts';
import { hasDeployments } from '../running/kept-stacks.ts';
import type { Stack } from '../stack/stack.ts';
import { deploymentLife } from '../life-cycle.ts';

export const noteMachineAmounts: Reconciler = {
  name: 'note what the machine has',
  everySeconds: 30,
  usesMachine: true,
  run: async ({ db, machine }) => {
    if (!(await hasDeployments(db))) return;
    const { volumes } = await machine();
    await noteAmounts(db, await amountsThere({ volumes }), (await volumes.capacity()).freeBytes);
    await countAgain(db);
  },
};

const megabyte = 2 ** 20;

const noteAmounts = (db: Db, { cpu, memory, disk }: Amounts, freeBytes: number) =>
  sql`insert into machine_amounts (cpu, memory, disk, disk_free) values (${cpu}, ${memory}, ${disk}, ${freeBytes / megabyte})
    on conflict (is_only) do update set cpu = excluded.cpu, memory = excluded.memory, disk = excluded.disk, disk_free = excluded.disk_free,
      noted_at = clock_timestamp()`.execute(db);

/** Undefined: nothing was ever deployed, or the process that has the machine has yet to look. */
export async function notedAmounts(db: Db | Tx): Promise<Amounts | undefined> {
  const { rows } = await sql<Amounts>`select cpu, memory, disk from machine_amounts`.execute(db);
  return rows[0];
}

/** How long a note of free bytes counts: free space changes all the time, and an older note says nothing. */
const freshMinutes = 2;

/** The free bytes of the pool. Undefined: nobody has looked lately. */
export async function notedFreeBytes(db: Db | Tx): Promise<number | undefined> {
  const { rows } = await sql<{ bytes: number }>`
    select disk_free * ${megabyte} as bytes from machine_amounts
    where disk_free is not null and noted_at > now() - make_interval(mins => ${freshMinutes}::integer)`.execute(db);
  return rows[0]?.bytes;
}

/** Whether this process has counted the deployments in this database again, because an older version may have counted differently; once is enough. */
const counts = stateOf<Db, { isDone: boolean }>(() => ({ isDone: false }));

async function countAgain(db: Db) {
  if (counts(db).isDone) return;
  const { rows } = await sql<Pick<Stack, 'model' | 'sizes'> & { id: string }>`
    select id, model, sizes from deployments where ${deploymentLife.sqlPossible('status', 'occupy')}`.execute(db);
  for (const { id, model, sizes } of rows) {
    const { cpu, memory, disk } = amountsOf(model, sizes);
    await sql`update deployments set cpu = ${cpu}, memory = ${memory}, disk = ${disk} where id = ${id}`.execute(db);
  }
  counts(db).isDone = true;
}
