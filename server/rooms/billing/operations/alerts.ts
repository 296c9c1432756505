import { Type } from 'typebox';
import { operation, plain } from '../../../kernel/operation.ts';
import { invalidField } from '../../../kernel/problem.ts';
import { closed, inMilliseconds, nullable } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { CurrencyAmount, currencyAmount, minorOf, priceListToday } from '../../prices/public.ts';
import { alertModes, alertModeUsual, billingAlertOf, setBillingAlert } from '../billing-alerts.ts';
import { payerNow } from '../payer.ts';

const thresholdMax = 1_000_000_000;

const BillingAlertReply = Type.Object({
  id: Type.String(),
  active: Type.Boolean(),
  alerts_sent: Type.Integer(),
  last_alert_at: nullable(Type.String({ format: 'date-time' })),
  updated_at: nullable(Type.String({ format: 'date-time' })),
  config: nullable(Type.Object({ threshold: CurrencyAmount, mode: Type.String() })),
});

const timeOrNull = (time: string | null | undefined) => (time === null || time === undefined ? null : inMilliseconds(time));

async function shownAlert(db: Db, organizationId: string) {
  const alert = await billingAlertOf(db, organizationId);
  const { currency } = await priceListToday(db, (await payerNow(db, organizationId))?.currency);
  return {
    id: 'billing',
    active: alert?.active ?? false,
    alerts_sent: alert?.alerts_sent ?? 0,
    last_alert_at: timeOrNull(alert?.last_alert_at),
    updated_at: timeOrNull(alert?.updated_at),
    config: alert ? { threshold: currencyAmount(BigInt(alert.threshold) * minorOf(currency), currency), mode: alert.mode } : null,
  };
}

export const getOrgBillingAlertConfig = operation({
  summary: 'Show when the cost of an organization is told by mail',
  endpoint: 'GET /organizations/{organization_id}/alerts/billing',
  on: OrganizationEntity,
  deprecated: true,
  permission: 'billing:view',
  returns: plain(BillingAlertReply),
  handle: ({ target }, { db }) => shownAlert(db, target.id),
});

export const updateOrgBillingAlertConfig = operation({
  summary: 'Change when the cost of an organization is told by mail',
  endpoint: 'PATCH /organizations/{organization_id}/alerts/billing',
  on: OrganizationEntity,
  deprecated: true,
  permission: 'billing:manage',
  body: closed({
    active: Type.Optional(Type.Boolean()),
    config: Type.Optional(
      nullable(
        closed({
          threshold: Type.Optional(
            Type.Integer({ minimum: 1, maximum: thresholdMax, description: 'Whole units of the currency, for a month, before tax.' }),
          ),
          mode: Type.Optional(
            Type.String({ enum: [...alertModes], description: 'What is compared: the estimate of the month, or what was spent so far.' }),
          ),
        }),
      ),
    ),
  }),
  example: { active: true, config: { threshold: 100 } },
  returns: plain(BillingAlertReply),
  handle: async ({ target, body: { active, config } }, { db }) => {
    const present = await billingAlertOf(db, target.id);
    const threshold = config?.threshold === undefined ? present?.threshold : String(config.threshold);
    if (threshold !== undefined)
      await setBillingAlert(db, target.id, {
        active: active ?? present?.active ?? true,
        threshold,
        mode: config?.mode ?? present?.mode ?? alertModeUsual,
      });
    else if (active || config?.mode !== undefined) throw invalidField('config.threshold', 'must say from which amount on');
    return shownAlert(db, target.id);
  },
});
