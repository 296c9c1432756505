/** Measurements in DuckDB, which runs in a process of its own: whatever happens to it, the platform goes on. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../kernel/problem.ts';
import type { Metrics } from '../metrics.ts';
import { openOutgoing, outgoingDefaults, type OutgoingBounds } from '../outgoing.ts';
import { keepStoreProcess, NotStored } from './keep-process.ts';
import type { CallName } from './protocol.ts';
import { storeDefaults, type Store, type StoreOptions } from './store.ts';

export interface DuckdbMetricsOptions extends Partial<StoreOptions>, Partial<OutgoingBounds> {
  folder: string;
  tidyMilliseconds?: number;
  /** For the platform's log. */
  say?: (line: string) => void;
}

export interface DuckdbMetrics extends Metrics {
  /** Of the store's process. */
  pid(): number | undefined;
}

/** What is left when the platform stops is handed over within this time. */
const closeMilliseconds = 5000;

export function openDuckdbMetrics({ say = () => {}, tidyMilliseconds = 10_000, ...options }: DuckdbMetricsOptions): DuckdbMetrics {
  const { waitingMax, batchMax, collectMilliseconds, ...storeOptions } = { ...storeDefaults, ...outgoingDefaults, ...options };
  const kept = keepStoreProcess({ ...storeOptions, tidyMilliseconds }, say);
  const writer = randomUUID();
  const outgoing = openOutgoing({ waitingMax, batchMax, collectMilliseconds }, async (kind, sequence, records) => {
    try {
      return { stored: await kept.call('append', { writer, sequence, kind, records }) };
    } catch (error) {
      if (!(error instanceof NotStored)) throw error;
      return error.isNoRoom ? { retry: error.message } : { failed: error.message };
    }
  });
  const ask = async <N extends CallName>(name: N, question: Parameters<Store[N]>[0]): Promise<Awaited<ReturnType<Store[N]>>> => {
    try {
      return await kept.call(name, question);
    } catch (error) {
      throw new Problem('unavailable', 'Measurements cannot be read right now. Try again in a moment.', { cause: error });
    }
  };
  return {
    append: outgoing.append,
    settled: outgoing.settled,
    breakdown: (question) => ask('breakdown', question),
    topSpans: (question) => ask('topSpans', question),
    traffic: (question) => ask('traffic', question),
    resources: (question) => ask('resources', question),
    usage: (question) => ask('usage', question),
    status: () => ({ kinds: outgoing.tallies(), trouble: outgoing.trouble(), starts: kept.starts() }),
    pid: kept.pid,
    async close() {
      await Promise.race([outgoing.settled(), sleep(closeMilliseconds, undefined, { ref: false })]);
      outgoing.close();
      await kept.close();
    },
  };
}
