/** What projects cost: nothing. Clients ask before they create one, and show what they are told. */
import { Type } from 'typebox';
import { emptyOk, operation, plain } from '../../../kernel/operation.ts';
import { closed, nullable } from '../../../kernel/schema.ts';
import { noFurtherProject } from '../../deployments/public.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { environmentsDefault, Plan, planOffered, SetupOptions, setupOptions, storageMibDefault } from '../options.ts';
import { findSubscription, findSubscriptionById, SubscriptionEntity } from '../subscription.ts';
import { NoUsage, noUsage, usageGroups } from '../usage.ts';

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

const EstimateQuery = Type.Object({
  plan: Type.Optional(Type.String({ maxLength: 100, default: planOffered })),
  environments: Type.Optional({ ...amount, default: environmentsDefault }),
  storage: Type.Optional({ ...amount, default: storageMibDefault }),
  user_licenses: Type.Optional({ ...amount, default: 1 }),
  format: Type.Optional(Type.String({ enum: ['formatted', 'complex'], default: 'formatted' })),
});

const Price = Type.Unsafe<unknown>({
  anyOf: [
    { type: 'string' },
    {
      type: 'object',
      properties: {
        formatted: { type: 'string' },
        amount: { type: 'number' },
        currency_code: { type: 'string' },
        currency_symbol: { type: 'string' },
      },
    },
  ],
});
const Estimate = Type.Object({
  plan: Price,
  user_licenses: Price,
  environments: Price,
  storage: Price,
  total: Price,
  options: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
});

/** XXX is the ISO 4217 code for transactions without a currency. */
const nothing = { formatted: '0.00', amount: 0, currency_code: 'XXX', currency_symbol: '' };

function estimate(format: string | undefined) {
  const price = format === 'complex' ? nothing : nothing.formatted;
  return { plan: price, user_licenses: price, environments: price, storage: price, total: price, options: {} };
}

export const estimateSubscription = operation({
  summary: 'Estimate what a new project costs in a month: nothing',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/estimate',
  on: OrganizationEntity,
  rel: 'estimate-subscription',
  permission: 'organization:view',
  query: EstimateQuery,
  returns: plain(Estimate),
  handle: async ({ query }) => estimate(query.format),
});

export const estimateChange = operation({
  summary: 'Estimate what a project would cost in a month after a change: nothing',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/estimate',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  query: EstimateQuery,
  returns: plain(Estimate),
  handle: async ({ query }) => estimate(query.format),
});

const groupsCharactersMax = 1000;

export const getCurrentUsage = operation({
  summary: 'Get what a project used so far: nothing is metered yet',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/current_usage',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  query: Type.Object({
    usage_groups: Type.Optional(
      Type.Array(Type.String({ maxLength: groupsCharactersMax }), {
        maxItems: usageGroups.length,
        description: 'Several, or separated by commas.',
      }),
    ),
    include_not_charged: Type.Optional(Type.Boolean()),
  }),
  returns: plain(NoUsage),
  handle: async ({ query }) => noUsage(query.usage_groups?.flatMap((groups) => groups.split(','))),
});

const levels = Type.Unsafe<object>({ type: 'object', additionalProperties: { type: 'number' } });
const Addons = Type.Object({ continuous_profiling: levels, project_support_level: levels });
const names = Type.Array(Type.String());

export const listAddons = operation({
  summary: 'List what could be added to a subscription: nothing is sold here',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/addons',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  returns: plain(
    Type.Object({
      available: Addons,
      current: Addons,
      upgrades_available: Type.Object({ continuous_profiling: names, project_support_level: names }),
    }),
  ),
  handle: async () => ({
    available: { continuous_profiling: {}, project_support_level: {} },
    current: { continuous_profiling: {}, project_support_level: {} },
    upgrades_available: { continuous_profiling: [], project_support_level: [] },
  }),
});

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

export const canAffordSubscription = operation({
  summary: 'Ask whether one can pay for more resources: always, nothing is charged',
  endpoint: 'POST /subscriptions/{subscriptionId}/can-afford',
  changesNothing: true,
  on: SubscriptionEntity,
  find: findSubscriptionById,
  permission: 'contract:view',
  body: closed({ resources: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true, maxProperties: 100 })) }),
  example: { resources: { cpu: '2' } },
  returns: emptyOk,
  handle: async () => {},
});
