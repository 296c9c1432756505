/** Recording what is to be sent: in the transaction of what it tells of, so that either both are there or neither. */
import { sql } from 'kysely';
import type { DeliveryKind } from '../../kernel/delivery.ts';
import { ulid } from '../../kernel/id.ts';
import { notify } from '../../kernel/notices.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

export interface NewDelivery<Payload> {
  payload: Payload;
  /** Deliveries with the same key are sent one after the other, as their transactions committed. */
  orderKey: string;
  /** On whose behalf it is sent: whoever has much to send, or slow receivers, waits for itself alone. An organization, where there is one. */
  party: string;
  organizationId?: string;
  projectId?: string;
  integrationId?: string;
  /** What it tells of, fit to be shown to those who see the integration. */
  about?: Readonly<Record<string, unknown>>;
}

/**
 * Answers with the id of the delivery. Until the transaction ends, others that record for the same key wait: the order of positions is the order in which they
 * commit. Whoever records for several keys does so in the order of the keys, so that nobody waits in a circle.
 */
export async function recordDelivery<Payload>(
  tx: Db | Tx,
  secrets: Secrets,
  kind: DeliveryKind<Payload>,
  { payload, orderKey, party, organizationId, projectId, integrationId, about = {} }: NewDelivery<Payload>,
): Promise<string> {
  const id = deliveryId();
  const sealed = secrets.seal(purposeOf(kind.kind, id), JSON.stringify(payload));
  await sql`
    with lane as (${nextInLane(orderKey, party)})
    insert into deliveries (id, kind, order_key, position, organization_id, project_id, integration_id, payload_sealed, about)
    select ${id}, ${kind.kind}, ${orderKey}, lane.tail, ${organizationId ?? null}, ${projectId ?? null}, ${integrationId ?? null}, ${sealed},
      ${JSON.stringify(about)}::jsonb from lane`.execute(tx);
  await notify(tx, 'delivery', orderKey);
  return id;
}

/** Sorts by age, and is spelled as ids of activities are: deliveries are shown beside them. */
const deliveryId = () => ulid().toLowerCase();

export const purposeOf = (kind: string, id: string) => `delivery ${kind} ${id}`;

const nextInLane = (orderKey: string, party: string) => sql`
  insert into delivery_lanes (order_key, party) values (${orderKey}, ${party})
  on conflict (order_key) do update set tail = delivery_lanes.tail + 1 returning tail`;

/**
 * Has something sent again as it was, behind all that waits for the same receiver, which is tried now, however long it was to be left alone: whoever asks for this
 * has reason to believe that it answers again. Answers with the id of the new delivery.
 */
export async function repeatDelivery(tx: Tx, secrets: Secrets, id: string): Promise<string> {
  const former = await tx.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirst();
  if (!former) throw new Problem('not-found', 'No such delivery.');
  if (former.state === 'waiting') throw new Problem('conflict', 'This is still being delivered; it is tried again by itself.');
  if (former.payload_sealed === null) throw new Problem('conflict', 'What was sent is not kept, so it cannot be sent again.');
  const { kind, order_key } = former;
  const repeated = deliveryId();
  const sealed = secrets.seal(purposeOf(kind, repeated), secrets.open(purposeOf(kind, id), former.payload_sealed));
  await sql`
    with lane as (${nextInLane(order_key, former.organization_id ?? order_key)})
    insert into deliveries (id, kind, order_key, position, organization_id, project_id, integration_id, payload_sealed, repeats, about)
    select ${repeated}, kind, order_key, lane.tail, organization_id, project_id, integration_id, ${sealed}, id, about
    from deliveries, lane where deliveries.id = ${id}`.execute(tx);
  await hastenLane(tx, order_key);
  return repeated;
}

/** Has the receiver tried now, however long it was to be left alone. */
export async function hastenLane(tx: Tx, orderKey: string): Promise<void> {
  await sql`update delivery_lanes set due_at = least(due_at, now()) where order_key = ${orderKey}`.execute(tx);
  await notify(tx, 'delivery', orderKey);
}

/** Has all that waits for receivers of the integration tried now: it may be taken as the integration is by now. */
export async function hastenIntegration(tx: Tx, integrationId: string): Promise<void> {
  await sql`
    update delivery_lanes set due_at = least(due_at, now())
    where order_key in (select order_key from deliveries where integration_id = ${integrationId} and state = 'waiting')`.execute(tx);
  await notify(tx, 'delivery', integrationId);
}

/** Gives up what waits, because somebody does not want it any more. Answers whether it still waited; what is being sent at this moment may arrive all the same. */
export async function cancelDelivery(tx: Tx, id: string): Promise<boolean> {
  const { numAffectedRows } =
    await sql`update deliveries set state = 'cancelled', finished_at = clock_timestamp() where id = ${id} and state = 'waiting'`.execute(
      tx,
    );
  return numAffectedRows === 1n;
}
