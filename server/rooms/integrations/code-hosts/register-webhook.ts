/**
 * Has code hosts call us when something happens, and stop when nobody wants to know any more. Both are deliveries in one lane of the integration, recorded with
 * the change of the integration itself: a host that is away is asked again for a day, and whatever was wanted last is done last.
 */
import { sql } from 'kysely';
import { deliveryKind } from '../../../kernel/delivery.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { hastenLane, recordDelivery } from '../../deliveries/public.ts';
import { hookAddress, opened, type Integration } from '../integration.ts';
import { integrationsOf, learnValues } from '../queries.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import type { Values } from '../types/field.ts';
import { repositoryIdOf } from './mirror.ts';
import { codeHostOf, codeHostTypes, isCodeHost, webhookSecretOf } from './code-host-of.ts';
import { delivered, outcomeOf } from './report-outcome.ts';
import { isElsewhere, learnedFrom } from './validate.ts';

type Hands = Pick<Platform, 'secrets' | 'config'>;

/** What one code host is told for one integration comes in order, and waits together where the host asks for a pause. */
export const laneOf = ({ id, organization_id }: Pick<Integration, 'id' | 'organization_id'>) => ({
  orderKey: `code host ${id}`,
  party: organization_id,
});

interface Registration {
  project: string;
  integration: string;
}

/** The integration is gone by the time at which it is sent, so it goes along. */
interface Removal {
  url: string;
  type: string;
  values: Values;
}

/** Records what follows for webhooks from a new integration, or from one that was changed. */
export async function recordRegistration(tx: Tx, hands: Hands, integration: Integration, former?: Integration): Promise<void> {
  const { id, project_id, organization_id, type, values } = integration;
  if (!isCodeHost(type)) return;
  if (former && isElsewhere(type, former.values, values)) await recordRemoval(tx, hands, former);
  // What the host did not take with the former credential, it may take now.
  await sql`insert into report_news (project_id, environment)
    select ${project_id}, environment from code_host_reports where integration_id = ${id}`.execute(tx);
  await recordDelivery(tx, hands.secrets, registerWebhook, {
    payload: { project: project_id, integration: id },
    ...laneOf(integration),
    organizationId: organization_id,
    projectId: project_id,
    integrationId: id,
  });
  // A host that was away, or was given wrongly, may answer now.
  await hastenLane(tx, laneOf(integration).orderKey);
}

/** A registration that came to nothing is tried again after a day; one that succeeded is looked after now and then, for people remove webhooks by mistake. */
const registeredAgain = { afterFailureHours: 24, otherwiseDays: 7 };

export const keepWebhooks: Reconciler = {
  name: 'keep webhooks of code hosts',
  everySeconds: 3600,
  run: async ({ db, secrets, config }) => {
    const { rows } = await sql<StoredIntegration>`
      select integrations.*, projects.organization_id
      from integrations join projects on projects.id = integrations.project_id and projects.status <> 'deleted'
      where integrations.type = any(${Object.keys(codeHostTypes)}) and not exists (
        select from deliveries where deliveries.integration_id = integrations.id and deliveries.kind = ${registerWebhook.kind} and (
          deliveries.state = 'waiting'
          or deliveries.created_at > now() - make_interval(hours => ${registeredAgain.afterFailureHours})
          or (deliveries.state = 'delivered' and deliveries.created_at > now() - make_interval(days => ${registeredAgain.otherwiseDays}))))`.execute(
      db,
    );
    for (const row of rows) await db.transaction().execute((tx) => recordRegistration(tx, { secrets, config }, opened(secrets, row)));
  },
};

/** It belongs to no project: it is sent also where the project goes with its integrations. */
export async function recordRemoval(tx: Tx, hands: Hands, integration: Integration): Promise<void> {
  const { type, values } = integration;
  if (!isCodeHost(type)) return;
  const payload = { url: hookAddress(hands, integration), type, values };
  await recordDelivery(tx, hands.secrets, removeWebhook, { payload, ...laneOf(integration) });
}

export const registerWebhook = deliveryKind<Registration>({
  kind: 'integration.register_hooks',
  send: async (platform, { project, integration: id }) => {
    const { db, secrets } = platform;
    const [row] = await integrationsOf(db, project, id);
    if (!row) return delivered('for nothing: the integration is gone');
    const integration = opened(secrets, row);
    const url = hookAddress(platform, integration);
    const asked = `to call ${url}`;
    try {
      const host = codeHostOf(platform, integration, await repositoryIdOf(db, id));
      await learnValues(db, id, learnedFrom(integration, await host.verify()));
      await host.ensureWebhook({ url, secret: webhookSecretOf(integration) });
      return delivered(asked);
    } catch (failure) {
      return outcomeOf(failure, asked);
    }
  },
});

export const removeWebhook = deliveryKind<Removal>({
  kind: 'integration.remove_hooks',
  forgetsPayload: true,
  send: async (platform, { url, ...asking }) => {
    const asked = `not to call ${url} any more`;
    try {
      await codeHostOf(platform, asking).removeWebhook(url);
      return delivered(asked);
    } catch (failure) {
      return outcomeOf(failure, asked);
    }
  },
});
