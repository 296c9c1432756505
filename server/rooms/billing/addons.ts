/** What organizations and projects can have beside, by level, as the price list sells it. */
import { sql } from 'kysely';
import type { Day } from '../../kernel/days.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { decimal, priceOf, type PriceContent } from '../prices/public.ts';
import { levelsNoted, noteLevels } from './facts.ts';

export interface OrganizationAddons {
  user_management: string;
  support_level: string;
}

export async function addonsOf(db: Db | Tx, organizationId: string): Promise<OrganizationAddons> {
  const { rows } = await sql<OrganizationAddons>`
    select user_management, support_level from organization_addons where organization_id = ${organizationId}`.execute(db);
  return rows[0] ?? { user_management: '', support_level: '' };
}

const setAddons = (db: Db | Tx, organizationId: string, { user_management, support_level }: OrganizationAddons) =>
  sql`insert into organization_addons (organization_id, user_management, support_level)
    values (${organizationId}, ${user_management}, ${support_level})
    on conflict (organization_id) do update set user_management = excluded.user_management, support_level = excluded.support_level,
      updated_at = clock_timestamp()`.execute(db);

type Levels = Record<string, string>;

/** Charged is, on the day of a change, the dearest level that was had on it, however short. */
export const changeAddons = (
  db: Db,
  organizationId: string,
  change: Partial<OrganizationAddons>,
  { user_management, support_levels }: Pick<PriceContent, 'user_management' | 'support_levels'>,
  today: Day,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    // One change after the other, so that none misses what another noted.
    await sql`select from organizations where id = ${organizationId} for no key update`.execute(tx);
    const before = await addonsOf(tx, organizationId);
    const after = { ...before, ...change };
    await setAddons(tx, organizationId, after);
    const noted = (await levelsNoted(tx, organizationId, today)) ?? before;
    await noteLevels(tx, organizationId, today, {
      user_management: dearer(user_management, noted.user_management, after.user_management),
      support_level: dearer(support_levels, noted.support_level, after.support_level),
    });
  });

const dearer = (levels: Levels, one: string, other: string): string =>
  other === '' || decimal(priceOf(levels, one)) > decimal(priceOf(levels, other)) ? one : other;

/** The levels of something that is sold, with their prices. */
export const pricesOf = (levels: Levels): Record<string, number> =>
  Object.fromEntries(Object.entries(levels).map(([level, price]) => [level, Number(price)]));

/** The level that is had, with its price: none, where it is not sold any more. */
export const currentOf = (levels: Levels, level: string | undefined): Record<string, number> =>
  level === undefined || level === '' ? {} : { [level]: Number(priceOf(levels, level)) };

/** The levels that cost more than the one that is had. */
export function upgradesOf(levels: Levels, level: string | undefined): string[] {
  const paid = decimal(priceOf(levels, level ?? ''));
  return Object.entries(levels)
    .filter(([name, price]) => name !== level && decimal(price) > paid)
    .map(([name]) => name);
}
