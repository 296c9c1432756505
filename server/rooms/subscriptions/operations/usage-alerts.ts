import { Type, type Static } from 'typebox';
import { operation, plain } from '../../../kernel/operation.ts';
import { invalidField } from '../../../kernel/problem.ts';
import { closed, inMilliseconds, nullable } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import { findSubscription, findSubscriptionById, SubscriptionEntity } from '../subscription.ts';
import { alertKinds, alertsOf, setAlert } from '../usage-alerts.ts';

const alertsMax = 20;
const thresholdMax = 1_000_000_000;

const Alert = Type.Object({
  id: Type.String(),
  active: Type.Boolean(),
  alerts_sent: Type.Integer(),
  last_alert_at: Type.Optional(Type.String({ format: 'date-time' })),
  updated_at: Type.Optional(Type.String({ format: 'date-time' })),
  config: Type.Object({
    threshold: Type.Object({ formatted: Type.String(), amount: Type.Number(), unit: Type.String() }),
  }),
});
const Alerts = Type.Object({ available: Type.Array(Alert), current: Type.Array(Alert) });

const Threshold = Type.Integer({ minimum: 1, maximum: thresholdMax });

const AlertsChange = closed({
  alerts: Type.Array(
    closed({
      id: Type.String({ enum: Object.keys(alertKinds) }),
      active: Type.Optional(Type.Boolean()),
      config: Type.Optional(nullable(closed({ threshold: Type.Optional(Threshold) }))),
    }),
    { maxItems: alertsMax },
  ),
});

async function shownAlerts(db: Db, projectId: string): Promise<Static<typeof Alerts>> {
  const current = (await alertsOf(db, projectId)).map(({ id, active, alerts_sent, last_alert_at, updated_at, threshold }) => ({
    id,
    active,
    alerts_sent,
    ...(last_alert_at !== null && { last_alert_at: inMilliseconds(last_alert_at) }),
    ...(updated_at !== null && { updated_at: inMilliseconds(updated_at) }),
    config: { threshold: amountOf(id, Number(threshold)) },
  }));
  const available = Object.keys(alertKinds)
    .filter((id) => !current.some((alert) => alert.id === id))
    .map((id) => ({ id, active: false, alerts_sent: 0, config: { threshold: amountOf(id, 0) } }));
  return { available, current };
}

function amountOf(id: string, amount: number) {
  const unit = alertKinds[id]?.unit ?? '';
  return { formatted: `${amount} ${unit}`, amount, unit };
}

async function changeAlerts(db: Db, projectId: string, { alerts }: Static<typeof AlertsChange>) {
  const present = new Set((await alertsOf(db, projectId)).map(({ id }) => id));
  const unset = alerts.find(({ id, active, config }) => active === true && config?.threshold === undefined && !present.has(id));
  if (unset) throw invalidField('alerts', `must say a threshold for ${unset.id}`);
  await db.transaction().execute(async (tx) => {
    for (const { id, active, config } of alerts) await setAlert(tx, projectId, id, active, config?.threshold);
  });
  return shownAlerts(db, projectId);
}

const example = { alerts: [{ id: 'ingress_requests', active: true, config: { threshold: 100_000 } }] };

export const getSubscriptionUsageAlerts = operation({
  summary: 'Show when the use of a project is told by mail',
  endpoint: 'GET /organizations/{organization_id}/alerts/subscriptions/{subscription_id}/usage',
  on: SubscriptionEntity,
  find: findSubscription,
  deprecated: true,
  permission: 'contract:view',
  returns: plain(Alerts),
  handle: ({ target }, { db }) => shownAlerts(db, target.project_id),
});

export const updateSubscriptionUsageAlerts = operation({
  summary: 'Change when the use of a project is told by mail',
  endpoint: 'PATCH /organizations/{organization_id}/alerts/subscriptions/{subscription_id}/usage',
  on: SubscriptionEntity,
  find: findSubscription,
  deprecated: true,
  permission: 'contract:edit',
  body: AlertsChange,
  example,
  returns: plain(Alerts),
  handle: ({ target, body }, { db }) => changeAlerts(db, target.project_id, body),
});

export const getUsageAlerts = operation({
  summary: 'Show when the use of a project is told by mail, by the id of its subscription alone',
  endpoint: 'GET /alerts/subscriptions/{subscriptionId}/usage',
  on: SubscriptionEntity,
  find: findSubscriptionById,
  permission: 'contract:view',
  returns: plain(Alerts),
  handle: ({ target }, { db }) => shownAlerts(db, target.project_id),
});

export const updateUsageAlerts = operation({
  summary: 'Change when the use of a project is told by mail, by the id of its subscription alone',
  endpoint: 'PATCH /alerts/subscriptions/{subscriptionId}/usage',
  on: SubscriptionEntity,
  find: findSubscriptionById,
  permission: 'contract:edit',
  body: AlertsChange,
  example,
  returns: plain(Alerts),
  handle: ({ target, body }, { db }) => changeAlerts(db, target.project_id, body),
});
