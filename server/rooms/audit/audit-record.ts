import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time, Ulid, Uuid } from '../../kernel/schema.ts';
import { OrganizationAddress } from '../organizations/public.ts';
import { auditRecordOf, type AuditRecord } from './queries.ts';

const Person = { id: Uuid, display_name: Type.String() };

/** One thing that somebody did. */
export const AuditRecordEntity = entity({
  name: 'audit record',
  path: '/organizations/{organization_id}/audit/{record_id}',
  params: { organization_id: OrganizationAddress, record_id: Ulid },
  schema: Type.Object({
    id: Ulid,
    organization_id: Ulid,
    created_at: Time,
    user_id: Uuid,
    user: Type.Object(Person, { description: 'Who did it, as they are called now.' }),
    operation: Type.String({
      description: 'The operation of the API, as its document calls it; or the type of the activity, where one began otherwise.',
    }),
    kind: Type.String({ description: 'What kind of thing it was done to.' }),
    summary: Type.String(),
    target: Type.String({ description: 'The address of the thing. It may be gone by now.' }),
    subject: Type.Unsafe<{ id: string; display_name: string } | null>({
      ...Type.Object(Person),
      type: ['object', 'null'],
      description: 'Whom it concerns: whose membership, access, token or key it is.',
    }),
    project_id: nullable(ProjectId),
    activity_id: nullable(Type.String()),
    address: Type.String({
      description:
        'The network address from which it was asked for; empty for what did not come over HTTP, and for what people do to their own accounts.',
    }),
  }),
  address: ({ id, organization_id }: AuditRecord) => ({ organization_id, record_id: id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'audit:view',
  load: ({ organization_id, record_id }, { db }) => auditRecordOf(db, organization_id, record_id),
});
