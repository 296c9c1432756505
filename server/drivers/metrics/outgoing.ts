/** Records on their way to the store: collected for a moment, handed over batch by batch, and counted. What is appended never waits; what does not fit is dropped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, type Kind, type Records, type Tallied } from './metrics.ts';

export interface OutgoingBounds {
  /** Records that wait, of all kinds. */
  waitingMax: number;
  /** Of all texts in them: what is measured comes from strangers, too. */
  waitingCharactersMax: number;
  batchMax: number;
  /** A batch ends with the record that goes beyond it. */
  batchCharactersMax: number;
  /** How long records are collected before they are handed over. */
  collectMilliseconds: number;
}

export const outgoingDefaults: OutgoingBounds = {
  waitingMax: 100_000,
  waitingCharactersMax: 100_000_000,
  batchMax: 5000,
  batchCharactersMax: 4_000_000,
  collectMilliseconds: 500,
};

/** Longer texts are cut. */
export const textMax = 2048;

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

export function openOutgoing(bounds: OutgoingBounds, deliver: Deliver): Outgoing {
  const tallies = Object.fromEntries(kinds.map((kind) => [kind, { stored: 0, waiting: 0, dropped: 0 }])) as Record<Kind, Tallied>;
  const waiting = new Map<Kind, Records[Kind][]>(kinds.map((kind) => [kind, []]));
  const closing = new AbortController();
  let [sequence, waitingCount, waitingCharacters] = [0, 0, 0];
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
    waitingCharacters -= sum(records.map(charactersOf));
    tallies[kind].waiting -= records.length;
    tallies[kind].stored += stored;
    tallies[kind].dropped += records.length - stored;
  };
  const deliverAll = async () => {
    for (let isAny = true; isAny;) {
      isAny = false;
      for (const kind of kinds) {
        const records = takeBatch(waiting.get(kind) ?? [], bounds);
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
      const queue = waiting.get(kind);
      for (const record of records) {
        const isRoom = waitingCount < bounds.waitingMax && waitingCharacters < bounds.waitingCharactersMax;
        tallies[kind][isRoom ? 'waiting' : 'dropped'] += 1;
        if (!isRoom) continue;
        const kept = withShortTexts(record);
        queue?.push(kept);
        waitingCount += 1;
        waitingCharacters += charactersOf(kept);
      }
      if (!delivering) timer ??= setTimeout(() => void begin(), bounds.collectMilliseconds);
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

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function charactersOf(record: Records[Kind]): number {
  let characters = 0;
  for (const value of Object.values(record)) if (typeof value === 'string') characters += value.length;
  return characters;
}

/** A copy: a slice would keep the whole text in memory. */
const beginningOf = (text: string) => Buffer.from(text.slice(0, textMax), 'utf16le').toString('utf16le');

function withShortTexts<R extends Records[Kind]>(record: R): R {
  const isLong = (value: unknown) => typeof value === 'string' && value.length > textMax;
  if (!Object.values(record).some(isLong)) return record;
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, isLong(value) ? beginningOf(value) : value])) as R;
}

function takeBatch(queue: Records[Kind][], { batchMax, batchCharactersMax }: OutgoingBounds): Records[Kind][] {
  let [count, characters] = [0, 0];
  while (count < Math.min(batchMax, queue.length) && characters < batchCharactersMax) {
    characters += charactersOf(queue[count] as Records[Kind]);
    count += 1;
  }
  return queue.splice(0, count);
}
