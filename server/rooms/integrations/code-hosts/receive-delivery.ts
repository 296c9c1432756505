/**
 * Calls of a code host. A delivery is proven with the secret of the integration before anything of it is read; what it is about is written down, with the
 * activity that looks at it, and the host is answered at once.
 *
 * Clients call the same address to have everything looked at, with neither a token nor a delivery. They are believed nothing: the host is compared with what is
 * known of it soon, at most once a minute.
 */
import type { HostEvent } from '../../../drivers/code-hosts/code-host.ts';
import { CodeHostFailure } from '../../../drivers/code-hosts/code-host-failure.ts';
import type { Arrival } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { countAttempts } from '../../sign-in/public.ts';
import { opened } from '../integration.ts';
import { noteHook } from '../queries.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import { codeHostOf, isCodeHost, webhookSecretOf } from './code-host-of.ts';
import { startFetch } from './fetch-activities.ts';
import { lookSoon, repositoryIdOf } from './mirror.ts';
import { noteNews, subjectsOf } from './news.ts';

/** Every host sends one of these with each of its deliveries. */
const isHeaderOfDelivery = /^x-(github|hub|gitlab|gitea|gogs|forgejo|event-key)/;
const isDelivery = ({ headers }: Arrival) => Object.keys(headers).some((name) => isHeaderOfDelivery.test(name));

export async function receiveDelivery(platform: Platform, row: StoredIntegration, arrival: Arrival): Promise<void> {
  const { db } = platform;
  const isOfHost = isCodeHost(row.type) && isDelivery(arrival);
  const events = isOfHost ? await provenEvents(platform, row, arrival) : [];
  // Whoever knows the address can call, and must not be able to shut out the host: what the host has proven counts for itself.
  await countAttempts(db, [{ limit: isOfHost ? 'call of hook' : 'unproven call of hook', of: row.id }]);
  await noteHook(db, row.id);
  if (!isOfHost) await lookSoon(db, row.id);
  if (events.length === 0) return;
  await db.transaction().execute(async (tx) => {
    await noteNews(tx, row.id, subjectsOf(events));
    await startFetch(tx, row);
  });
}

async function provenEvents(platform: Platform, row: StoredIntegration, { headers, body }: Arrival): Promise<HostEvent[]> {
  const integration = opened(platform.secrets, row);
  const host = codeHostOf(platform, integration, await repositoryIdOf(platform.db, row.id));
  try {
    return host.readDelivery({ headers, body: Buffer.from(body) }, webhookSecretOf(integration));
  } catch (failure) {
    if (!(failure instanceof CodeHostFailure)) throw failure;
    if (failure.kind === 'unauthenticated') await countAttempts(platform.db, [{ limit: 'unproven call of hook', of: row.id }]);
    throw new Problem(failure.kind === 'unauthenticated' ? 'unauthenticated' : 'invalid-request', failure.message, { cause: failure });
  }
}
