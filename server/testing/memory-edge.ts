/** An edge that remembers what it was told: alone, or in front of a real one. */
import type { EdgeEnvironment } from '../../edge/routing/table.ts';
import type { Challenges, Edge, EdgeCertificate } from '../drivers/edge/edge.ts';

export interface MemoryEdge extends Edge {
  readonly table: Map<string, EdgeEnvironment>;
  readonly presented: Map<string, EdgeCertificate>;
  /** The proofs that the edge was told last. */
  readonly proofs: Challenges;
  /** The states that the edge was told, in order: `<cluster> holding`. */
  readonly told: string[];
  /** How many seconds ago each cluster was visited; any other was not visited for a day. */
  readonly visited: Map<string, number>;
  /** Acts as if somebody visited an environment that sleeps. */
  wake(cluster: string): void;
}

/** Remembers what it is told, and passes it on to `real`, which answers all questions. */
export const rememberingEdge = (real: Edge): MemoryEdge => {
  const memory = openMemoryEdge();
  return {
    ...memory,
    put: async (environment) => {
      await real.put(environment);
      await memory.put(environment);
    },
    remove: async (cluster) => {
      await real.remove(cluster);
      await memory.remove(cluster);
    },
    list: () => real.list(),
    drain: (cluster, instance, secondsMax) => real.drain(cluster, instance, secondsMax),
    onWake: (listener) => real.onWake(listener),
    visits: () => real.visits(),
  };
};

export function openMemoryEdge(): MemoryEdge {
  const table = new Map<string, EdgeEnvironment>();
  const presented = new Map<string, EdgeCertificate>();
  const proofs: Challenges = { http: [], tls: [] };
  const told: string[] = [];
  const visited = new Map<string, number>();
  const listeners = new Set<(cluster: string) => void>();
  const notNeeded = () => Promise.reject(new Error('Not needed here.'));
  return {
    table,
    presented,
    proofs,
    told,
    visited,
    wake: (cluster) => listeners.forEach((listener) => listener(cluster)),
    put: async (environment) => {
      if ((table.get(environment.cluster)?.version ?? -1) >= environment.version) return;
      table.set(environment.cluster, structuredClone(environment));
      told.push(`${environment.cluster} ${environment.state}`);
    },
    remove: async (cluster) => void table.delete(cluster),
    list: async () => Object.fromEntries([...table].map(([cluster, { version }]) => [cluster, version])),
    keepOnly: async (clusters) => [...table.keys()].filter((cluster) => !clusters.includes(cluster) && table.delete(cluster)),
    putCertificate: async (certificate) => {
      if ((presented.get(certificate.id)?.version ?? -1) < certificate.version) presented.set(certificate.id, structuredClone(certificate));
    },
    removeCertificate: async (id) => void presented.delete(id),
    certificates: async () => Object.fromEntries([...presented].map(([id, { version }]) => [id, version])),
    keepOnlyCertificates: async (ids) => [...presented.keys()].filter((id) => !ids.includes(id) && presented.delete(id)),
    challenge: async (challenges) => void Object.assign(proofs, structuredClone(challenges)),
    drain: async () => 0,
    onWake: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    visits: async () => ({ known_seconds: 86_400, seconds_ago: Object.fromEntries(visited) }),
    // oxlint-disable-next-line require-yield -- there are none
    records: async function* () {},
    status: notNeeded,
    showVolumes: async () => {},
    stop: notNeeded,
    close: async () => {},
  };
}
