/** Whether projects can be made and changed, and what with. Clients ask before they do so, and show what they are told. */
import { Type } from 'typebox';
import { operation, plain } from '../../../kernel/operation.ts';
import { nullable } from '../../../kernel/schema.ts';
import type { Caller, Platform } from '../../../platform.ts';
import { requiredAction, sentenceFor, type RequiredAction } from '../../../spending.ts';
import { noFurtherProject } from '../../deployments/public.ts';
import { OrganizationEntity, type Organization } from '../../organizations/public.ts';
import { termsWith } from '../change-project.ts';
import { Plan, planOffered, SetupOptions, setupOptions, storageMibDefault } from '../options.ts';
import { findSubscriptionById, SubscriptionEntity, type Subscription } from '../subscription.ts';

const Action = Type.Object({
  action: Type.String({ description: 'billing_details, or ticket: what has to be seen to first.' }),
  type: Type.String(),
  credentials: nullable(Type.Object({})),
  reference: nullable(Type.String({ description: 'Where to.' })),
});

interface Hindrance {
  message: string;
  required_action: RequiredAction | null;
}

const inactive = 'The organization is not active; ask the operator of this installation.';
const askOperator = requiredAction('ticket', 'ticket');

export const canCreateSubscription = operation({
  summary: 'Ask whether one can create a project in an organization',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/can-create',
  on: OrganizationEntity,
  permission: 'organization:view',
  returns: plain(Type.Object({ can_create: Type.Boolean(), message: Type.String(), required_action: nullable(Action) })),
  handle: async ({ caller, target }, platform) => {
    const hindrance = await creationHindrance(caller, target, platform);
    return { can_create: hindrance === undefined, ...(hindrance ?? { message: '', required_action: null }) };
  },
});

/** In the order in which whoever creates a project is refused. */
async function creationHindrance(caller: Caller, { id, status }: Organization, { db, spending }: Platform): Promise<Hindrance | undefined> {
  if (!caller.can('organization:create-project', { organization: id }))
    return {
      message: 'You need the permission projects:create in this organization; ask one of its administrators.',
      required_action: null,
    };
  if (status !== 'active') return { message: caller.suspension({ organization: id })?.message ?? inactive, required_action: askOperator };
  const full = await noFurtherProject(db, id);
  if (full !== undefined) return { message: full, required_action: askOperator };
  const wanted = { plan: planOffered, storage: storageMibDefault, options: {} };
  const money = await spending.hindrance(db, id, { wanted, before: undefined });
  return money && { message: sentenceFor(caller, id, money), required_action: money.required_action };
}

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
  returns: plain(Type.Object({ can_update: Type.Boolean(), message: Type.String(), required_action: Type.Optional(Action) })),
  handle: async ({ caller, target, query }, platform) => {
    const hindrance = await changeHindrance(caller, target, query, platform);
    const { message = '', required_action } = hindrance ?? {};
    return { can_update: hindrance === undefined, message, ...(required_action && { required_action }) };
  },
});

/** In the order in which whoever changes a subscription is refused. */
async function changeHindrance(
  caller: Caller,
  { organization_id, project_id, plan, storage, contract_options }: Subscription,
  query: { plan?: string | undefined; storage?: number | undefined },
  { db, spending }: Platform,
): Promise<Hindrance | undefined> {
  const scope = { organization: organization_id, project: project_id };
  if (!caller.can('contract:edit', scope))
    return {
      message: 'You need to administer the project, or to have the permission plans in its organization; ask one of its administrators.',
      required_action: null,
    };
  const suspension = caller.suspension(scope);
  if (suspension) return { message: suspension.message, required_action: askOperator };
  const before = { plan, storage, options: contract_options };
  const money = await spending.hindrance(db, organization_id, { wanted: termsWith(before, query), before });
  return money && { message: sentenceFor(caller, organization_id, money), required_action: money.required_action };
}
