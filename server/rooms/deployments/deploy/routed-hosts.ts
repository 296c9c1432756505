/**
 * Hosts that projects serve by their routes alone, in names that nobody claimed. Whoever proves that the registered name is theirs gets them: the constraint of the
 * database lets nobody else have them from then on, and the edge is told so.
 */
import { sql } from 'kysely';
import { nudge } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { keepCertificates } from '../../certificates/work.ts';
import { keepStacksRunning } from '../running/reconcilers.ts';
import { lockHosts } from './claim-hosts.ts';

/** Of other projects, in the registered name and all below it, without those in names that these projects have claimed themselves. */
const routedByOthers = (projectId: string, registered: string) => sql`
  hosts.project_id <> ${projectId} and names_of(hosts.host) && names_of(${`*.${registered}`}) and not exists (
    select from domain_claims where domain_claims.project_id = hosts.project_id and names_of(hosts.host) <@ names_of('*.' || domain_claims.name))`;

export async function areHostsRouted(db: Db | Tx, projectId: string, registered: string): Promise<boolean> {
  const { rows } = await sql`select from hosts where ${routedByOthers(projectId, registered)} limit 1`.execute(db);
  return rows.length > 0;
}

/** Takes them from whoever has them. Their routes stay written down, and lead nowhere. */
export async function takeRoutedHosts(tx: Tx, projectId: string, registered: string): Promise<void> {
  await lockHosts(tx);
  await sql`delete from hosts where ${routedByOthers(projectId, registered)}`.execute(tx);
  await nudge(tx, keepStacksRunning);
  await nudge(tx, keepCertificates);
}
