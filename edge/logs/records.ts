/**
 * Records of requests on their way to whoever reads them. They wait in a ring, so that whoever comes back after a while finds the latest; where there
 * is no room the oldest is dropped, counted and told. Nothing waits for a reader: one that is slow only makes the ring drop.
 */
import type { RequestRecord } from './request-record.ts';

export interface Records {
  push(record: RequestRecord): void;
  /** They are handed over only while somebody reads them. */
  want(wanted: boolean): void;
  /** Hands over what waits, once. */
  close(): Promise<void>;
  readonly dropped: number;
}

/** What a reader gets on each line: a record, or how many are missing before the next. */
export type RecordLine = RequestRecord | { dropped: number };

const recordsMax = 20_000;
const batchMax = 1000;
const flushMilliseconds = 200;

/** `hand` resolves when there is room for more. */
export function openRecords(hand: (lines: string) => Promise<unknown>): Records {
  const ring: (RequestRecord | undefined)[] = Array.from({ length: recordsMax });
  let first = 0;
  let count = 0;
  let dropped = 0;
  let droppedUntold = 0;
  let isWanted = false;
  let handing: Promise<void> | undefined;

  const takeBatch = (): string => {
    const lines: string[] = droppedUntold > 0 ? [JSON.stringify({ dropped: droppedUntold })] : [];
    droppedUntold = 0;
    for (let taken = 0; taken < batchMax && count > 0; taken++) {
      lines.push(JSON.stringify(ring[first]));
      ring[first] = undefined;
      first = (first + 1) % recordsMax;
      count--;
    }
    return `${lines.join('\n')}\n`;
  };
  const mayHand = () => isWanted && count > 0;
  const handAll = async () => {
    while (mayHand()) await hand(takeBatch()).catch(() => {});
  };
  const handOnce = () => (handing ??= handAll().finally(() => (handing = undefined)));
  const timer = setInterval(() => mayHand() && void handOnce(), flushMilliseconds).unref();

  return {
    push(record) {
      if (count === recordsMax) {
        first = (first + 1) % recordsMax;
        count--;
        dropped++;
        droppedUntold++;
      }
      ring[(first + count++) % recordsMax] = record;
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
