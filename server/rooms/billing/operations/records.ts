import { operation, page } from '../../../kernel/operation.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { PlanRecordEntity, planRecordsPage, UsageRecordEntity, usageRecordsPage } from '../records.ts';

export const listOrgPlanRecords = operation({
  summary: 'List what the projects of an organization were contracted for, from when until when',
  endpoint: 'GET /organizations/{organization_id}/records/plan',
  on: OrganizationEntity,
  deprecated: true,
  permission: 'billing:view',
  returns: page(PlanRecordEntity, {
    sort: ['start'],
    filter: {
      subscription_id: 'string',
      plan: 'string',
      status: 'string',
      start: 'time',
      end: 'time',
      started_at: 'time',
      ended_at: 'time',
    },
  }),
  handle: ({ target, list }, { db }) => planRecordsPage(db, target.id, list),
});

export const listOrgUsageRecords = operation({
  summary: 'List what the projects of an organization used, by group: each day of what is metered, and what contracts allow',
  endpoint: 'GET /organizations/{organization_id}/records/usage',
  on: OrganizationEntity,
  deprecated: true,
  permission: 'billing:view',
  returns: page(UsageRecordEntity, {
    sort: ['start'],
    filter: { subscription_id: 'string', usage_group: 'string', start: 'time', end: 'time', started_at: 'time' },
  }),
  handle: ({ target, list }, { db }) => usageRecordsPage(db, target.id, list),
});
