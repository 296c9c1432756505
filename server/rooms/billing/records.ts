/** Records: what projects were contracted for, and what they used, each from when. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { paged, type Filter, type ListRequest, type Page } from '../../kernel/paging.ts';
import { nullable, Time, Uuid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { featureNames, features, type Feature } from '../prices/public.ts';

export interface PlanRecord {
  organization_id: string;
  id: string;
  owner: string;
  subscription_id: string;
  sku: string;
  plan: string;
  options: string[];
  start: string;
  end: string | null;
  status: string;
}

/** A record has no address of its own: it is found in its list. */
export const PlanRecordEntity = entity({
  name: 'plan record',
  path: '/organizations/{organization_id}/records/plan',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    id: Type.String(),
    owner: Uuid,
    subscription_id: Type.String(),
    sku: Type.String(),
    plan: Type.String(),
    options: Type.Array(Type.String()),
    start: Time,
    end: nullable(Time),
    status: Type.String({ enum: ['active', 'suspended'] }),
  }),
  address: ({ organization_id }: PlanRecord) => ({ organization_id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async ({ organization_id }, { db }) => {
    const organization = await organizationAt(db, organization_id);
    return organization && (await planRecordsOf(db, organization.id).executeTakeFirst());
  },
});

const planRecordsOf = (db: Db, organizationId: string) =>
  db
    .selectFrom(
      sql<PlanRecord & { started_at: string; ended_at: string }>`(
        select organization_id, id::text, owner_id as owner, subscription_id::text, plan as sku, plan, started_at as start, ended_at as "end", status,
          array(select key || ': ' || value from jsonb_each_text(contract_options) order by key) as options, started_at, ended_at
        from plan_records where organization_id = ${organizationId})`.as('records'),
    )
    .selectAll();

export function planRecordsPage(db: Db, organizationId: string, list: ListRequest): Promise<Page<PlanRecord>> {
  const { sort, filters } = list;
  const observed = filters.filter(({ field }) => field === 'start' || field === 'end');
  const query = observed.reduce((narrowed, filter) => narrowed.where(observedIn(filter)), planRecordsOf(db, organizationId));
  return paged(query, { ...list, sort, filters: filters.filter((filter) => !observed.includes(filter)) }, 'id');
}

/** `start` and `end` bound the time that is looked at: what ended before the one or began after the other was not there. */
const observedIn = ({ field, values: [moment = ''] }: Filter) =>
  field === 'start'
    ? sql<boolean>`(ended_at is null or ended_at >= ${moment}::timestamptz)`
    : sql<boolean>`started_at <= ${moment}::timestamptz`;

export interface UsageRecord {
  organization_id: string;
  id: string;
  subscription_id: string;
  usage_group: string;
  quantity: number;
  start: string;
}

export const UsageRecordEntity = entity({
  name: 'usage record',
  path: '/organizations/{organization_id}/records/usage',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    id: Type.String(),
    subscription_id: Type.String(),
    usage_group: Type.String(),
    quantity: Type.Number({ description: 'In the unit of the group; of what is metered, on that day.' }),
    start: Time,
  }),
  address: ({ organization_id }: UsageRecord) => ({ organization_id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async ({ organization_id }, { db }) => {
    const organization = await organizationAt(db, organization_id);
    return organization && (await usageRecordsOf(db, organization.id).executeTakeFirst());
  },
});

/** What a contract allows, by the published names. */
const contracted = [
  ['storage', 'storage_mib'],
  ['environments', 'environments_max'],
  ['user_licenses', 'user_licenses'],
] as const;

const daySeconds = 86_400;

const metered = featureNames.flatMap((name) => {
  const { of, size, isAllocated }: Feature = features[name];
  return of ? [{ name, of, unit: Number(size) * (isAllocated ? daySeconds : 1) }] : [];
});

/** Of what is allocated, the average of the day; of what adds up, the sum. */
const meteredColumns = sql.join(
  metered.map(({ name, of, unit }) => {
    const ofKinds = sql`kind = any(${sql.lit(`{${of.kinds.join()}}`)}::text[])`;
    return sql`sum(${sql.ref(of.quantity)}) filter (where ${ofKinds}) / ${sql.lit(unit)}::double precision as ${sql.ref(name)}`;
  }),
);
const meteredGroups = sql.join(metered.map(({ name }) => sql`(${sql.lit(name)}, ${sql.ref(name)})`));
const contractedGroups = sql.join(contracted.map(([group, column]) => sql`(${sql.lit(group)}, ${sql.ref(column)})`));

/** The day is the record of what is metered; a change of the contract, that of what it allows. */
const usageRecordsOf = (db: Db, organizationId: string) =>
  db
    .selectFrom(
      sql<UsageRecord>`(
        with days as (
          select project_id, date_trunc('day', hour, 'UTC') as start, ${meteredColumns}
          from metered join usage_hours on metered_id = metered.id where organization_id = ${organizationId} group by 1, 2)
        select ${organizationId}::text as organization_id, subscription_id || '-' || usage_group || '-' || to_char(start at time zone 'UTC', 'YYYYMMDD') as id,
          subscription_id::text, usage_group, quantity::double precision, start
        from days join (select distinct project_id, subscription_id from plan_records where organization_id = ${organizationId}) as contracts using (project_id)
        cross join lateral (values ${meteredGroups}) as used (usage_group, quantity) where quantity > 0
        union all
        select organization_id, subscription_id || '-' || usage_group || '-' || plan_records.id, subscription_id::text, usage_group, quantity::double precision,
          started_at
        from plan_records cross join lateral (values ${contractedGroups}) as allowed (usage_group, quantity)
        where organization_id = ${organizationId})`.as('records'),
    )
    .selectAll();

export const usageRecordsPage = (db: Db, organizationId: string, list: ListRequest): Promise<Page<UsageRecord>> => {
  const observed = list.filters.filter(({ field }) => field === 'start' || field === 'end');
  const query = observed.reduce(
    (narrowed, { field, values: [moment = ''] }) =>
      narrowed.where(field === 'start' ? sql<boolean>`start >= ${moment}::timestamptz` : sql<boolean>`start <= ${moment}::timestamptz`),
    usageRecordsOf(db, organizationId),
  );
  return paged(query, { ...list, filters: list.filters.filter((filter) => !observed.includes(filter)) }, 'id');
};
