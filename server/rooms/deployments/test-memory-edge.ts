/** An edge that only remembers what it was told. */
import type { EdgeEnvironment } from '../../../edge/table.ts';
import type { Edge } from '../../drivers/edge/edge.ts';

export interface MemoryEdge extends Edge {
  readonly table: Map<string, EdgeEnvironment>;
  /** What it was told of states, in order: `<cluster> holding`. */
  readonly told: string[];
}

export function openMemoryEdge(): MemoryEdge {
  const table = new Map<string, EdgeEnvironment>();
  const told: string[] = [];
  const notNeeded = () => Promise.reject(new Error('Not needed here.'));
  return {
    table,
    told,
    put: async (environment) => {
      if ((table.get(environment.cluster)?.version ?? -1) >= environment.version) return;
      table.set(environment.cluster, structuredClone(environment));
      told.push(`${environment.cluster} ${environment.state}`);
    },
    remove: async (cluster) => void table.delete(cluster),
    list: async () => Object.fromEntries([...table].map(([cluster, { version }]) => [cluster, version])),
    keepOnly: async (clusters) => [...table.keys()].filter((cluster) => !clusters.includes(cluster) && table.delete(cluster)),
    drain: async () => 0,
    onWake: () => () => {},
    // oxlint-disable-next-line require-yield -- there are none
    records: async function* () {},
    status: notNeeded,
    stop: notNeeded,
    close: async () => {},
  };
}
