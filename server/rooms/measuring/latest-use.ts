/**
 * What each environment uses and holds now: a row each, written over once a minute from looks that are taken anyway. Whoever shows all environments of a
 * project reads these rows, and asks neither the file system nor the store of measurements.
 */
import { sql } from 'kysely';
import type { SampleRecord, Scope } from '../../drivers/metrics/metrics.ts';
import type { ContainerStatistics } from '../../drivers/runtime/runtime.ts';
import type { Db } from '../../kernel/sql.ts';

export interface EnvironmentUse extends Scope {
  /** Processors, over the time since it was last written down. */
  cpuUsed: number;
  memoryBytes: number;
  /** Null: it has no volumes, or nobody counts what is in them. */
  dataBytes: number | null;
  /** What of its data nobody else holds. */
  ownBytes: number | null;
}

interface Counted extends Scope {
  cpuSeconds: number;
  /** By container, as it was looked at last. */
  memoryBytes: Map<string, number>;
  dataBytes: number | null;
  ownBytes: number | null;
}

export type UseTally = ReturnType<typeof openUseTally>;

/** Counts what is seen of containers and volumes until somebody takes the sums. */
export function openUseTally() {
  let counted = new Map<string, Counted>();
  let since: number | undefined;
  const of = ({ project, environment }: Scope): Counted => {
    const key = `${project} ${environment}`;
    const found = counted.get(key) ?? { project, environment, cpuSeconds: 0, memoryBytes: new Map(), dataBytes: null, ownBytes: null };
    counted.set(key, found);
    return found;
  };
  return {
    countContainer(owner: Scope, { name, memoryBytes, at }: ContainerStatistics, samples: readonly SampleRecord[]) {
      since ??= at.getTime();
      const own = of(owner);
      own.memoryBytes.set(name, memoryBytes);
      for (const { cpuUsed, seconds } of samples) own.cpuSeconds += cpuUsed * seconds;
    },
    /** Of a volume that was cloned, the file system may count as its own what it removed and a clone still has. */
    countVolume(owner: Scope, bytes: number, exclusiveBytes: number) {
      const own = of(owner);
      own.dataBytes = (own.dataBytes ?? 0) + bytes;
      own.ownBytes = (own.ownBytes ?? 0) + Math.min(bytes, exclusiveBytes);
    },
    take(now: Date): EnvironmentUse[] {
      const seconds = Math.max(1, (now.getTime() - (since ?? now.getTime())) / 1000);
      const uses = [...counted.values()].map(({ cpuSeconds, memoryBytes, ...own }) => ({
        ...own,
        cpuUsed: cpuSeconds / seconds,
        memoryBytes: [...memoryBytes.values()].reduce((sum, bytes) => sum + bytes, 0),
      }));
      counted = new Map();
      since = now.getTime();
      return uses;
    },
  };
}

/** One statement for all of them. An environment that was deleted meanwhile has no row. */
export async function noteUse(db: Db, uses: readonly EnvironmentUse[], at: Date): Promise<void> {
  if (uses.length === 0) return;
  await sql`insert into environment_use (project_id, machine_name, measured_at, cpu_used, memory_bytes, data_bytes, own_bytes)
    select environments.project_id, environments.machine_name, ${at.toISOString()}::timestamptz,
      noted."cpuUsed", noted."memoryBytes", noted."dataBytes", noted."ownBytes"
    from jsonb_to_recordset(${JSON.stringify(uses)}::jsonb) as noted (project text, environment text, "cpuUsed" double precision,
      "memoryBytes" numeric, "dataBytes" numeric, "ownBytes" numeric)
    join environments on environments.project_id = noted.project and environments.machine_name = noted.environment
    on conflict (project_id, machine_name) do update set measured_at = excluded.measured_at, cpu_used = excluded.cpu_used,
      memory_bytes = excluded.memory_bytes, data_bytes = excluded.data_bytes, own_bytes = excluded.own_bytes`.execute(db);
}
