/** Environments that sleep and were asked for. Each is asked for once, and again of whoever comes to listen, until its entry says something else. */
import type { Table } from './routing.ts';

export interface Wakes {
  ask(cluster: string): void;
  pending(): string[];
}

export function openWakes(table: Table, onWake: (cluster: string) => void): Wakes {
  const asked = new Set<string>();
  table.onChange((cluster, environment) => {
    if (environment?.state !== 'sleeping') asked.delete(cluster);
  });
  return {
    ask(cluster) {
      if (asked.has(cluster) || table.get(cluster)?.state !== 'sleeping') return;
      asked.add(cluster);
      onWake(cluster);
    },
    pending: () => [...asked],
  };
}
