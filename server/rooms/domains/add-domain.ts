/** Adding a domain to production, or one to another environment that takes the place of one of production. The row and its activity are one transaction. */
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { changed } from '../activities/public.ts';
import { keepCertificate } from '../certificates/work.ts';
import { capabilities, lockProject } from '../projects/public.ts';
import { tellOfDomain } from './activities.ts';
import { certificateFor, type Ssl } from './certificate-of-domain.ts';
import { claimName, surveyName, type Claimant } from './claim-name.ts';
import { shown, type SiteDomain } from './domain.ts';
import { checkedName, spelledAs } from './domain-name.ts';
import {
  allDomains,
  domainOfEnvironment,
  insertDomain,
  overlapping,
  settleDefault,
  settleRobots,
  takeDomains,
  type Site,
} from './queries.ts';
import { alreadyReplaced, notInProduction, refusedField, refuseWildcardAsDefault, tooManyEnvironments } from './refusals.ts';

export interface GivenDomain {
  name: string;
  attributes?: Record<string, string>;
  is_default?: boolean;
  replacement_for?: string;
  ssl?: Ssl;
}

export async function addDomain(
  platform: Platform,
  caller: Caller,
  project: Claimant,
  site: Site,
  given: GivenDomain,
): Promise<Changed<SiteDomain>> {
  const { attributes = {}, is_default = false, ssl } = given;
  const name = checkedName(given.name, platform.config);
  const replacement_for = replacedBy(given, site);
  if (is_default) refuseWildcardAsDefault(name);
  const certificate = certificateFor(name, ssl);
  const survey = await surveyName(platform, project, name);
  return platform.db.transaction().execute(async (tx) => {
    await lockProject(tx, project.id);
    await takeDomains(tx);
    const isFirst = await checkPlace(tx, project.id, site, name, replacement_for);
    await claimName(tx, platform, project, name, survey);
    const environment_id = replacement_for === null ? null : site.id;
    await insertDomain(tx, {
      name,
      project_id: project.id,
      environment_id,
      replacement_for,
      registered_name: survey.registered,
      attributes,
    });
    if (replacement_for === null) await settleDefault(tx, project.id, is_default ? name : undefined);
    if (isFirst) await settleRobots(tx, project.id, site.id, false);
    if (certificate) await keepCertificate(tx, platform.secrets, project.id, certificate);
    const row = await domainOfEnvironment(tx, project.id, site, name);
    if (!row) throw new Error(`The domain ${name} was not written down`);
    const activity = await tellOfDomain(tx, 'added', caller, row, [site]);
    return changed({ ...shown(row), site }, project.organization_id, activity);
  });
}

/** Null in production. */
function replacedBy({ replacement_for, is_default }: GivenDomain, { id, type }: Site): string | null {
  if (type === 'production') {
    if (replacement_for === undefined) return null;
    throw refusedField('replacement_for', 'is for environments that are not production; leave it out');
  }
  if (is_default) throw refusedField('is_default', `is for domains of production, which ${id} is not; leave it out`);
  if (replacement_for === undefined)
    throw refusedField(
      'replacement_for',
      `is required, as ${id} is not production: name the domain of production whose place this one takes`,
    );
  return spelledAs(replacement_for);
}

const domainsMax = 1000;

/** Whether it is the first domain there. A Problem says what is in its way. */
async function checkPlace(tx: Tx, projectId: string, site: Site, name: string, replacement_for: string | null): Promise<boolean> {
  const all = await allDomains(tx, projectId);
  if (all.length >= domainsMax) throw new Problem('conflict', `A project has at most ${domainsMax} domains; delete one first.`);
  const environment_id = replacement_for === null ? null : site.id;
  const here = all.filter((domain) => domain.environment_id === environment_id);
  if (replacement_for !== null) checkReplacement(all, site, replacement_for);
  const other = await overlapping(tx, name, projectId, environment_id);
  if (other) throw takenName(name, other);
  return here.length === 0;
}

function checkReplacement(all: Awaited<ReturnType<typeof allDomains>>, { id }: Site, replacement_for: string) {
  const production = all.filter(({ environment_id }) => environment_id === null).map(({ name }) => name);
  if (!production.includes(replacement_for)) throw notInProduction(replacement_for, production);
  const conflicting = all.find((domain) => domain.environment_id === id && domain.replacement_for === replacement_for);
  if (conflicting) throw alreadyReplaced(id, conflicting.name);
  const { environments_with_domains_limit: limit } = capabilities.custom_domains;
  const elsewhere = new Set(all.flatMap(({ environment_id }) => (environment_id === null || environment_id === id ? [] : environment_id)));
  if (elsewhere.size >= limit) throw tooManyEnvironments(limit, [...elsewhere].toSorted());
}

/** Nobody is told of other projects' environments: names of theirs are refused by their claims. */
const takenName = (name: string, { name: other, environment_id }: { name: string; environment_id: string | null }) =>
  new Problem(
    'conflict',
    `${name === other ? `There is a domain ${name} already` : `${name} stands for names that the domain ${other} has already`}, ${environment_id === null ? 'of production' : `of the environment ${environment_id}`}.`,
    { fields: { name: 'is taken' } },
  );
