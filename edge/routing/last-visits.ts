/**
 * How long ago each environment was last asked for something, so that those that nobody visits can be sent to sleep. Only what had to be answered by the
 * environment counts: whoever may not enter, or is led elsewhere, keeps nobody awake. What is under way counts until it ends, however long it takes.
 */
import type { Table } from './routing.ts';

export interface LastVisits {
  /** How long all visits have been noted: an environment that is not named was not visited in that time. */
  known_seconds: number;
  /** By cluster; 0 while a request is under way. */
  seconds_ago: Record<string, number>;
}

export class VisitsNoted {
  readonly #since = performance.now();
  readonly #underWay = new Map<string, number>();
  readonly #lastEnd = new Map<string, number>();

  /** Only those in the table are remembered. */
  constructor(table: Table) {
    table.onChange((cluster, environment) => {
      if (!environment) this.#lastEnd.delete(cluster);
    });
  }

  begin(cluster: string) {
    this.#underWay.set(cluster, (this.#underWay.get(cluster) ?? 0) + 1);
  }

  end(cluster: string) {
    const left = (this.#underWay.get(cluster) ?? 1) - 1;
    if (left > 0) this.#underWay.set(cluster, left);
    else this.#underWay.delete(cluster);
    this.#lastEnd.set(cluster, performance.now());
  }

  told(): LastVisits {
    const now = performance.now();
    const seconds = (moment: number) => (now - moment) / 1000;
    const ended = [...this.#lastEnd].map(([cluster, moment]) => [cluster, seconds(moment)] as const);
    const going = [...this.#underWay.keys()].map((cluster) => [cluster, 0] as const);
    return { known_seconds: seconds(this.#since), seconds_ago: Object.fromEntries([...ended, ...going]) };
  }
}

/** Merges what all processes know: the last visit to any of them. Where a process is new, what the one before it knew is lost. */
export function visitsOfAll(all: readonly LastVisits[]): LastVisits {
  const seconds_ago: Record<string, number> = {};
  for (const { seconds_ago: its } of all)
    for (const [cluster, seconds] of Object.entries(its)) seconds_ago[cluster] = Math.min(seconds, seconds_ago[cluster] ?? Infinity);
  const known_seconds = all.length === 0 ? 0 : Math.min(...all.map((its) => its.known_seconds));
  return { known_seconds, seconds_ago };
}
