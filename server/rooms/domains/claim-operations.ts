import { Type } from 'typebox';
import { array, created, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { ProjectEntity } from '../projects/public.ts';
import { addClaim, proveClaim, removeClaim } from './change-claim.ts';
import { claimsOf, DomainClaimEntity } from './claim.ts';

const inUse = 'Domains of the project lie in this name; delete them first.';

export const listDomainClaims = operation({
  summary: 'List the registered names that a project has',
  endpoint: 'GET /projects/{projectId}/domain-claims',
  on: ProjectEntity,
  rel: 'domain-claims',
  permission: 'domain:view',
  returns: array(DomainClaimEntity),
  handle: ({ target }, { db }) => claimsOf(db, target.id),
});

export const createDomainClaim = operation({
  summary: 'Claim the registered name of a domain, without a domain yet',
  endpoint: 'POST /projects/{projectId}/domain-claims',
  on: ProjectEntity,
  rel: '#manage-domain-claims',
  permission: 'domain:manage',
  body: closed({ name: Type.String({ minLength: 1, maxLength: 300 }) }),
  example: { name: 'example.org' },
  returns: created(DomainClaimEntity),
  handle: ({ target, body }, platform) => addClaim(platform, target, body.name),
});

export const getDomainClaim = operation({
  summary: 'Get a registered name that a project has',
  endpoint: 'GET /projects/{projectId}/domain-claims/{domainClaimId}',
  on: DomainClaimEntity,
  permission: 'domain:view',
  returns: one(DomainClaimEntity),
  handle: async ({ target }) => target,
});

export const updateDomainClaim = operation({
  summary: 'Look for the proof that a registered name is the project’s',
  endpoint: 'PATCH /projects/{projectId}/domain-claims/{domainClaimId}',
  on: DomainClaimEntity,
  rel: '#edit',
  permission: 'domain:manage',
  body: closed({}),
  example: {},
  returns: updated(DomainClaimEntity),
  handle: ({ target }, platform) => proveClaim(platform, target),
});

export const deleteDomainClaim = operation({
  summary: 'Give up a registered name that no domain lies in',
  endpoint: 'DELETE /projects/{projectId}/domain-claims/{domainClaimId}',
  on: DomainClaimEntity,
  rel: '#delete',
  permission: 'domain:manage',
  allowedWhen: ({ count }) => count === 0,
  otherwise: inUse,
  returns: deleted,
  handle: ({ target }, platform) => removeClaim(platform, target, inUse),
});
