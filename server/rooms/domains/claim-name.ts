/**
 * Registered names and whose they are. A domain claims the registered name that it lies in for its project, and all below it; the claim ends with the last
 * domain that uses it, unless somebody asked for it by name. The owner of a name can declare it a public suffix with a TXT record: then each project claims
 * what is one label below it.
 *
 * Who asks DNS does so before the transaction (`surveyName`); the transaction looks again at everything but that (`claimName`).
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { forgetCertificates } from '../certificates/work.ts';
import { areHostsRouted, takeRoutedHosts } from '../deployments/work.ts';
import { standingsOf } from '../domain-names/public.ts';
import { requiresDomainOwnership } from '../projects/public.ts';
import { oneLabelMore, registeredName } from './domain-name.ts';
import { isProven, refusedProof } from './ownership.ts';
import { claimedByOthers, refusedField } from './refusals.ts';

export interface Claimant {
  id: string;
  organization_id: string;
}

export interface Survey {
  /** What is claimed for the domain. */
  registered: string;
  isProven: boolean;
}

/** A Problem where the name is another project's, or has to be proven and is not. */
export async function surveyName(platform: Platform, project: Claimant, name: string): Promise<Survey> {
  const { db, config } = platform;
  const registered = await claimableName(platform, project, name);
  const standing = (await standingsOf(db, project.id, [registered])).get(registered);
  const isOwn = (await ownerOf(db, registered)) === project.id;
  const mustProve = standing === 'released' || (await requiresDomainOwnership(db, config, project.id));
  const needsProof = (!isOwn && mustProve) || (await areHostsRouted(db, project.id, registered));
  if (!needsProof) return { registered, isProven: false };
  if (!(await isProven(platform, project.id, registered))) throw refusedProof(platform, project.id, registered);
  return { registered, isProven: true };
}

async function claimableName({ db, domainProofs }: Platform, project: Claimant, name: string): Promise<string> {
  let registered = registeredName(name);
  if (registered === undefined) throw refusedField('name', 'must be below a public suffix');
  for (;;) {
    await releaseUnused(db, sql`domain_claims.name = ${registered}`);
    const owner = await ownerOf(db, registered);
    if (owner === undefined || owner === project.id) return registered;
    const below = oneLabelMore(name, registered);
    const isSuffix = () => domainProofs.hasText(`_public-suffix-root.${registered}`, `public-suffix-root=${registered}`);
    if (below === undefined || !(await isSuffix())) throw claimedByOthers(registered);
    registered = below;
  }
}

const ownerOf = async (db: Db | Tx, registered: string): Promise<string | undefined> =>
  (await db.selectFrom('domain_claims').select('project_id').where('name', '=', registered).executeTakeFirst())?.project_id;

/** Claims what was surveyed, for the domain. `takeDomains` comes first. */
export async function claimName(tx: Tx, platform: Platform, project: Claimant, name: string, survey: Survey): Promise<void> {
  const { registered } = survey;
  await takeFromRoutes(tx, platform, project, survey);
  if (await isInTheWay(tx, project.id, name, registered)) throw claimedByOthers(registered);
  const isOwn = (await ownerOf(tx, registered)) === project.id;
  const standing = (await standingsOf(tx, project.id, [registered])).get(registered);
  // Given up by another organization between the survey and now.
  if (!isOwn && standing === 'released' && !survey.isProven) throw refusedProof(platform, project.id, registered);
  await sql`insert into domain_claims (name, project_id, proven_at)
    values (${registered}, ${project.id}, case when ${survey.isProven}::boolean then clock_timestamp() end)
    on conflict (name) do nothing`.execute(tx);
  await tx.deleteFrom('released_names').where('name', '=', registered).execute();
}

/** What others serve by their routes alone goes to whoever has proven that the name is theirs, and to nobody else. */
async function takeFromRoutes(tx: Tx, platform: Platform, project: Claimant, { registered, isProven: isTheirs }: Survey): Promise<void> {
  if (!(await areHostsRouted(tx, project.id, registered))) return;
  if (!isTheirs) throw refusedProof(platform, project.id, registered);
  await takeRoutedHosts(tx, project.id, registered);
  platform.log.info({ project: project.id, name: registered }, 'hosts that others served by their routes go to who has proven the name');
}

/** Claims of others from the registered name down to the domain, below a wildcard too; and what others serve in names of theirs. */
async function isInTheWay(tx: Tx, projectId: string, name: string, registered: string): Promise<boolean> {
  const { rows } = await sql`
    select from domain_claims where project_id <> ${projectId} and names_of(name) && names_of(${`*.${registered}`})
      and (names_of(${name.replace(/^\*\./, '')}) && names_of('*.' || name) or names_of(name) && names_of(${name}))
    union all
    select from hosts where project_id <> ${projectId} and names_of(host) && names_of(${name})
    limit 1`.execute(tx);
  return rows.length > 0;
}

/** From here on somebody else gets them, with a proof where it is another organization. */
export const releaseUnused = (db: Db | Tx, which: ReturnType<typeof sql>) =>
  release(
    db,
    sql`${which} and not is_kept and not exists (select from domains
    where domains.project_id = domain_claims.project_id and domains.registered_name = domain_claims.name)`,
  );

/** All domains of a project that ends, and what it claimed. */
export async function forgetDomains(tx: Tx, projectId: string): Promise<void> {
  await tx.deleteFrom('domains').where('project_id', '=', projectId).execute();
  await forgetCertificates(tx, projectId);
  await release(tx, sql`domain_claims.project_id = ${projectId}`);
}

export const release = (db: Db | Tx, which: ReturnType<typeof sql>) =>
  sql`with gone as (delete from domain_claims where ${which} returning name, project_id)
    insert into released_names (name, organization_id)
    select gone.name, projects.organization_id from gone join projects on projects.id = gone.project_id
    on conflict (name) do update set organization_id = excluded.organization_id, released_at = clock_timestamp()`.execute(db);
