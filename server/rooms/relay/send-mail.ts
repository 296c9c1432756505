/**
 * Sends what apps gave us through the operator's mail server, in the order of each environment. The row of a message always has those for whom it was not taken yet:
 * whoever has got it does not get it again with the next attempt, and a message that the server puts off leaves the order, so that others do not wait for it.
 *
 * Between the server's answer and the row a kill can come; then those recipients get the message twice, with the same Message-ID. That is the price of losing none.
 */
import type { Envelope, Relayed } from '../../drivers/mail/relayed-mail.ts';
import { deliveryKind, type Sent } from '../../kernel/delivery.ts';
import { limit, type Limit } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { recordDelivery } from '../deliveries/public.ts';
import { openedEnvelope, openedMessage, sealedEnvelope } from './sealed-mail.ts';
import { noteOutcome } from './tell-owners.ts';

interface Payload {
  mail: string;
  /** Whether it is tried by itself. */
  isDeferred: boolean;
}

export const laneOf = (projectId: string, environmentId: string) => `app mail of ${projectId} ${environmentId}`;
const ownLane = (id: string) => `app mail ${id}`;

/** Each has a message in memory, and a connection to the same server. */
const atOnceMax = 8;
/** A server that is away is left alone for so long, so that it does not keep all those busy who send: the first finds out for the others. */
const awayMilliseconds = 2000;
const serverOf = stateOf<Platform, { within: Limit; awayUntil: number }>(() => ({ within: limit(atOnceMax), awayUntil: 0 }));

export const mailOfApp = deliveryKind<Payload>({
  kind: 'app mail',
  forgetsPayload: true,
  send: (platform, payload, { signal }) =>
    serverOf(platform).within(async () => (signal.aborted ? interrupted : sendMail(platform, payload))),
  onFailed: async (tx, { mail }) => void (await tx.updateTable('app_mails').set({ is_given_up: true }).where('id', '=', mail).execute()),
});

const interrupted: Sent = { outcome: 'failed', trouble: 'There was no time left to send it.' };

async function sendMail(platform: Platform, payload: Payload): Promise<Sent> {
  const { db, secrets, mail } = platform;
  const row = await db.selectFrom('app_mails').selectAll().where('id', '=', payload.mail).executeTakeFirst();
  // A kill came between the last attempt and its record.
  if (!row || row.is_deferred !== payload.isDeferred) return { outcome: 'delivered' };
  const server = serverOf(platform);
  if (Date.now() < server.awayUntil) return { outcome: 'failed', trouble: 'The mail server was away a moment ago.' };
  const envelope = openedEnvelope(secrets, row.id, row.envelope_sealed);
  try {
    const relayed = await mail.relay(envelope, openedMessage(secrets, row.id, row.message_sealed));
    return await settle(platform, row, envelope, relayed);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    server.awayUntil = Date.now() + awayMilliseconds;
    platform.log.warn({ mail: row.id, cause: error.cause }, 'mail of an app waits, because the mail server takes nothing');
    return { outcome: 'failed', trouble: error.message };
  }
}

interface MailRow {
  id: string;
  project_id: string;
  environment_id: string;
  machine_name: string;
  app: string;
  is_deferred: boolean;
}

/** Writes down what the server said, and what is left to do. */
async function settle({ db, secrets, log }: Platform, row: MailRow, { from, to }: Envelope, relayed: Relayed): Promise<Sent> {
  const { accepted, deferred, refused } = relayed;
  const shown = {
    request: { recipients: to.length },
    response: { accepted: accepted.length, deferred: deferred.length, refused: refused.length },
  };
  const left = deferred.map(({ address }) => address);
  const leavesOrder = left.length > 0 && !row.is_deferred;
  await db.transaction().execute(async (tx) => {
    await noteOutcome(tx, secrets, row, from, leavesOrder ? relayed : { ...relayed, deferred: [] });
    if (left.length === 0) return void (await tx.deleteFrom('app_mails').where('id', '=', row.id).execute());
    const envelope_sealed = sealedEnvelope(secrets, row.id, { from, to: left });
    await tx.updateTable('app_mails').set({ envelope_sealed, is_deferred: true }).where('id', '=', row.id).execute();
    if (!leavesOrder) return;
    const { organization_id } = await tx
      .selectFrom('projects')
      .select('organization_id')
      .where('id', '=', row.project_id)
      .executeTakeFirstOrThrow();
    await recordDelivery(tx, secrets, mailOfApp, {
      payload: { mail: row.id, isDeferred: true },
      orderKey: ownLane(row.id),
      party: organization_id,
      organizationId: organization_id,
      projectId: row.project_id,
    });
  });
  log.info({ mail: row.id, project: row.project_id, environment: row.environment_id, ...shown.response }, 'mail of an app was passed on');
  if (left.length > 0 && !leavesOrder) return { ...shown, outcome: 'failed', trouble: 'The mail server put it off.' };
  return accepted.length > 0 || leavesOrder
    ? { ...shown, outcome: 'delivered' }
    : { ...shown, outcome: 'refused', trouble: 'The mail server refused it.' };
}
