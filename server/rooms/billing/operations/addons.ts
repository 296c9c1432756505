import { Type } from 'typebox';
import { dayAt } from '../../../kernel/days.ts';
import { operation, plain } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { Line } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { priceListToday } from '../../prices/public.ts';
import { findSubscription, SubscriptionEntity } from '../../subscriptions/public.ts';
import { addonsOf, changeAddons, currentOf, pricesOf, upgradesOf } from '../addons.ts';
import { payerNow } from '../payer.ts';

const levels = Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: { type: 'number' } });
const names = Type.Array(Type.String());

const OfOrganization = Type.Object({ user_management: levels, support_level: levels });
const OrganizationAddonsReply = Type.Object({
  available: OfOrganization,
  current: OfOrganization,
  upgrades_available: Type.Object({ user_management: names, support_level: names }),
});

const pricesFor = async (db: Db, organizationId: string) =>
  (await priceListToday(db, (await payerNow(db, organizationId))?.currency)).content;

async function organizationAddons(db: Db, organizationId: string) {
  const { user_management, support_levels } = await pricesFor(db, organizationId);
  const current = await addonsOf(db, organizationId);
  return {
    available: { user_management: pricesOf(user_management), support_level: pricesOf(support_levels) },
    current: {
      user_management: currentOf(user_management, current.user_management),
      support_level: currentOf(support_levels, current.support_level),
    },
    upgrades_available: {
      user_management: upgradesOf(user_management, current.user_management),
      support_level: upgradesOf(support_levels, current.support_level),
    },
  };
}

export const getOrgAddons = operation({
  summary: 'List what an organization can have beside its projects, and what it has',
  endpoint: 'GET /organizations/{organization_id}/addons',
  on: OrganizationEntity,
  rel: 'addons',
  deprecated: true,
  permission: 'billing:view',
  returns: plain(OrganizationAddonsReply),
  handle: ({ target }, { db }) => organizationAddons(db, target.id),
});

const level = Line(60, { description: 'A level that is available; empty for none.' });

/** The published API can only show them; without this, nobody could have one. */
export const updateOrgAddons = operation({
  summary: 'Choose what an organization has beside its projects',
  endpoint: 'PATCH /organizations/{organization_id}/addons',
  on: OrganizationEntity,
  rel: 'update-addons',
  permission: 'billing:manage',
  body: Type.Partial(Type.Object({ user_management: level, support_level: level }), { additionalProperties: false }),
  example: { support_level: '' },
  returns: plain(OrganizationAddonsReply),
  handle: async ({ target, body }, { db }) => {
    const prices = await pricesFor(db, target.id);
    refuseUnknown({
      user_management: [body.user_management, prices.user_management],
      support_level: [body.support_level, prices.support_levels],
    });
    await changeAddons(db, target.id, body, prices, dayAt(Date.now()));
    return organizationAddons(db, target.id);
  },
});

function refuseUnknown(asked: Record<string, readonly [string | undefined, Record<string, string>]>): void {
  const fields = Object.fromEntries(
    Object.entries(asked)
      .filter(([, [wanted, known]]) => wanted !== undefined && wanted !== '' && !Object.hasOwn(known, wanted))
      .map(([field, [, known]]) => [field, `must be one of ${Object.keys(known).join(', ') || 'none, as none is sold'}, or empty`]),
  );
  const sentences = Object.entries(fields).map(([field, message]) => `${field} ${message}.`);
  if (sentences.length > 0) throw new Problem('invalid-request', sentences.join(' '), { fields });
}

const OfProject = Type.Object({ continuous_profiling: levels, project_support_level: levels });

export const listAddons = operation({
  summary: 'List what could be added to a subscription, and what is',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}/addons',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  returns: plain(
    Type.Object({
      available: OfProject,
      current: OfProject,
      upgrades_available: Type.Object({ continuous_profiling: names, project_support_level: names }),
    }),
  ),
  handle: async ({ target }, { db }) => {
    const { addons } = await pricesFor(db, target.organization_id);
    const had = target.contract_options;
    const each = <T>(of: (sold: Record<string, string>, level: string | undefined) => T) => ({
      continuous_profiling: of(addons['continuous_profiling'] ?? {}, had['continuous_profiling']),
      project_support_level: of(addons['project_support_level'] ?? {}, had['project_support_level']),
    });
    return { available: each(pricesOf), current: each(currentOf), upgrades_available: each(upgradesOf) };
  },
});
