/** What was used lately, up to a weight in all: entries, or bytes. */
export interface RecentlyUsed<Value> {
  get(key: string): Value | undefined;
  /** An entry that weighs too much is not kept. */
  set(key: string, value: Value, weight: number): void;
}

/** No entry takes more than this share of the whole. */
const entryShare = 1 / 8;

export function recentlyUsed<Value>(weightMax: number): RecentlyUsed<Value> {
  const entries = new Map<string, { value: Value; weight: number }>();
  let total = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      total -= entries.get(key)?.weight ?? 0;
      entries.delete(key);
      if (weight > weightMax * entryShare) return;
      entries.set(key, { value, weight });
      total += weight;
      for (const [oldest, entry] of entries) {
        if (total <= weightMax) break;
        entries.delete(oldest);
        total -= entry.weight;
      }
    },
  };
}
