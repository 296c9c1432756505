/** Certificates of projects, as clients know them. Nobody is ever told a key. */
import { X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { factsOf } from '../../drivers/certificates/x509/facts.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

interface StoredCertificate {
  id: string;
  project_id: string;
  organization_id: string;
  certificate: string;
  chain: string[];
  is_provisioned: boolean;
  is_invalid: boolean;
  names: string[];
  expires_at: string;
  status_trouble: string | null;
  created_at: string;
  updated_at: string;
}

export async function certificatesOf(db: Db | Tx, projectId: string, id?: string): Promise<Certificate[]> {
  const { rows } = await sql<StoredCertificate>`
    select certificates.id, certificates.project_id, projects.organization_id, certificate, chain, is_provisioned, is_invalid, names, expires_at,
      status_trouble,      certificates.created_at, certificates.updated_at
    from certificates join projects on projects.id = certificates.project_id and projects.status <> 'deleted'
    where certificates.project_id = ${projectId} ${id === undefined ? sql`` : sql`and certificates.id = ${id}`}
    order by certificates.created_at, certificates.id`.execute(db);
  return rows.map(shown);
}

export type Certificate = ReturnType<typeof shown>;

function shown({ names, status_trouble, ...row }: StoredCertificate) {
  const { issuer, uses, isSelfSigned } = factsOf(new X509Certificate(row.certificate));
  return {
    ...row,
    domains: names,
    is_root: isSelfSigned,
    auth_type: [...uses],
    issuer: [...issuer],
    ...(status_trouble !== null && { trouble: status_trouble }),
  };
}

export const CertificateEntity = entity({
  name: 'certificate',
  path: '/projects/{projectId}/certificates/{certificateId}',
  params: { projectId: ProjectId, certificateId: Type.String({ pattern: '^[a-z0-9]{1,64}$' }) },
  schema: Type.Object({
    id: Type.String(),
    created_at: Time,
    updated_at: Time,
    certificate: Type.String({ description: 'As PEM.' }),
    chain: Type.Array(Type.String(), { description: 'The certificates above it, as PEM.' }),
    is_provisioned: Type.Boolean({ description: 'Whether it came by itself.' }),
    is_invalid: Type.Boolean({ description: 'Whether it is presented to nobody.' }),
    is_root: Type.Boolean({ description: 'Whether it has signed itself.' }),
    domains: Type.Array(Type.String(), { description: 'The names that it is for.' }),
    auth_type: Type.Array(Type.String(), { description: 'What it may be used for, such as `serverAuth`.' }),
    issuer: Type.Array(Type.Object({ oid: Type.String(), alias: nullable(Type.String()), value: Type.String() })),
    expires_at: Time,
    trouble: Type.Optional(Type.String({ description: 'Why clients refuse it, as when its issuer has revoked it.' })),
  }),
  address: ({ project_id, id }: Certificate) => ({ projectId: project_id, certificateId: id }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'certificate:view',
  load: async ({ projectId, certificateId }, { db }) => (await certificatesOf(db, projectId, certificateId))[0],
});
