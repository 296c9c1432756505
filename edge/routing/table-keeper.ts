/**
 * The table as the main process keeps it. A change is done when it is on disk and every process that serves has it, so that whoever asked for it may
 * stop what is no longer named. Changes of one environment come one after the other, those of different ones do not wait for each other.
 */
import type { Table } from './routing.ts';
import type { TableFolder } from './table-folder.ts';
import type { EdgeEnvironment } from './table.ts';

export interface TableKeeper {
  /** False: a version at least as high is there already. */
  put(environment: EdgeEnvironment): Promise<boolean>;
  remove(cluster: string): Promise<boolean>;
  /** Removes all others; answers which. */
  keepOnly(clusters: ReadonlySet<string>): Promise<string[]>;
  /** Takes no more changes, and answers whose environments have changed since `from`, once all is done that was under way. */
  handOver(from: number): Promise<string[]>;
  /** Nobody took over after all. */
  goOn(): void;
  /** Reads these from the disk, where another process left them. */
  reload(clusters: readonly string[]): Promise<void>;
  /** Counts changes. */
  readonly position: number;
}

/** Ask whoever has taken over. */
export class HandingOver extends Error {}

/** What can be told to all processes. */
export interface Audience {
  put(environments: EdgeEnvironment[]): Promise<void>;
  remove(clusters: string[]): Promise<void>;
}

/** Where there are more, they are forgotten, and the whole table is looked at instead. */
const changesMax = 100_000;

export function openTableKeeper(table: Table, folder: TableFolder, audience: Audience): TableKeeper {
  const lastChanges = new Map<string, Promise<unknown>>();
  const changes: string[] = [];
  let forgotten = 0;
  let isHandingOver = false;

  const oneAtATime = <T>(cluster: string, work: () => Promise<T>): Promise<T> => {
    if (isHandingOver) return Promise.reject(new HandingOver('Another process of the edge takes over just now'));
    const before = lastChanges.get(cluster);
    const change = before ? before.then(work, work) : work();
    lastChanges.set(cluster, change);
    return change.finally(() => lastChanges.get(cluster) === change && lastChanges.delete(cluster));
  };
  const note = (cluster: string) => {
    changes.push(cluster);
    if (changes.length > changesMax) forgotten += changes.splice(0, changesMax / 2).length;
  };

  const removeNow = async (cluster: string) => {
    if (!table.remove(cluster)) return false;
    note(cluster);
    await Promise.all([folder.remove(cluster), audience.remove([cluster])]);
    return true;
  };
  const remove = (cluster: string) => oneAtATime(cluster, () => removeNow(cluster));

  return {
    put: (environment) =>
      oneAtATime(environment.cluster, async () => {
        const known = table.get(environment.cluster);
        if (known && known.version >= environment.version) return false;
        await folder.write(environment);
        table.put(environment);
        note(environment.cluster);
        await audience.put([environment]);
        return true;
      }),
    remove,
    async keepOnly(clusters) {
      const others = Object.keys(table.versions()).filter((cluster) => !clusters.has(cluster));
      await Promise.all(others.map(remove));
      return others;
    },
    async handOver(from) {
      isHandingOver = true;
      await Promise.allSettled(lastChanges.values());
      return from < forgotten ? Object.keys(table.versions()) : [...new Set(changes.slice(from - forgotten))];
    },
    goOn() {
      isHandingOver = false;
    },
    async reload(clusters) {
      for (const cluster of clusters) {
        const environment = folder.read(cluster);
        table.remove(cluster);
        if (environment) table.put(environment);
        await audience.remove([cluster]);
        if (environment) await audience.put([environment]);
      }
    },
    get position() {
      return forgotten + changes.length;
    },
  };
}
