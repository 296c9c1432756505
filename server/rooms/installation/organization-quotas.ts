/** Organizations as operators see them: whose each is, what it may have of the machine, and what it has. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import { Time, Ulid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { quotasOfOrganizations } from '../deployments/public.ts';
import { Limits } from './limits.ts';

const schema = Type.Object({
  id: Ulid,
  name: Type.String(),
  label: Type.String(),
  owner_email: Type.String(),
  created_at: Time,
  has_own_quota: Type.Boolean({ description: 'Whether somebody set limits for it; otherwise those of the installation hold.' }),
  ...Limits.properties,
  used: Type.Object({
    projects: Type.Integer(),
    environments: Type.Integer(),
    cpu: Type.Number(),
    memory: Type.Number(),
    disk: Type.Number(),
    activities: Type.Integer(),
  }),
});

export const OrganizationQuotaEntity = entity({
  name: 'organization quota',
  path: '/installation/organizations/{organization_id}',
  params: { organization_id: Ulid },
  schema,
  address: ({ id }: OrganizationQuota) => ({ organization_id: id }),
  scope: () => ({}),
  view: 'installation:view',
  load: async ({ organization_id }, { db }) =>
    (await withQuotas(db, await organizationsIn(db).where('organizations.id', '=', organization_id).execute()))[0],
});

type Named = Awaited<ReturnType<ReturnType<typeof organizationsIn>['execute']>>[number];
export type OrganizationQuota = Awaited<ReturnType<typeof withQuotas>>[number];

const organizationsIn = (db: Db) =>
  db
    .selectFrom('organizations')
    .innerJoin('users', 'users.id', 'organizations.owner_id')
    .select(['organizations.id', 'organizations.name', 'organizations.label', 'organizations.created_at', 'users.email as owner_email'])
    .select(sql<boolean>`exists (select from quotas where quotas.organization_id = organizations.id)`.as('has_own_quota'));

/** Two statements for a page, however many organizations are on it. */
async function withQuotas(db: Db, organizations: readonly Named[]) {
  const quotas = new Map(
    (
      await quotasOfOrganizations(
        db,
        organizations.map(({ id }) => id),
      )
    ).map((quota) => [quota.name, quota]),
  );
  return organizations.map((organization) => {
    const { used, of: _, name: __, ...limits } = quotas.get(organization.name) ?? noQuota;
    return { ...organization, ...limits, used };
  });
}

const noLimits = { projects: null, environments: null, cpu: null, memory: null, disk: null, builds: null, activities: null };
const nothingUsed = { projects: 0, environments: 0, cpu: 0, memory: 0, disk: 0, activities: 0 };
/** Where not even the installation has one. */
const noQuota = { ...noLimits, of: 'organization' as const, name: '', used: nothingUsed };

export async function pageOfOrganizations(db: Db, list: ListRequest): Promise<Page<OrganizationQuota>> {
  const page = await paged(db.selectFrom(organizationsIn(db).as('organizations')).selectAll(), list);
  return { ...page, rows: await withQuotas(db, page.rows) };
}
