/**
 * Counts how often containers were started again, and how often the kernel killed something in them for want of memory. The machine tells totals; what is written down is
 * what came on top since the last look, also of one before the platform was off.
 */
import { sql } from 'kysely';
import type { ContainerState, ContainerStatistics } from '../../drivers/runtime/runtime.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { openOwners, type Owner } from '../deployments/public.ts';
import { incidentSeconds, type Incident } from './sources.ts';

/** Costs two statements and two looks at the machine; more only where something happened, or containers came and went. */
export const noteRestarts: Reconciler = {
  name: 'note restarts',
  everySeconds: 30,
  usesMachine: true,
  run: async ({ db, machine }) => {
    const { runtime } = await machine();
    const [states, statistics] = [await runtime.list(), await runtime.statistics()];
    const owners = await ownersOn(db)(states.map(({ name }) => name));
    const before = await countsBefore(db);
    const now = countsOf(states, statistics);
    // What happened before anybody counted is not news.
    const news = before.size === 0 ? [] : [...now.values()].flatMap((counts) => happenedTo(counts, before.get(counts.container)));
    const incidents = news.flatMap(({ container, ...incident }) => {
      const owner = owners.ofContainer(container);
      return owner ? [{ ...incident, owner }] : [];
    });
    await store(db, [...now.values()], before, incidents);
  },
};

const ownersOn = stateOf<Db, ReturnType<typeof openOwners>>(openOwners);

interface Counts {
  container: string;
  started_at: string | null;
  restarts: number;
  out_of_memory_kills: number;
  /** Whether it ended the last time because it ran out of memory. */
  ranOut?: boolean;
}

function countsOf(states: readonly ContainerState[], statistics: readonly ContainerStatistics[]): Map<string, Counts> {
  const kills = new Map(statistics.map(({ name, outOfMemoryKills }) => [name, outOfMemoryKills]));
  return new Map(
    states.map(({ name, startedAt, restarts, exit }) => [
      name,
      {
        container: name,
        started_at: startedAt?.toISOString() ?? null,
        restarts,
        out_of_memory_kills: kills.get(name) ?? 0,
        ranOut: exit?.outOfMemory ?? false,
      },
    ]),
  );
}

type Happened = Pick<Incident, 'kind' | 'count'> & { container: string };

/** A number that is lower than before counts from nothing: the container, or what counts for it, began anew. */
const growth = (now: number, before: number) => (now >= before ? now - before : now);

export function happenedTo(
  { container, restarts, out_of_memory_kills: kills, ranOut, started_at }: Counts,
  before: Counts | undefined,
): Happened[] {
  const again = growth(restarts, before?.restarts ?? 0);
  const isSame = before?.started_at === started_at;
  const killed = Math.max(growth(kills, isSame ? (before?.out_of_memory_kills ?? 0) : 0), again > 0 && ranOut ? 1 : 0);
  return [
    ...(again > 0 ? [{ kind: 'restart' as const, count: again, container }] : []),
    ...(killed > 0 ? [{ kind: 'out of memory' as const, count: killed, container }] : []),
  ];
}

async function countsBefore(db: Db): Promise<Map<string, Counts>> {
  const rows = await db.selectFrom('health_counts').selectAll().execute();
  return new Map(rows.map((row) => [row.container, { ...row, started_at: row.started_at && new Date(row.started_at).toISOString() }]));
}

type Noted = Pick<Incident, 'kind' | 'count'> & { owner: Owner };

async function store(db: Db, now: readonly Counts[], before: ReadonlyMap<string, Counts>, incidents: readonly Noted[]): Promise<void> {
  const changed = now.filter((counts) => !isAsBefore(counts, before.get(counts.container)));
  const there = new Set(now.map(({ container }) => container));
  const gone = [...before.keys()].filter((container) => !there.has(container));
  if (changed.length === 0 && gone.length === 0) return;
  await db.transaction().execute(async (tx) => {
    if (gone.length > 0) await tx.deleteFrom('health_counts').where('container', 'in', gone).execute();
    await keepCounts(tx, changed);
    await keepIncidents(tx, incidents);
  });
}

const isAsBefore = ({ started_at, restarts, out_of_memory_kills }: Counts, before: Counts | undefined) =>
  before?.started_at === started_at && before.restarts === restarts && before.out_of_memory_kills === out_of_memory_kills;

const keepCounts = (tx: Tx, changed: readonly Counts[]) =>
  sql`
  insert into health_counts (container, started_at, restarts, out_of_memory_kills)
  select container, started_at, restarts, out_of_memory_kills
  from jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) as changed (container text, started_at timestamptz, restarts integer, out_of_memory_kills integer)
  on conflict (container) do update set started_at = excluded.started_at, restarts = excluded.restarts, out_of_memory_kills = excluded.out_of_memory_kills`.execute(
    tx,
  );

async function keepIncidents(tx: Tx, incidents: readonly Noted[]): Promise<void> {
  await sql`delete from health_incidents where at < now() - make_interval(secs => ${incidentSeconds})`.execute(tx);
  if (incidents.length === 0) return;
  const at = sql<string>`now()`;
  await tx
    .insertInto('health_incidents')
    .values(
      incidents.map(({ kind, count, owner }) => ({
        project_id: owner.project,
        machine_name: owner.environment,
        kind,
        service: owner.service,
        count,
        at,
      })),
    )
    .execute();
}
