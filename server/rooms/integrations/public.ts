/** What other rooms may know of integrations: what they are set to, secrets among it, how what is sent to a webhook is signed, and what is counted of them. */
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { opened, type Integration } from './integration.ts';
import { integrationsOf } from './queries.ts';

export type { Integration } from './integration.ts';
export { forwardingFamilies } from './log-forwarding/forward-logs.ts';
export { insertNew } from './insert-new.ts';
export { webhookRequest, type Webhook } from './activity-hooks/webhook-request.ts';

/** Undefined: it was deleted. */
export async function integrationById(
  { db, secrets }: Pick<Platform, 'secrets'> & { db: Db | Tx },
  projectId: string,
  id: string,
): Promise<Integration | undefined> {
  const [row] = await integrationsOf(db, projectId, id);
  return row && opened(secrets, row);
}
