/**
 * What must stay true, made so again and again: a reconciler takes no input, compares what should be with what is, and mends the difference.
 * It runs from time to time and when nudged, in one process at a time.
 */
import { sql } from 'kysely';
import type { Platform } from '../platform.ts';
import { limit } from './limits.ts';
import { notify } from './notices.ts';
import { countRun } from './own-instruments.ts';
import type { Db, Tx } from './sql.ts';

export interface Reconciler {
  name: string;
  everySeconds: number;
  /** Whether it touches the machine, which one process has; the others leave it to that one. */
  usesMachine?: boolean;
  /** Whether it waits for something far away, which may take hours: only some of these run at once, so that the others have their turns meanwhile. */
  isSlow?: boolean;
  run(platform: Platform, signal: AbortSignal): Promise<void>;
  /** Waits for the end of what it began and did not wait for; the signal is aborted by then. */
  close?(platform: Platform): Promise<void>;
}

/** Asks for a look now, when the transaction commits. */
export const nudge = (db: Db | Tx, reconciler: Reconciler): Promise<void> => notify(db, 'reconcile', reconciler.name);

/** A reconciler holds a connection of the pool while it runs, and needs others; at a start all of them want to run. */
const atOnceMax = 3;
const slowAtOnceMax = 1;

export function startReconcilers(reconcilers: readonly Reconciler[], platform: Platform, hasMachine: () => boolean = () => true) {
  const stop = new AbortController();
  const [anyLimit, slowLimit] = [limit(atOnceMax), limit(slowAtOnceMax)];
  const started = reconcilers.map((reconciler) => {
    const withinLimit: WithinLimit = (work) => (reconciler.isSlow ? slowLimit(() => anyLimit(work)) : anyLimit(work));
    const isOurs = () => !reconciler.usesMachine || hasMachine();
    const mayLook: WithinLimit = (work) => withinLimit(async () => void (isOurs() && (await work())));
    return { usesMachine: reconciler.usesMachine, ...startReconciler(reconciler, platform, mayLook, stop.signal) };
  });
  return {
    /** The machine has become ours: what uses it is not to wait for its next regular look. */
    onMachineOurs: () => {
      for (const { look, usesMachine } of started) if (usesMachine) void look();
    },
    close: async () => {
      stop.abort();
      await Promise.all(started.map(({ close }) => close()));
    },
  };
}

type WithinLimit = (work: () => Promise<void>) => Promise<void>;

function startReconciler(reconciler: Reconciler, platform: Platform, withinLimit: WithinLimit, signal: AbortSignal) {
  const { notices, log } = platform;
  let looking: Promise<void> | undefined;
  let again = false;

  const once = async () => {
    try {
      // Whose turn comes only when the platform stops does not begin any more.
      await withinLimit(async () => {
        if (!signal.aborted) await alone(platform.db, reconciler.name, () => countRun(platform, reconciler, signal));
      });
    } catch (error) {
      if (!signal.aborted) log.error({ error, reconciler: reconciler.name }, 'a reconciler failed; it is tried again at its next turn');
    }
  };
  /** A nudge during a look asks for another one after it. */
  const look = (): Promise<void> => {
    again = true;
    looking ??= (async () => {
      while (again && !signal.aborted) {
        again = false;
        await once();
      }
      looking = undefined;
    })();
    return looking;
  };

  const timer = setInterval(() => void look(), reconciler.everySeconds * 1000);
  const stopListening = notices.on('reconcile', (name) => {
    if (name === undefined || name === reconciler.name) void look();
  });
  void look();
  return {
    look,
    close: async () => {
      clearInterval(timer);
      stopListening();
      await looking;
      await reconciler.close?.(platform);
    },
  };
}

/** Does something that must not be done while the reconciler runs in any process: waits for its end, and keeps it from running meanwhile. */
export const withoutReconciler = (db: Db, { name }: Reconciler, work: () => Promise<void>): Promise<void> =>
  db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${lockOf(name)})`.execute(connection);
    try {
      await work();
    } finally {
      await sql`select pg_advisory_unlock(${lockOf(name)})`.execute(connection);
    }
  });

const lockOf = (name: string) => sql`hashtextextended(${`reconciler ${name}`}, 0)`;

/** While one process runs a reconciler, the others leave it to that one: the lock lives on a connection of its own, and ends with it. */
const alone = (db: Db, name: string, work: () => Promise<void>): Promise<void> =>
  db.connection().execute(async (connection) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_lock(${lockOf(name)}) as mine`.execute(connection);
    if (!rows[0]?.mine) return;
    try {
      await work();
    } finally {
      await sql`select pg_advisory_unlock(${lockOf(name)})`.execute(connection);
    }
  });
