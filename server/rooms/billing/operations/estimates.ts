/** What projects and organizations will cost, as the price list has it. Clients ask before they create or change a project, and show what they are told. */
import { Type } from 'typebox';
import { dayAt, type Day } from '../../../kernel/days.ts';
import { emptyOk, operation, plain } from '../../../kernel/operation.ts';
import { invalidField, Problem } from '../../../kernel/problem.ts';
import { closed } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { sentenceFor } from '../../../spending.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { featureNames, priceListOn, type PriceList } from '../../prices/public.ts';
import {
  environmentsDefault,
  findSubscription,
  findSubscriptionById,
  planOffered,
  storageMibDefault,
  SubscriptionEntity,
} from '../../subscriptions/public.ts';
import { costOfMore, estimateContract, isResource, resourceNames, unitPrices, type ContractAsked } from '../contract-estimate.ts';
import { CurrentUsage, currentUsage } from '../current-usage.ts';
import { estimateMonth, type MonthEstimate } from '../estimate.ts';
import { endOfMonth, monthAt } from '../month.ts';
import { OrganizationEstimate, shownOrganizationEstimate } from '../organization-estimate.ts';
import { payerNow } from '../payer.ts';
import { sumOf } from '../reckon.ts';
import { Format, Money, moneyIn, shownPrice } from '../shown-money.ts';
import { hindranceTo, pricesOfNextMonth } from '../spending.ts';

const amount = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
const planName = Type.String({ maxLength: 100 });

const Estimate = Type.Object({
  plan: Money,
  user_licenses: Money,
  environments: Money,
  storage: Money,
  total: Money,
  options: Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'The prices of units.' }),
});

const pricesOn = async (db: Db, organizationId: string, day: Day) => priceListOn(db, (await payerNow(db, organizationId))?.currency, day);

/** What runs already is added, in the currency of the list. */
function shownEstimate(list: PriceList, asked: ContractAsked, running: bigint, format: string | undefined) {
  const { plan, user_licenses, storage } = estimateContract(list, asked);
  const [money, price] = [moneyIn(format, list.currency), shownPrice(format, list.currency)];
  return {
    plan: money(plan),
    user_licenses: money(user_licenses),
    environments: money(0n),
    storage: money(storage),
    total: money(plan + user_licenses + storage + running),
    options: Object.fromEntries(Object.entries(unitPrices(list)).map(([name, each]) => [name, price(each)])),
  };
}

export const estimateSubscription = operation({
  summary: 'Estimate what a new project costs in a month, before anything runs in it',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/estimate',
  on: OrganizationEntity,
  rel: 'estimate-subscription',
  permission: 'organization:view',
  query: Type.Object({
    plan: Type.Optional({ ...planName, default: planOffered }),
    environments: Type.Optional({ ...amount, default: environmentsDefault }),
    storage: Type.Optional({ ...amount, default: storageMibDefault, description: 'MiB' }),
    user_licenses: Type.Optional({ ...amount, default: 1 }),
    format: Format,
  }),
  returns: plain(Estimate),
  handle: async ({ target, query: { plan = planOffered, storage = storageMibDefault, user_licenses = 1, format } }, { db }) =>
    shownEstimate(await pricesOn(db, target.id, dayAt(Date.now())), { plan, storage, user_licenses }, 0n, format),
});

/** CPU, memory, backups, builds and traffic as the project uses them now, for a whole month: the next. */
async function runningCost(
  { db, config }: Platform,
  { organization_id, project_id }: { organization_id: string; project_id: string },
  now: number,
) {
  const { lines } = await estimateMonth(db, config, organization_id, endOfMonth(monthAt(now)), now);
  return sumOf(
    lines.filter(({ type, project, sku }) => project?.id === project_id && type === 'project_feature' && sku !== 'storage_app_services'),
  );
}

