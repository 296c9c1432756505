/** Measurements in DuckDB, which runs in a process of its own, shared by all of an installation: whatever happens to it, the platform goes on. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../kernel/problem.ts';
import type { Metrics } from '../metrics.ts';
import { openOutgoing, outgoingDefaults, type OutgoingBounds } from '../outgoing.ts';
import { NotStored } from './pending-calls.ts';
import type { CallName } from './protocol.ts';
import { storeDefaults, type Store, type StoreOptions } from './store.ts';
import { openStoreConnection } from './store-connection.ts';

export interface DuckdbMetricsOptions extends Partial<StoreOptions>, Partial<OutgoingBounds> {
  folder: string;
  tidyMilliseconds?: number;
  lingerMilliseconds?: number;
  /** For the platform's log. */
  say?: (line: string) => void;
}

export interface DuckdbMetrics extends Metrics {
  /** Of the store's process. */
  pid(): number | undefined;
}

/** What is left when the platform stops is handed over within this time. */
const closeMilliseconds = 5000;

export function openDuckdbMetrics({
  say = () => {},
  tidyMilliseconds = 10_000,
  lingerMilliseconds = 2000,
  ...options
}: DuckdbMetricsOptions): DuckdbMetrics {
  const { waitingMax, waitingCharactersMax, batchMax, batchCharactersMax, collectMilliseconds, ...storeOptions } = {
    ...storeDefaults,
    ...outgoingDefaults,
    ...options,
  };
  const store = openStoreConnection({ ...storeOptions, tidyMilliseconds, lingerMilliseconds }, say);
  const writer = randomUUID();
  const outgoing = openOutgoing(
    { waitingMax, waitingCharactersMax, batchMax, batchCharactersMax, collectMilliseconds },
    async (kind, sequence, records) => {
      try {
        return { stored: await store.call('append', { writer, sequence, kind, records }) };
      } catch (error) {
        if (!(error instanceof NotStored)) throw error;
        return error.isNoRoom ? { retry: error.message } : { failed: error.message };
      }
    },
  );
  const ask = async <N extends CallName>(name: N, question: Parameters<Store[N]>[0]): Promise<Awaited<ReturnType<Store[N]>>> => {
    try {
      return await store.call(name, question);
    } catch (error) {
      throw new Problem('unavailable', 'Measurements cannot be read right now. Try again in a moment.', { cause: error });
    }
  };
  return {
    limits: { keptDays: storeOptions.keptDays, secondsMax: storeOptions.secondsMax, pointsMax: storeOptions.pointsMax },
    append: outgoing.append,
    settled: outgoing.settled,
    breakdown: (question) => ask('breakdown', question),
    topSpans: (question) => ask('topSpans', question),
    traffic: (question) => ask('traffic', question),
    facets: (question) => ask('facets', question),
    resources: (question) => ask('resources', question),
    usage: (question) => ask('usage', question),
    status: () => ({ kinds: outgoing.tallies(), trouble: outgoing.trouble(), starts: store.starts() }),
    pid: store.pid,
    async close() {
      await Promise.race([outgoing.settled(), sleep(closeMilliseconds, undefined, { ref: false })]);
      outgoing.close();
      await store.close();
    },
  };
}
