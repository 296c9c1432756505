/** What an organization's projects used, day by day, as whole numbers: money is reckoned from them, so no floating point takes part. */
import { sql } from 'kysely';
import type { Day } from '../../kernel/days.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { AllocatedKind } from './allocated.ts';
import { quantities, type MeteredKind, type Quantity } from './usage-of-hour.ts';

export interface UsageDay {
  project_id: string;
  kind: MeteredKind;
  day: Day;
  sums: Record<Quantity, bigint>;
}

/** From the first day up to, but without, the last; days are those of UTC. */
export async function usageDays(db: Db | Tx, organizationId: string, from: Day, to: Day): Promise<UsageDay[]> {
  const sums = quantities.map((quantity) => sql`coalesce(sum(${sql.ref(quantity)}), 0)::text as ${sql.ref(quantity)}`);
  const { rows } = await sql<Omit<UsageDay, 'sums'> & Record<Quantity, string>>`
    select project_id, kind, (hour at time zone 'UTC')::date as day, ${sql.join(sums)}
    from metered join usage_hours on metered_id = metered.id
    where organization_id = ${organizationId} and hour >= ${`${from}T00:00:00Z`} and hour < ${`${to}T00:00:00Z`}
    group by 1, 2, 3 order by 3, 1, 2`.execute(db);
  return rows.map(({ project_id, kind, day, ...row }) => ({ project_id, kind, day, sums: wholeNumbers(row) }));
}

const wholeNumbers = (row: Record<Quantity, string>) =>
  Object.fromEntries(quantities.map((quantity) => [quantity, BigInt(row[quantity])])) as Record<Quantity, bigint>;

export interface AllocatedNow {
  project_id: string;
  kind: AllocatedKind;
  /** CPUs. */
  cpu: number;
  /** MB. */
  memory: number;
  /** MB. */
  disk: number;
  environments: number;
}

/** What the projects of an organization have at this moment, summed over their environments. */
export async function allocatedNow(db: Db | Tx, organizationId: string): Promise<AllocatedNow[]> {
  const { rows } = await sql<AllocatedNow>`
    select project_id, amount.kind, sum(amount.cpu) as cpu, sum(amount.memory) as memory, sum(amount.disk) as disk,
      count(distinct nullif(environment, ''))::integer as environments
    from allocations, jsonb_to_recordset(amounts) as amount (kind text, cpu double precision, memory double precision, disk double precision)
    where organization_id = ${organizationId} and until is null group by 1, 2`.execute(db);
  return rows;
}
