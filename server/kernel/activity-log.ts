/**
 * The log of an activity. A runner writes through `openLogWriter`, in small batches; whoever watches reads through `openLogHub`: the past from the
 * database, then what comes, which each process fetches once for all its watchers.
 */
import { sql } from 'kysely';
import { activitiesThat } from './activity-life-cycle.ts';
import { amend, type Amendments, type Lease, type LogRow } from './activity-queries.ts';
import type { Notices } from './notices.ts';
import type { Db } from './sql.ts';

const flushMilliseconds = 40;
const lineCharactersMax = 16 * 1024;
const logCharactersMax = 10 * 1024 * 1024;
const readRowsMax = 1000;

export type LogWriter = ReturnType<typeof openLogWriter>;

/** `written`: what earlier runs of the activity left. A failed flush is reported by `flush`, or by the next one. */
export function openLogWriter(db: Db, lease: Lease, written: { lines: number; characters: number }) {
  let [position, characters] = [written.lines, written.characters];
  let lines: LogRow[] = [];
  let amendments = nothingNew();
  let isDirty = false;
  let flushing = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let failure: unknown;

  const write = async () => {
    if (!isDirty) return;
    const [amended, rows] = [amendments, lines];
    [amendments, lines, isDirty] = [nothingNew(), [], false];
    await amend(db, lease, amended, rows);
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(write);
    return flushing;
  };
  const soon = () => {
    isDirty = true;
    timer ??= setTimeout(() => void flush().catch((error: unknown) => (failure = error)), flushMilliseconds);
  };

  return {
    log(text: string) {
      if (characters > logCharactersMax) return;
      for (const line of text.replace(/\n$/, '').split('\n')) {
        const kept = line.slice(0, lineCharactersMax);
        characters += kept.length;
        const isLast = characters > logCharactersMax;
        lines.push({
          position,
          at: new Date().toISOString(),
          message: storable(isLast ? 'The rest of this log is too long to keep.\n' : `${kept}\n`),
        });
        position += 1;
        if (isLast) break;
      }
      soon();
    },
    amend(change: (amendments: Amendments) => void) {
      change(amendments);
      soon();
    },
    /** All that was written so far is stored. */
    async flush() {
      await flush();
      if (failure) throw failure;
    },
    close: () => clearTimeout(timer),
  };
}

/** Commands print what they like; PostgreSQL keeps no zero bytes and no broken surrogates. */
const storable = (text: string) => text.replaceAll('\0', '').toWellFormed();

const nothingNew = (): Amendments => ({ percent: undefined, commands: [], payload: {}, timings: {} });

export const writtenSoFar = async (db: Db, id: string) => {
  const { rows } = await sql<{ lines: number; characters: number }>`
    select coalesce(max(position) + 1, 0)::int as lines, coalesce(sum(length(message)), 0)::int as characters
    from activity_log where activity_id = ${id}`.execute(db);
  return rows[0] ?? { lines: 0, characters: 0 };
};

export interface LogHub {
  /** The lines of an activity from the first on, as they come, until it has ended; then `undefined`: there will be none. */
  follow(id: string, signal: AbortSignal): AsyncGenerator<LogRow[] | undefined>;
  /** How many activities are being watched here. */
  watched(): number;
  close(): void;
}

interface Watched {
  watchers: Set<() => void>;
  /** The look that is under way, for others who wait for the same lines. */
  reading: Promise<unknown> | undefined;
  version: number;
  recent: LogRow[];
  isEnded: boolean;
}

const lookAnywaySeconds = 2;
const recentRowsMax = 500;

/**
 * A watcher that is up to date takes its lines from `recent`, which one query per process keeps up with the database; one that lags reads for itself.
 */
export function openLogHub(db: Db, notices: Pick<Notices, 'on'>): LogHub {
  const watched = new Map<string, Watched>();

  const refresh = (id: string, entry: Watched) => {
    entry.reading ??= readNews(db, id, entry).finally(() => {
      entry.reading = undefined;
      entry.version += 1;
      entry.watchers.forEach((wake) => wake());
    });
    return entry.reading;
  };
  const stopListening = notices.on('log', (id) => {
    if (id === undefined) watched.forEach((entry, each) => void refresh(each, entry).catch(() => {}));
    else {
      const entry = watched.get(id);
      /** A look that is under way may have begun too early: look again after it. */
      if (entry)
        void Promise.resolve(entry.reading)
          .then(() => refresh(id, entry))
          .catch(() => {});
    }
  });
  const timer = setInterval(() => watched.forEach((entry, id) => void refresh(id, entry).catch(() => {})), lookAnywaySeconds * 1000);
  timer.unref();

  return {
    async *follow(id, signal) {
      const entry = watched.get(id) ?? { watchers: new Set(), reading: undefined, version: 0, recent: [], isEnded: false };
      watched.set(id, entry);
      let wake = () => {};
      const onWake = () => wake();
      entry.watchers.add(onWake);
      try {
        await refresh(id, entry);
        for (let next = 0; !signal.aborted;) {
          const { version } = entry;
          const isEnded = entry.isEnded;
          const rows = linesFrom(entry.recent, next) ?? (await readRows(db, id, next));
          if (rows.length > 0) {
            yield rows;
            next = (rows.at(-1)?.position ?? next) + 1;
          } else if (isEnded) {
            yield undefined;
            return;
          } else if (version === entry.version) {
            await new Promise<void>((resolve) => {
              wake = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
        }
      } finally {
        entry.watchers.delete(onWake);
        if (entry.watchers.size === 0) watched.delete(id);
      }
    },
    watched: () => watched.size,
    close: () => {
      clearInterval(timer);
      stopListening();
    },
  };
}

/** Undefined: they are not among the recent ones. */
function linesFrom(recent: LogRow[], next: number): LogRow[] | undefined {
  const [first] = recent;
  return first && first.position <= next ? recent.slice(next - first.position) : undefined;
}

/** The state first: lines that are stored before an end cannot be missed by a look that begins after it. */
async function readNews(db: Db, id: string, entry: Watched) {
  const { rows: states } = await sql<{ is_ended: boolean }>`
    select ${activitiesThat('beQuiet')} as is_ended from activities where id = ${id}`.execute(db);
  const isEnded = states[0]?.is_ended ?? true;
  for (;;) {
    const last = entry.recent.at(-1);
    const rows = await readRows(db, id, last ? last.position + 1 : 0);
    entry.recent = [...entry.recent, ...rows].slice(-recentRowsMax);
    if (rows.length < readRowsMax) break;
  }
  entry.isEnded = isEnded;
}

export async function readRows(db: Db, id: string, from: number): Promise<LogRow[]> {
  const { rows } = await sql<LogRow>`
    select position, at, message from activity_log where activity_id = ${id} and position >= ${from}
    order by position limit ${readRowsMax}`.execute(db);
  return rows;
}

/** The whole text, for clients that do not stream. */
export async function logText(db: Db, id: string, charactersMax: number): Promise<string> {
  const { rows } = await sql<{ text: string }>`
    select left(coalesce(string_agg(message, '' order by position), ''), ${charactersMax}) as text
    from activity_log where activity_id = ${id}`.execute(db);
  return rows[0]?.text ?? '';
}
