/** What organizations and projects can have beside, by level, as the price list sells it. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import { decimal } from '../prices/public.ts';

export interface OrganizationAddons {
  user_management: string;
  support_level: string;
}

export async function addonsOf(db: Db, organizationId: string): Promise<OrganizationAddons> {
  const { rows } = await sql<OrganizationAddons>`
    select user_management, support_level from organization_addons where organization_id = ${organizationId}`.execute(db);
  return rows[0] ?? { user_management: '', support_level: '' };
}

export const setAddons = (db: Db, organizationId: string, { user_management, support_level }: OrganizationAddons) =>
  sql`insert into organization_addons (organization_id, user_management, support_level)
    values (${organizationId}, ${user_management}, ${support_level})
    on conflict (organization_id) do update set user_management = excluded.user_management, support_level = excluded.support_level,
      updated_at = clock_timestamp()`.execute(db);

type Levels = Record<string, string>;

/** The levels of something that is sold, with their prices. */
export const pricesOf = (levels: Levels): Record<string, number> =>
  Object.fromEntries(Object.entries(levels).map(([level, price]) => [level, Number(price)]));

/** The level that is had, with its price: none, where it is not sold any more. */
export const currentOf = (levels: Levels, level: string | undefined): Record<string, number> =>
  level === undefined || level === '' ? {} : { [level]: Number(levels[level] ?? '0') };

/** The levels that cost more than the one that is had. */
export function upgradesOf(levels: Levels, level: string | undefined): string[] {
  const paid = decimal(levels[level ?? ''] ?? '0');
  return Object.entries(levels)
    .filter(([name, price]) => name !== level && decimal(price) > paid)
    .map(([name]) => name);
}
