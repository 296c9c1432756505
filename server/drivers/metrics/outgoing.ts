/** Records on their way to the store: collected for a moment, handed over batch by batch, and counted. What is appended never waits; what does not fit is dropped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, type Kind, type Records, type Tallied } from './metrics.ts';

export interface OutgoingBounds {
  /** Records that wait, of all kinds. */
  waitingMax: number;
  batchMax: number;
  /** How long records are collected before they are handed over. */
  collectMilliseconds: number;
}

export const outgoingDefaults: OutgoingBounds = { waitingMax: 100_000, batchMax: 5000, collectMilliseconds: 500 };

/** What became of a batch: how many of it are stored, or that it has to be handed in again later. */
export type Delivered = { stored: number } | { retry: string } | { failed: string };

export type Deliver = (kind: Kind, sequence: number, records: readonly Records[Kind][]) => Promise<Delivered>;

const retryMilliseconds = 1000;

export interface Outgoing {
  append(kind: Kind, records: readonly Records[Kind][]): void;
  settled(): Promise<void>;
  tallies(): Record<Kind, Tallied>;
  trouble(): string | undefined;
  close(): void;
}

export function openOutgoing({ waitingMax, batchMax, collectMilliseconds }: OutgoingBounds, deliver: Deliver): Outgoing {
  const tallies = Object.fromEntries(kinds.map((kind) => [kind, { stored: 0, waiting: 0, dropped: 0 }])) as Record<Kind, Tallied>;
  const waiting = new Map<Kind, Records[Kind][]>(kinds.map((kind) => [kind, []]));
  const closing = new AbortController();
  let [sequence, waitingCount] = [0, 0];
  let trouble: string | undefined;
  let delivering: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const deliverBatch = async (kind: Kind, records: readonly Records[Kind][]) => {
    sequence += 1;
    const own = sequence;
    const attempt = () => deliver(kind, own, records).catch((error: unknown): Delivered => ({ failed: String(error) }));
    let delivered = await attempt();
    while ('retry' in delivered && !closing.signal.aborted) {
      trouble = delivered.retry;
      await sleep(retryMilliseconds, undefined, { signal: closing.signal }).catch(() => {});
      delivered = await attempt();
    }
    const stored = 'stored' in delivered ? delivered.stored : 0;
    trouble = 'stored' in delivered ? undefined : 'retry' in delivered ? delivered.retry : delivered.failed;
    waitingCount -= records.length;
    tallies[kind].waiting -= records.length;
    tallies[kind].stored += stored;
    tallies[kind].dropped += records.length - stored;
  };
  const deliverAll = async () => {
    for (let isAny = true; isAny;) {
      isAny = false;
      for (const kind of kinds) {
        const records = waiting.get(kind)?.splice(0, batchMax) ?? [];
        if (records.length === 0) continue;
        isAny = true;
        await deliverBatch(kind, records);
      }
    }
  };
  const begin = () => {
    clearTimeout(timer);
    timer = undefined;
    delivering ??= deliverAll().finally(() => (delivering = undefined));
    return delivering;
  };

  return {
    append(kind, records) {
      const room = Math.max(0, Math.min(records.length, waitingMax - waitingCount));
      const queue = waiting.get(kind);
      for (let nth = 0; nth < room; nth += 1) queue?.push(records[nth] as Records[Kind]);
      waitingCount += room;
      tallies[kind].waiting += room;
      tallies[kind].dropped += records.length - room;
      if (!delivering) timer ??= setTimeout(() => void begin(), collectMilliseconds);
    },
    async settled() {
      const isAnyWaiting = () => waitingCount > 0;
      while (isAnyWaiting()) await begin();
    },
    tallies: () => structuredClone(tallies),
    trouble: () => trouble,
    close: () => {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
