/** What this process told the edge last. Each word to the edge is newer than the last, so that a late one changes nothing. */
import { stateOf } from '../../kernel/state-of.ts';
import type { Edge, EdgeEnvironment } from './edge.ts';

/** It only saves repetition: a process that does not know tells the edge once more. */
const toldTo = stateOf<Edge, Map<string, Told>>(() => new Map());

interface Told {
  version: number;
  state: EdgeEnvironment['state'];
  content: string;
}

/** An entry of the table; its version is chosen when the edge is told. */
export type Entry = Omit<EdgeEnvironment, 'version'>;

/** What `Edge.list` answered. */
export type Listed = Readonly<Record<string, number>>;

export async function tell(edge: Edge, wanted: Entry, has = 0): Promise<void> {
  const known = toldTo(edge);
  const version = Math.max(Date.now(), has + 1, (known.get(wanted.cluster)?.version ?? 0) + 1);
  known.set(wanted.cluster, { version, state: wanted.state, content: JSON.stringify(wanted) });
  await edge.put({ ...wanted, version });
}

/** Tells the edge only where the edge has something else, or may have. Answers whether it did. */
export async function keepTold(edge: Edge, wanted: Entry, listed: Listed): Promise<boolean> {
  const known = toldTo(edge).get(wanted.cluster);
  const has = listed[wanted.cluster] ?? 0;
  if (known && known.version === has && known.content === JSON.stringify(wanted)) return false;
  await tell(edge, wanted, has);
  return true;
}

/** Whether the edge still has what this process told it last. */
export function isTold(edge: Edge, cluster: string, state: EdgeEnvironment['state'], listed: Listed): boolean {
  const known = toldTo(edge).get(cluster);
  return known?.state === state && known.version === listed[cluster];
}

export async function forget(edge: Edge, cluster: string): Promise<void> {
  toldTo(edge).delete(cluster);
  await edge.remove(cluster);
}
