import { Type } from 'typebox';
import { array, created, deleted, one, operation, plain, updated } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed, nullable, Time } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import { environmentById, EnvironmentEntity } from '../environments/public.ts';
import { ProjectEntity, projectFields } from '../projects/public.ts';
import { addDomain } from './add-domain.ts';
import { Ssl } from './certificate-of-domain.ts';
import { changeDomain, removeDomain } from './change-domain.ts';
import { dnsStateOf } from './domain-records.ts';
import { DomainEntity, EnvironmentDomainEntity, shown, type Domain, type SiteDomain } from './domain.ts';
import { domainsOfEnvironment, productionDomains, productionSite, type Site } from './queries.ts';

const Name = Type.String({
  minLength: 1,
  maxLength: 300,
  description: 'Also in other scripts than Latin; `*.example.org` stands for all names below it.',
});

const change = {
  attributes: Type.Optional(projectFields.attributes),
  is_default: Type.Optional(
    Type.Boolean({ description: 'Of production: whether `{default}` stands for it. The first domain does unless another is chosen.' }),
  ),
  ssl: Type.Optional(Ssl),
};
const addition = {
  ...change,
  name: Name,
  replacement_for: Type.Optional(
    Type.String({ minLength: 1, maxLength: 300, description: 'Beside production: the domain of production whose place it takes.' }),
  ),
};

async function production(db: Db, projectId: string): Promise<Site> {
  const site = await productionSite(db, projectId);
  if (!site) throw new Problem('conflict', 'The project has no production environment that could have domains.');
  return site;
}

const inProduction = async (db: Db, domain: Domain): Promise<SiteDomain> => ({ ...domain, site: await production(db, domain.project_id) });

export const listDomains = operation({
  summary: 'List the domains of production',
  endpoint: 'GET /projects/{projectId}/domains',
  on: ProjectEntity,
  rel: 'domains',
  permission: 'domain:view',
  returns: array(DomainEntity),
  handle: async ({ target }, { db }) => (await productionDomains(db, target.id)).map(shown),
});

export const createDomain = operation({
  summary: 'Add a domain to production',
  endpoint: 'POST /projects/{projectId}/domains',
  on: ProjectEntity,
  rel: '#manage-domains',
  permission: 'domain:manage',
  body: closed(addition),
  example: { name: 'www.example.org', attributes: { purpose: 'shop' }, is_default: true },
  returns: created(DomainEntity),
  handle: async ({ caller, target, body }, platform) => addDomain(platform, caller, target, await production(platform.db, target.id), body),
});

export const getDomain = operation({
  summary: 'Get a domain of production',
  endpoint: 'GET /projects/{projectId}/domains/{domainId}',
  on: DomainEntity,
  permission: 'domain:view',
  returns: one(DomainEntity),
  handle: async ({ target }) => target,
});

const DnsRecordSchema = Type.Object({ type: Type.String({ enum: ['CNAME', 'A', 'AAAA'] }), name: Type.String(), value: Type.String() });

export const getDomainDns = operation({
  summary: 'Get the records that lead a domain of production here, and whether DNS has them now',
  endpoint: 'GET /projects/{projectId}/domains/{domainId}/dns',
  on: DomainEntity,
  rel: 'dns',
  permission: 'domain:view',
  returns: plain(
    Type.Object({
      is_set: nullable(Type.Boolean({ description: 'Whether visitors of the name come here; null: its name servers do not answer.' })),
      says: Type.String({ description: 'The same in a sentence, with where it leads instead.' }),
      records: Type.Array(DnsRecordSchema, { description: 'What to set, whoever has the name.' }),
      found: Type.Object({ aliases: Type.Array(Type.String()), addresses: Type.Array(Type.String()) }),
      checked_at: Time,
    }),
  ),
  handle: async ({ target, outside }, platform) => {
    const { db, config } = platform;
    const { id } = await production(db, target.project_id);
    const site = await environmentById(db, config.domain, target.project_id, id);
    if (!site) throw new Problem('not-found', 'No such domain.');
    const { name, registered_name } = target;
    return outside(() => dnsStateOf(platform, { name, registered_name, target: site.edge_hostname }));
  },
});

export const updateDomain = operation({
  summary: 'Change a domain of production, or give it a certificate',
  endpoint: 'PATCH /projects/{projectId}/domains/{domainId}',
  on: DomainEntity,
  rel: '#edit',
  permission: 'domain:manage',
  body: closed(change),
  example: { attributes: { purpose: 'blog' }, is_default: true },
  returns: updated(DomainEntity),
  handle: async ({ caller, target, body }, platform) => changeDomain(platform, caller, await inProduction(platform.db, target), body),
});

export const deleteDomain = operation({
  summary: 'Delete a domain of production, with those that are attached to it elsewhere',
  endpoint: 'DELETE /projects/{projectId}/domains/{domainId}',
  on: DomainEntity,
  rel: '#delete',
  permission: 'domain:manage',
  returns: deleted,
  handle: async ({ caller, target }, platform) => removeDomain(platform, caller, await inProduction(platform.db, target)),
});

export const listEnvironmentDomains = operation({
  summary: 'List the domains of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/domains',
  on: EnvironmentEntity,
  rel: '#domains',
  permission: 'domain:view',
  returns: array(EnvironmentDomainEntity),
  handle: async ({ target }, { db }) =>
    (await domainsOfEnvironment(db, target.project_id, target)).map((domain) => ({ ...shown(domain), site: target })),
});

export const createEnvironmentDomain = operation({
  summary: 'Add a domain to an environment; beside production, in the place of one of production',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/domains',
  on: EnvironmentEntity,
  rel: '#manage-domains',
  permission: 'domain:manage',
  allowedWhen: ({ status }) => environmentLife.possible(status, 'edit'),
  otherwise: ({ status }) => environmentLife.otherwise(status, 'edit'),
  body: closed(addition),
  example: { name: 'stage.example.net', replacement_for: 'www.example.org' },
  returns: created(EnvironmentDomainEntity),
  handle: ({ caller, target, body }, platform) =>
    addDomain(platform, caller, { id: target.project_id, organization_id: target.organization_id }, target, body),
});

export const getEnvironmentDomain = operation({
  summary: 'Get a domain of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
  on: EnvironmentDomainEntity,
  permission: 'domain:view',
  returns: one(EnvironmentDomainEntity),
  handle: async ({ target }) => target,
});

export const updateEnvironmentDomain = operation({
  summary: 'Change a domain of an environment, or give it a certificate',
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
  on: EnvironmentDomainEntity,
  rel: '#edit',
  permission: 'domain:manage',
  body: closed(change),
  example: { attributes: { purpose: 'review' } },
  returns: updated(EnvironmentDomainEntity),
  handle: ({ caller, target, body }, platform) => changeDomain(platform, caller, target, body),
});

export const deleteEnvironmentDomain = operation({
  summary: 'Delete a domain of an environment',
  endpoint: 'DELETE /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
  on: EnvironmentDomainEntity,
  rel: '#delete',
  permission: 'domain:manage',
  returns: deleted,
  handle: ({ caller, target }, platform) => removeDomain(platform, caller, target),
});
