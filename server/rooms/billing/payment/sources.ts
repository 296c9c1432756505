/** Whether the payment provider knows how an organization pays. Only the provider knows by what; it tells when there is something, and when there is nothing any more. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';

/** The page of the provider at which somebody says how the organization pays. */
export function sourcesUrlFor(page: string, organizationId: string): string {
  const url = new URL(page);
  url.searchParams.set('organization_id', organizationId);
  return url.href;
}

export async function hasSource(db: Db | Tx, organizationId: string): Promise<boolean> {
  const { rows } = await sql`select from payment_sources where organization_id = ${organizationId}`.execute(db);
  return rows.length > 0;
}

export const addSource = (tx: Tx, organizationId: string) =>
  sql`insert into payment_sources (organization_id) values (${organizationId}) on conflict do nothing`.execute(tx);

export const removeSource = (tx: Tx, organizationId: string) =>
  sql`delete from payment_sources where organization_id = ${organizationId}`.execute(tx);
