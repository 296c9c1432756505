import { sql } from 'kysely';
import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { DomainId } from './domain.ts';
import { spelledAs } from './domain-name.ts';

export interface DomainClaim {
  id: string;
  name: string;
  project_id: string;
  organization_id: string;
  count: number;
  created_at: string;
  updated_at: string;
}

export async function claimsOf(db: Db | Tx, projectId: string, name?: string): Promise<DomainClaim[]> {
  const { rows } = await sql<DomainClaim>`
    select domain_claims.name as id, domain_claims.name, domain_claims.project_id, projects.organization_id, domain_claims.created_at, domain_claims.updated_at,
      (select count(*) from domains where domains.project_id = domain_claims.project_id and domains.registered_name = domain_claims.name)::integer as count
    from domain_claims join projects on projects.id = domain_claims.project_id and projects.status <> 'deleted'
    where domain_claims.project_id = ${projectId} ${name === undefined ? sql`` : sql`and domain_claims.name = ${name}`}
    order by domain_claims.name`.execute(db);
  return rows;
}

/** A registered name that is the project's, with all names below it. */
export const DomainClaimEntity = entity({
  name: 'domain claim',
  path: '/projects/{projectId}/domain-claims/{domainClaimId}',
  params: { projectId: ProjectId, domainClaimId: DomainId },
  schema: Type.Object({
    id: Type.String({ description: 'Its name.' }),
    created_at: Time,
    updated_at: Time,
    name: Type.String(),
    count: Type.Integer({ description: 'How many domains lie in it.' }),
  }),
  address: ({ project_id, name }: DomainClaim) => ({ projectId: project_id, domainClaimId: name }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'domain:view',
  load: async ({ projectId, domainClaimId }, { db }) => (await claimsOf(db, projectId, spelledAs(domainClaimId)))[0],
});
