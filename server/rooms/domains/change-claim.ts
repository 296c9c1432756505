/** Claims that people make and give up by name. */
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { requiresDomainOwnership } from '../projects/public.ts';
import { claimName, release, surveyName, type Claimant } from './claim-name.ts';
import { claimsOf, type DomainClaim } from './claim.ts';
import { checkedName } from './domain-name.ts';
import { isProven, refusedProof } from './ownership.ts';
import { takeDomains } from './queries.ts';

export async function addClaim(platform: Platform, project: Claimant, given: string): Promise<DomainClaim> {
  const name = checkedName(given, platform.config);
  const survey = await surveyName(platform, project, name);
  return platform.db.transaction().execute(async (tx) => {
    await takeDomains(tx);
    await claimName(tx, platform, project, name, survey);
    await sql`update domain_claims set is_kept = true, updated_at = clock_timestamp() where name = ${survey.registered}`.execute(tx);
    const [claim] = await claimsOf(tx, project.id, survey.registered);
    if (!claim) throw gone();
    return claim;
  });
}

/** Looks once more. Where the operator does not ask for proofs, one that is not there is no matter. */
export async function proveClaim(platform: Platform, { project_id, name }: DomainClaim): Promise<DomainClaim> {
  const { db, config } = platform;
  const proven = await isProven(platform, project_id, name);
  if (!proven && (await requiresDomainOwnership(db, config, project_id))) throw refusedProof(platform, project_id, name);
  await sql`update domain_claims set proven_at = case when ${proven}::boolean then clock_timestamp() else proven_at end, updated_at = clock_timestamp()
    where project_id = ${project_id} and name = ${name}`.execute(db);
  const [claim] = await claimsOf(db, project_id, name);
  if (!claim) throw gone();
  return claim;
}

export const removeClaim = ({ db }: Platform, { project_id, name }: DomainClaim, inUse: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await takeDomains(tx);
    const [claim] = await claimsOf(tx, project_id, name);
    if (!claim) throw gone();
    if (claim.count > 0) throw new Problem('conflict', inUse);
    await release(tx, sql`domain_claims.project_id = ${project_id} and domain_claims.name = ${name}`);
  });

/** Somebody was faster. */
const gone = () => new Problem('not-found', 'No such domain claim.');
