import { sql, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Db } from '../../kernel/sql.ts';

/** How far a delivery is: `trying` is one that waits and was tried before. */
export type DeliveryProgress = 'waiting' | 'trying' | 'delivered' | 'failed' | 'cancelled';

/** A delivery as its owner sees it. */
export interface SeenDelivery extends Pick<
  Selectable<Database['deliveries']>,
  'id' | 'kind' | 'about' | 'repeats' | 'created_at' | 'finished_at'
> {
  progress: DeliveryProgress;
  /** Whether what was sent is kept, so that it can be sent again. */
  is_kept: boolean;
  /** When it was tried for the first time, and when the last attempt was over. */
  begun_at: string | null;
  tried_at: string | null;
}

export interface DeliveriesWanted {
  /** When present, only this one. */
  id?: string;
  /** Only those that were recorded at this moment or before it. */
  until?: string | undefined;
  progress?: readonly DeliveryProgress[] | undefined;
  count: number;
}

/** Deliveries of an integration, the newest first. */
export async function deliveriesOfIntegration(db: Db, integrationId: string, wanted: DeliveriesWanted): Promise<SeenDelivery[]> {
  const { id, until, progress, count } = wanted;
  const { rows } = await sql<SeenDelivery>`
    select seen.* from deliveries, lateral (
      select min(begun_at) as begun_at, max(begun_at + milliseconds * interval '1 millisecond') as tried_at
      from delivery_attempts where delivery_id = deliveries.id
    ) as tries, lateral (
      select deliveries.id, kind, about, repeats, created_at, finished_at, payload_sealed is not null as is_kept, begun_at, tried_at,
        case when state = 'waiting' and begun_at is not null then 'trying' else state end as progress
    ) as seen
    where integration_id = ${integrationId}
      ${id === undefined ? sql`` : sql`and deliveries.id = ${id}`}
      ${until === undefined ? sql`` : sql`and deliveries.created_at <= ${until}::timestamptz`}
      ${progress === undefined ? sql`` : sql`and seen.progress = any(${progress}::text[])`}
    order by deliveries.id desc limit ${count}`.execute(db);
  return rows;
}

export type SeenAttempt = Selectable<Database['delivery_attempts']>;

/** What was tried for a delivery, and what came of it, in order. */
export const attemptsOf = (db: Db, deliveryId: string): Promise<SeenAttempt[]> =>
  db.selectFrom('delivery_attempts').selectAll().where('delivery_id', '=', deliveryId).orderBy('number').execute();
