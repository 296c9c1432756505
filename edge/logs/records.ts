/**
 * Requests on their way to whoever reads them, in batches that wait in a ring, so that whoever comes back after a while finds the latest. Where there is no room the oldest batch is dropped, and
 * its requests are counted and told. Nothing waits for a reader: one that is slow only makes the ring drop.
 */
import type { AppsByCluster } from '../routing/served-apps.ts';
import { platformCluster } from '../routing/table.ts';
import { RequestBatch, type BatchBytes } from './request-batch.ts';
import type { RequestRecord } from './request-record.ts';

export interface Records {
  push(record: RequestRecord): void;
  /** They are handed over only while somebody reads them. */
  want(wanted: boolean): void;
  /** Hands over what waits, once. */
  close(): Promise<void>;
  readonly dropped: number;
}

/** What a reader gets. */
export interface ToldBatch extends BatchBytes {
  /** How many are missing before these. */
  dropped: number;
}

/** Some 7 MB, or 20,000 requests of the usual length. */
const batchesMax = 40;
const flushMilliseconds = 500;

/** `hand` resolves when there is room for more, to whether anybody was there to take it; it keeps nothing of what it is handed. */
export function openRecords(apps: AppsByCluster, hand: (batch: ToldBatch) => Promise<boolean>): Records {
  /** The last is the one that is added to. */
  const waiting: RequestBatch[] = [new RequestBatch()];
  const spare: RequestBatch[] = [];
  let made = 1;
  let dropped = 0;
  let droppedUntold = 0;
  let isWanted = false;
  let handing: Promise<void> | undefined;

  const freeBatch = (): RequestBatch => {
    const free = spare.pop();
    if (free) return free;
    if (made < batchesMax) {
      made++;
      return new RequestBatch();
    }
    const oldest = waiting.shift() ?? new RequestBatch();
    dropped += oldest.count;
    droppedUntold += oldest.count;
    oldest.clear();
    return oldest;
  };
  const isAny = () => (waiting[0]?.count ?? 0) > 0;
  /** Whether it is worth going on at once. */
  const handOldest = async (): Promise<boolean> => {
    const batch = waiting.shift() ?? new RequestBatch();
    if (waiting.length === 0) waiting.push(freeBatch());
    const untold = droppedUntold;
    droppedUntold = 0;
    const wasTaken = await hand({ dropped: untold, ...batch.bytes() }).catch(() => undefined);
    if (wasTaken !== true) droppedUntold += untold;
    if (wasTaken === false && waiting.length < batchesMax) {
      waiting.unshift(batch);
      return false;
    }
    if (wasTaken !== true) {
      // It may have been taken all the same; told again, it would count twice.
      dropped += batch.count;
      droppedUntold += batch.count;
    }
    batch.clear();
    spare.push(batch);
    return wasTaken === true;
  };
  const mayHand = () => isWanted && isAny();
  const handAll = async () => {
    while (mayHand() && (await handOldest()));
  };
  const handOnce = () => (handing ??= handAll().finally(() => (handing = undefined)));
  const timer = setInterval(() => mayHand() && void handOnce(), flushMilliseconds).unref();

  return {
    push(record) {
      const { cluster } = record;
      // What nobody's route led to is nobody's, and addresses of the platform's own pages hold secrets.
      if (cluster === null || cluster === platformCluster) return;
      const application = apps.ofRoute(cluster, record.route) ?? '';
      if (waiting.at(-1)?.add(record, cluster, application)) return;
      const next = freeBatch();
      waiting.push(next);
      next.add(record, cluster, application);
    },
    want(wanted) {
      isWanted = wanted;
    },
    async close() {
      clearInterval(timer);
      await handOnce();
    },
    get dropped() {
      return dropped;
    },
  };
}
