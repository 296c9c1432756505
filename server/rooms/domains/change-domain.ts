/** Changing and deleting domains. What is attached to a domain of production goes with it. */
import { sql } from 'kysely';
import type { Activity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { changed } from '../activities/public.ts';
import { keepCertificate } from '../certificates/work.ts';
import { tellOfDomain } from './activities.ts';
import { certificateFor, type Ssl } from './certificate-of-domain.ts';
import { releaseUnused } from './claim-name.ts';
import { shown, type SiteDomain } from './domain.ts';
import {
  deleteDomain,
  domainOfEnvironment,
  domainsOfEnvironment,
  productionDomain,
  productionSite,
  settleDefault,
  settleRobots,
  sitesWithReplacements,
  takeDomains,
  updateAttributes,
  type Site,
} from './queries.ts';
import { refusedField, refuseWildcardAsDefault } from './refusals.ts';

export interface DomainChange {
  attributes?: Record<string, string>;
  is_default?: boolean;
  ssl?: Ssl;
}

export async function changeDomain(
  platform: Platform,
  caller: Caller,
  { project_id, organization_id, name, site }: SiteDomain,
  { attributes, is_default, ssl }: DomainChange,
): Promise<Changed<SiteDomain>> {
  if (is_default) refuseWildcardAsDefault(name);
  const certificate = certificateFor(name, ssl);
  return platform.db.transaction().execute(async (tx) => {
    await takeDomains(tx);
    const before = await domainOfEnvironment(tx, project_id, site, name);
    if (!before) throw gone();
    if (is_default !== undefined && before.replacement_for !== null)
      throw refusedField(
        'is_default',
        'is for domains of production; this one takes the place of one, and can only be deleted and added anew',
      );
    if (is_default === false && before.is_default)
      throw refusedField('is_default', 'must be true for one domain; make another one the default instead');
    await updateAttributes(tx, name, attributes ?? before.attributes);
    if (is_default) await settleDefault(tx, project_id, name);
    if (certificate) await keepCertificate(tx, platform.secrets, project_id, certificate);
    const after = await domainOfEnvironment(tx, project_id, site, name);
    const activity = await tellOfDomain(tx, 'updated', caller, before, [site]);
    return changed({ ...shown(after ?? before), site }, organization_id, activity);
  });
}

/** By way of the project. Whether it is one of its domains was asked before. */
export async function chooseDefaultDomain(tx: Tx, caller: Caller, projectId: string, name: string): Promise<Activity> {
  refuseWildcardAsDefault(name, 'default_domain');
  await takeDomains(tx);
  const [domain, site] = [await productionDomain(tx, projectId, name), await productionSite(tx, projectId)];
  if (!domain || !site) throw gone();
  await settleDefault(tx, projectId, name);
  return tellOfDomain(tx, 'updated', caller, domain, [site]);
}

export const removeDomain = ({ db }: Platform, caller: Caller, target: SiteDomain): Promise<Changed<SiteDomain>> =>
  db.transaction().execute(async (tx) => {
    const { project_id, organization_id, name, site } = target;
    await takeDomains(tx);
    const attached = await sitesWithReplacements(tx, project_id, name);
    if (!(await deleteDomain(tx, project_id, name))) throw gone();
    await settleDefault(tx, project_id);
    for (const each of [site, ...attached]) await shutOutRobots(tx, project_id, each);
    await releaseUnused(tx, sql`domain_claims.project_id = ${project_id}`);
    const activity = await tellOfDomain(tx, 'deleted', caller, target, [site, ...attached]);
    return changed(target, organization_id, activity);
  });

/** Where no domain is left. */
async function shutOutRobots(tx: Tx, projectId: string, site: Site) {
  const left = await domainsOfEnvironment(tx, projectId, site);
  if (left.length === 0) await settleRobots(tx, projectId, site.id, true);
}

/** Somebody was faster. */
const gone = () => new Problem('not-found', 'No such domain.');
