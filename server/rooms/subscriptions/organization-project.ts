import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid, unlessEmpty } from '../../kernel/schema.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { SetupOptions, setupOptions } from './options.ts';
import { contractOf, type Contract } from './queries.ts';
import { projectLink } from './subscription.ts';

export type OrganizationProject = ReturnType<typeof organizationProjectOf>;

/** A project as members of its organization see it, who need no access to the project itself. */
export const OrganizationProjectEntity = entity({
  name: 'organization project',
  path: '/organizations/{organization_id}/projects/{project_id}',
  params: { organization_id: OrganizationAddress, project_id: ProjectId },
  schema: Type.Object({
    id: ProjectId,
    organization_id: Ulid,
    subscription_id: Type.String(),
    vendor: Type.String(),
    region: Type.String(),
    title: Type.String(),
    type: Type.String({ enum: ['grid', 'dedicated'] }),
    plan: Type.String(),
    timezone: Type.String(),
    default_branch: Type.String(),
    status: Type.String({ enum: ['requested', 'active', 'failed', 'suspended', 'deleted'] }),
    trial_plan: Type.Boolean(),
    project_ui: Type.String(),
    dedicated_tag: unlessEmpty(Type.String()),
    project_options: SetupOptions,
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ organization_id, id }: OrganizationProject) => ({ organization_id, project_id: id }),
  scope: ({ organization_id, id }) => ({ organization: organization_id, project: id }),
  view: 'contract:view',
  links: ({ id, organization_id, subscription_id }, caller) => ({
    ...projectLink('api', id, organization_id, caller),
    subscription: { href: `/organizations/${organization_id}/subscriptions/${subscription_id}` },
  }),
  load: async ({ organization_id, project_id }, { db, config }) => {
    const organization = await organizationAt(db, organization_id);
    const contract = organization && (await contractOf(db, project_id));
    return contract?.organization_id === organization?.id && contract ? organizationProjectOf(contract, config) : undefined;
  },
});

export const organizationProjectOf = (contract: Contract, config: Config) => ({
  ...contract,
  id: contract.project_id,
  subscription_id: contract.id,
  title: contract.project_title,
  trial_plan: false,
  /** Offshoot has no web console that this could link to yet. */
  project_ui: '',
  dedicated_tag: null,
  project_options: setupOptions(config),
});
