/** Domains as clients know them: those of production, and elsewhere those that take their place. */
import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import { spelledAs } from './domain-name.ts';
import { domainOfEnvironment, productionDomain, siteById, type Site, type StoredDomain } from './queries.ts';

/** Also as people spell it. */
export const DomainId = Type.String({ minLength: 1, maxLength: 300 });

export const domainTypes = { production: 'prod', replacement: 'replacement' } as const;

const fields = {
  id: Type.String({ description: 'Its name.' }),
  created_at: Time,
  updated_at: Time,
  type: Type.String({ enum: Object.values(domainTypes) }),
  project: ProjectId,
  name: Type.String({ description: 'In ASCII: `xn--bcher-kva.example` for `bücher.example`.' }),
  registered_name: Type.String({ description: 'The claim that it lies in.' }),
  attributes: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  is_default: Type.Optional(Type.Boolean({ description: 'Of production: whether `{default}` stands for it.' })),
  replacement_for: Type.Optional(Type.String({ description: 'Elsewhere: the domain of production whose place it takes.' })),
  ssl: Type.Object({
    has_certificate: Type.Boolean(),
    expires_on: Type.Optional(Time),
    trouble: Type.Optional(
      Type.String({
        description: 'Why an automatic certificate has not come yet, or clients refuse the one that is there; and what to change.',
      }),
    ),
  }),
};

export function shown({ certificate_expires_at, certificate_trouble, is_default, replacement_for, ...row }: StoredDomain) {
  return {
    ...row,
    id: row.name,
    project: row.project_id,
    type: replacement_for === null ? domainTypes.production : domainTypes.replacement,
    ...(replacement_for === null ? { is_default } : { replacement_for }),
    ssl: {
      has_certificate: certificate_expires_at !== null,
      ...(certificate_expires_at !== null && { expires_on: certificate_expires_at }),
      ...(certificate_trouble !== null && { trouble: certificate_trouble }),
    },
  };
}

export type Domain = ReturnType<typeof shown>;
/** In the environment through which it was asked for. */
export type SiteDomain = Domain & { site: Site };

export const DomainEntity = entity({
  name: 'domain',
  path: '/projects/{projectId}/domains/{domainId}',
  params: { projectId: ProjectId, domainId: DomainId },
  schema: Type.Object(fields),
  address: ({ project_id, name }: Domain) => ({ projectId: project_id, domainId: name }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'domain:view',
  load: async ({ projectId, domainId }, { db }) => {
    const found = await productionDomain(db, projectId, spelledAs(domainId));
    return found && shown(found);
  },
});

export const EnvironmentDomainEntity = entity({
  name: 'environment domain',
  path: '/projects/{projectId}/environments/{environmentId}/domains/{domainId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId, domainId: DomainId },
  schema: Type.Object(fields),
  address: ({ project_id, name, site }: SiteDomain) => ({ projectId: project_id, environmentId: site.id, domainId: name }),
  scope: ({ project_id, organization_id, site }) => ({ project: project_id, organization: organization_id, environmentType: site.type }),
  view: 'domain:view',
  load: async ({ projectId, environmentId, domainId }, { db }) => {
    const site = await siteById(db, projectId, environmentId);
    const found = site && (await domainOfEnvironment(db, projectId, site, spelledAs(domainId)));
    return found && { ...shown(found), site };
  },
});
