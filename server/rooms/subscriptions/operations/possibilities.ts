/** Whether projects can be made and changed, and what with. Clients ask before they do so, and show what they are told. */
import { Type } from 'typebox';
import { operation, plain } from '../../../kernel/operation.ts';
import { nullable } from '../../../kernel/schema.ts';
import { noFurtherProject } from '../../deployments/public.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { Plan, SetupOptions, setupOptions } from '../options.ts';
import { findSubscriptionById, SubscriptionEntity } from '../subscription.ts';

const RequiredAction = nullable(Type.Object({ action: Type.String(), type: Type.String() }));

export const canCreateSubscription = operation({
  summary: 'Ask whether one can create a project in an organization',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/can-create',
  on: OrganizationEntity,
  permission: 'organization:view',
  returns: plain(Type.Object({ can_create: Type.Boolean(), message: Type.String(), required_action: RequiredAction })),
  handle: async ({ caller, target }, { db }) => {
    const isAllowed = caller.can('organization:create-project', { organization: target.id });
    const inactive = 'The organization is not active; ask the operator of this installation.';
    const messages = [
      ...(isAllowed ? [] : ['You need the permission projects:create in this organization; ask one of its administrators.']),
      ...(target.status === 'active' ? [] : [caller.suspension({ organization: target.id })?.message ?? inactive]),
      ...[(await noFurtherProject(db, target.id)) ?? []].flat(),
    ];
    return { can_create: messages.length === 0, message: messages.join(' '), required_action: null };
  },
});

export const getSetupOptions = operation({
  summary: 'Get what a project can be created with',
  endpoint: 'GET /organizations/{organization_id}/setup/options',
  on: OrganizationEntity,
  permission: 'organization:view',
  returns: plain(SetupOptions),
  handle: async (_request, { config }) => setupOptions(config),
});

const amount = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });

export const canUpdateSubscription = operation({
  summary: 'Ask whether one can change a subscription',
  endpoint: 'GET /subscriptions/{subscriptionId}/can-update',
  on: SubscriptionEntity,
  find: findSubscriptionById,
  permission: 'contract:view',
  query: Type.Object({
    plan: Type.Optional(Plan),
    environments: Type.Optional(amount),
    storage: Type.Optional(amount),
    user_licenses: Type.Optional(amount),
  }),
  returns: plain(Type.Object({ can_update: Type.Boolean(), message: Type.String() })),
  handle: async ({ caller, target }) => {
    const can_update = caller.can('contract:edit', { organization: target.organization_id, project: target.project_id });
    const message = can_update
      ? ''
      : 'You need to administer the project, or to have the permission plans in its organization; ask one of its administrators.';
    return { can_update, message };
  },
});
