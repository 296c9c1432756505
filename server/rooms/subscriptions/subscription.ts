import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time, Uuid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { effectivePermissions } from '../projects/public.ts';
import { regionsOf } from '../regions/public.ts';
import { displayName } from '../users/public.ts';
import { contractOptions, ProjectOptions, projectOptions } from './options.ts';
import { contractById, type Contract } from './queries.ts';

const subscriptionIdPattern = '^[1-9][0-9]{0,8}$';

export type Subscription = ReturnType<typeof subscriptionOf>;

/** The contract of a project, as billing calls it: each project has one. */
export const SubscriptionEntity = entity({
  name: 'subscription',
  path: '/organizations/{organization_id}/subscriptions/{subscription_id}',
  params: { organization_id: OrganizationAddress, subscription_id: Type.String({ pattern: subscriptionIdPattern }) },
  schema: Type.Object({
    id: Type.String(),
    status: Type.String({ enum: ['requested', 'provisioning failure', 'provisioning', 'active', 'suspended', 'deleted'] }),
    created_at: Time,
    updated_at: Time,
    owner: Uuid,
    owner_info: Type.Object({ type: Type.String(), username: Type.String(), display_name: Type.String() }),
    vendor: Type.String(),
    plan: Type.String(),
    environments: Type.Integer(),
    storage: Type.Integer({ description: 'MiB' }),
    user_licenses: Type.Integer(),
    project_id: ProjectId,
    project_endpoint: Type.String(),
    project_title: Type.String(),
    project_region: Type.String(),
    project_region_label: Type.String(),
    project_ui: Type.String(),
    project_options: ProjectOptions,
    agency_site: Type.Boolean(),
    invoiced: Type.Boolean(),
    hipaa: Type.Boolean(),
    is_trial_plan: Type.Boolean(),
    services: Type.Array(Type.Object({})),
    green: Type.Boolean(),
    ...Type.Partial(Type.Object(contractOptions)).properties,
  }),
  address: ({ organization_id, id }: Subscription) => ({ organization_id, subscription_id: id }),
  scope: ({ organization_id, project_id }) => ({ organization: organization_id, project: project_id }),
  view: 'contract:view',
  links: (subscription, caller) => projectLink('project', subscription.project_id, subscription.organization_id, caller),
  load: (params, platform) => subscriptionAt(params, platform),
});

/** The link to the project, for callers who may view it. */
export const projectLink = (rel: string, id: string, organization: string, caller: Caller | undefined): Record<string, { href: string }> =>
  caller?.can('project:view', { project: id, organization }) ? { [rel]: { href: `/api/projects/${id}` } } : {};

const statuses: Record<string, string> = { failed: 'provisioning failure' };

export function subscriptionOf(contract: Contract, config: Config) {
  const { project_id, first_name, last_name, username, contract_options, ...row } = contract;
  const region = regionsOf(config).find(({ id }) => id === row.region);
  return {
    ...row,
    ...contract_options,
    contract_options,
    project_id,
    status: statuses[row.status] ?? row.status,
    owner_info: { type: 'user', username, display_name: displayName({ first_name, last_name, username }) },
    project_endpoint: `${config.url}/api/projects/${project_id}`,
    project_region: row.region,
    project_region_label: region?.project_label ?? row.region,
    /** Offshoot has no web console that this could link to yet. */
    project_ui: '',
    project_options: projectOptions(config),
    agency_site: false,
    invoiced: false,
    hipaa: false,
    is_trial_plan: false,
    services: [],
    green: region?.environmental_impact.green ?? false,
  };
}

async function subscriptionAt(
  { organization_id, subscription_id }: { organization_id: string; subscription_id: string },
  { db, config }: Platform,
) {
  const organization = await organizationAt(db, organization_id);
  const contract = organization && (await contractById(db, subscription_id));
  return contract?.organization_id === organization?.id && contract ? subscriptionOf(contract, config) : undefined;
}

/** The path does not name the project, so what the caller may do in it has to be read first. */
export async function findSubscription(params: { organization_id: string; subscription_id: string }, caller: Caller, platform: Platform) {
  const subscription = await subscriptionAt(params, platform);
  if (subscription) await learnProjects(platform.db, caller, [subscription.project_id]);
  return subscription;
}

export async function findSubscriptionById({ subscriptionId }: { subscriptionId: string }, caller: Caller, { db, config }: Platform) {
  const contract = new RegExp(subscriptionIdPattern).test(subscriptionId) ? await contractById(db, subscriptionId) : undefined;
  if (contract) await learnProjects(db, caller, [contract.project_id]);
  return contract && subscriptionOf(contract, config);
}

export async function learnProjects(db: Db, caller: Caller, projectIds: readonly string[]): Promise<void> {
  caller.learn(await effectivePermissions(db, caller.id, projectIds));
}
