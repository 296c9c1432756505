import { one, operation, page } from '../../kernel/operation.ts';
import { OrganizationEntity } from '../organizations/public.ts';
import { AuditRecordEntity } from './audit-record.ts';
import { auditPage } from './queries.ts';

/** Not part of the published API. */
export const listAuditRecords = operation({
  summary: 'List who did what in an organization, and how its members changed the way they sign in',
  endpoint: 'GET /organizations/{organization_id}/audit',
  on: OrganizationEntity,
  rel: 'audit',
  permission: 'audit:view',
  returns: page(AuditRecordEntity, {
    sort: ['created_at'],
    filter: { user_id: 'string', kind: 'string', operation: 'string', project_id: 'string', summary: 'string', created_at: 'time' },
  }),
  handle: ({ target, list }, { db }) => auditPage(db, target.id, list),
});

export const getAuditRecord = operation({
  summary: 'Get one record of what somebody did',
  endpoint: 'GET /organizations/{organization_id}/audit/{record_id}',
  on: AuditRecordEntity,
  permission: 'audit:view',
  returns: one(AuditRecordEntity),
  handle: ({ target }) => Promise.resolve(target),
});