export const estimateChange = operation({
  summary: 'Estimate what a project would cost in a month after a change, with what runs in it now',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/estimate',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  query: Type.Object({
    plan: Type.Optional(planName),
    environments: Type.Optional(amount),
    storage: Type.Optional({ ...amount, description: 'MiB' }),
    user_licenses: Type.Optional(amount),
    format: Format,
  }),
  returns: plain(Estimate),
  handle: async ({ target, query: { plan, storage, user_licenses, format } }, platform) => {
    const asked = { plan: plan ?? target.plan, storage: storage ?? target.storage, user_licenses: user_licenses ?? target.user_licenses };
    const now = Date.now();
    const list = await pricesOn(platform.db, target.organization_id, endOfMonth(monthAt(now)));
    return shownEstimate(list, asked, await runningCost(platform, target, now), format);
  },
});

const groupsCharactersMax = 1000;

export const getCurrentUsage = operation({
  summary: 'Get what a project used so far in this month',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/current_usage',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  query: Type.Object({
    usage_groups: Type.Optional(
      Type.Array(Type.String({ maxLength: groupsCharactersMax }), {
        maxItems: featureNames.length,
        description: 'Several, or separated by commas.',
      }),
    ),
    include_not_charged: Type.Optional(Type.Boolean()),
  }),
  returns: plain(CurrentUsage),
  handle: async ({ target, query: { usage_groups, include_not_charged = true } }, { db }) => {
    const wanted = usage_groups?.flatMap((groups) => groups.split(','));
    const usage = await currentUsage(db, target, Date.now());
    return Object.fromEntries(
      Object.entries(usage).filter(
        ([group, { not_charged }]) => (wanted?.includes(group) ?? true) && (include_not_charged || !not_charged),
      ),
    );
  },
});

export const estimateOrg = operation({
  summary: 'Estimate what an organization will pay for this month, or for the next',
  endpoint: 'GET /organizations/{organization_id}/estimate',
  on: OrganizationEntity,
  rel: 'estimate',
  deprecated: true,
  permission: 'billing:view',
  query: Type.Object({
    format: Format,
    current_month: Type.Optional(Type.Boolean({ default: true, description: 'False: the next one.' })),
    simulate_discount: Type.Optional(
      Type.String({
        enum: ['allowance', 'true', 'false'],
        description: 'As though the organization had the allowance of the price list (`true` means the same).',
      }),
    ),
  }),
  returns: plain(OrganizationEstimate),
  handle: async ({ target, query: { format, current_month = true, simulate_discount = 'false' } }, { db, config }) => {
    const now = Date.now();
    const month = current_month ? monthAt(now) : endOfMonth(monthAt(now));
    const estimate: MonthEstimate = await estimateMonth(db, config, target.id, month, now, {
      withAllowance: simulate_discount !== 'false',
    });
    return shownOrganizationEstimate(estimate, format);
  },
});

const quantityPattern = /^\d{1,9}(\.\d{1,10})?$/;
const resourcesMax = 100;

export const canAffordSubscription = operation({
  summary: 'Ask whether one can pay for more resources for a month',
  endpoint: 'POST /subscriptions/{subscriptionId}/can-afford',
  changesNothing: true,
  on: SubscriptionEntity,
  find: findSubscriptionById,
  permission: 'contract:view',
  body: closed({
    resources: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        maxProperties: resourcesMax,
        description: `How much more of each: ${resourceNames.join(', ')}, in CPUs, GB or the unit in which it is charged.`,
      }),
    ),
  }),
  example: { resources: { cpu: '2' } },
  returns: emptyOk,
  handle: async ({ caller, target, body: { resources = {} } }, { db, config }) => {
    for (const [name, quantity] of Object.entries(resources)) {
      if (!isResource(name)) throw invalidField(`resources.${name}`, `is not a resource; the resources are ${resourceNames.join(', ')}`);
      if (!quantityPattern.test(String(quantity))) throw invalidField(`resources.${name}`, 'must be a quantity such as 2 or 0.5');
    }
    const { organization_id } = target;
    const suspension = caller.suspension({ organization: organization_id });
    if (suspension) throw suspension;
    const more = costOfMore(await pricesOfNextMonth(db, organization_id, Date.now()), resources);
    const hindrance = await hindranceTo(db, config, organization_id, more);
    if (hindrance) throw new Problem('payment-required', sentenceFor(caller, organization_id, hindrance));
  },
});
