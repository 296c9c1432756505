/** The days that a store has files of, opened as they are needed. Whoever calls this takes turns: a transaction belongs to the connection. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { globSync, rmSync } from 'node:fs';
import { oneAtATime } from '../../../kernel/limits.ts';
import type { TimeRange } from '../breakdown.ts';
import { kinds, type Kind } from '../metrics.ts';
import { blocksOfDay, daySeconds, fileOfDay, openPartition, type Partition } from './partition.ts';

export interface Days {
  open(kind: Kind, day: number): Promise<Partition>;
  /** Of days that a range touches, those that have a file. */
  within(kind: Kind, range: TimeRange): Promise<Partition[]>;
  /** Of days that nothing has asked for since the start, each once, beginning with the latest; it is closed again at once. */
  visitNextUnseen(visit: (partition: Partition) => Promise<void>): Promise<void>;
  opened(): Partition[];
  removeOld(keptDays: Record<Kind, number>, now: number, onRemoved: (day: number) => void): Promise<void>;
  close(): Promise<void>;
}

export function openDays(connection: DuckDBConnection, folder: string): Days {
  const opened = new Map<string, Partition>();
  const opening = oneAtATime();
  const seen = new Set<string>();
  const open = (kind: Kind, day: number) =>
    opening.run(`${kind} ${day}`, async () => {
      const partition = opened.get(`${kind} ${day}`) ?? (await openPartition(connection, folder, kind, day));
      opened.set(`${kind} ${day}`, partition);
      return partition;
    });
  const daysOnDisk = (kind: Kind) =>
    globSync(`${kind}-*.duckdb`, { cwd: folder })
      .map((name) => Date.parse(name.slice(kind.length + 1, -'.duckdb'.length)) / 1000 / daySeconds)
      .toSorted((one, other) => one - other);
  return {
    open,
    async within(kind, { from, to }) {
      const days = daysOnDisk(kind).filter((day) => day * daySeconds < to && (day + 1) * daySeconds > from);
      return Promise.all(days.map((day) => open(kind, day)));
    },
    async visitNextUnseen(visit) {
      const unseen = kinds
        .flatMap((kind) => daysOnDisk(kind).map((day) => ({ kind, day, key: `${kind} ${day}` })))
        .filter(({ key }) => !opened.has(key) && !seen.has(key));
      const latest = unseen.toSorted((one, other) => other.day - one.day)[0];
      if (!latest) return;
      seen.add(latest.key);
      const partition = await openPartition(connection, folder, latest.kind, latest.day);
      try {
        await visit(partition);
      } finally {
        await connection.run(`detach "${partition.catalog}"`);
      }
    },
    opened: () => [...opened.values()],
    async removeOld(keptDays, now, onRemoved) {
      const today = Math.floor(now / daySeconds);
      for (const kind of kinds)
        for (const day of daysOnDisk(kind).filter((each) => each <= today - keptDays[kind])) {
          const partition = opened.get(`${kind} ${day}`);
          if (partition) await connection.run(`detach "${partition.catalog}"`);
          opened.delete(`${kind} ${day}`);
          if (kind === 'transactions') rmSync(blocksOfDay(folder, day), { recursive: true, force: true });
          for (const ending of ['', '.wal']) rmSync(`${fileOfDay(folder, kind, day)}${ending}`, { force: true });
          onRemoved(day);
        }
    },
    async close() {
      for (const { catalog } of opened.values()) await connection.run(`detach "${catalog}"`);
    },
  };
}
