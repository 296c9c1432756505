/** Sums of metered hours. Every level adds up: the sum of a month is that of its days, and the sum of a project that of its environments and services. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import { quantities, type Metered, type Quantities, type Quantity } from './usage-of-hour.ts';

export const usageGrains = ['hour', 'day', 'month'] as const;
export type UsageGrain = (typeof usageGrains)[number];

export const usageLevels = [
  'organization_id',
  'project_id',
  'environment',
  'kind',
  'service',
] as const satisfies readonly (keyof Metered)[];
export type UsageLevel = (typeof usageLevels)[number];

export interface UsageAsked {
  /** Full hours; inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
  /** Days and months are those of UTC. Undefined: one sum for all of it. */
  grain?: UsageGrain | undefined;
  /** What sums are told apart by. */
  by: readonly UsageLevel[];
  /** Only what is of these. */
  of?: Partial<Pick<Metered, UsageLevel>> | undefined;
}

export interface UsageSum extends Partial<Pick<Metered, UsageLevel>>, Quantities {
  /** The beginning of the hour, day or month. */
  start?: Date | undefined;
}

const starts = (grain: UsageGrain) => sql`extract(epoch from date_trunc(${sql.lit(grain)}, hour, 'UTC'))::double precision * 1000`;

export async function sumUsage(db: Db | Tx, { from, to, grain, by, of = {} }: UsageAsked): Promise<UsageSum[]> {
  const levels = [...(grain ? [sql`${starts(grain)} as start`] : []), ...by.map((level) => sql.ref(level))];
  const sums = quantities.map((quantity) => sql`coalesce(sum(${sql.ref(quantity)}), 0)::double precision as ${sql.ref(quantity)}`);
  const places = levels.map((_, nth) => sql.lit(nth + 1));
  const conditions = usageLevels.flatMap((level) => (of[level] === undefined ? [] : sql`${sql.ref(level)} = ${of[level]}`));
  const { rows } = await sql<Partial<Pick<Metered, UsageLevel>> & Record<Quantity, number> & { start?: number }>`
    select ${sql.join([...levels, ...sums])} from usage_hours join metered on metered.id = metered_id
    where ${sql.join([sql`hour >= ${from.toISOString()}`, sql`hour < ${to.toISOString()}`, ...conditions], sql` and `)}
    ${places.length > 0 ? sql`group by ${sql.join(places)} order by ${sql.join(places)}` : sql``}`.execute(db);
  return rows.map(({ start, ...sum }) => ({ ...sum, start: start === undefined ? undefined : new Date(start) }));
}

/** Hours before this one never change. Undefined: nothing was metered yet. */
export async function closedUntil(db: Db | Tx): Promise<Date | undefined> {
  const { rows } = await sql<{ milliseconds: number }>`
    select extract(epoch from closed_until)::double precision * 1000 as milliseconds from metering`.execute(db);
  return rows[0] && new Date(rows[0].milliseconds);
}
