/**
 * What the processes of one installation tell each other, through the database: that there is work, that a log has grown, that an activity is to
 * stop, that something is to wake, that something has changed, or who may see it, that what serves a project is to begin anew, or that other types are offered. A notice is only a hint to look now rather than later. When the connection was away, every listener is told that it may have missed some.
 */
import { sql } from 'kysely';
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from './log.ts';
import type { Db, Tx } from './sql.ts';

export type Topic = 'work' | 'cancel' | 'log' | 'reconcile' | 'wake' | 'delivery' | 'change' | 'rights' | 'restart' | 'catalogue';

/** `undefined`: the connection was lost, so anything may have happened meanwhile. */
type Hear = (text: string | undefined) => void;

export interface Notices {
  /** Returns how to stop listening. */
  on(topic: Topic, hear: Hear): () => void;
  close(): Promise<void>;
}

const channel = 'offshoot';
const reconnectSeconds = 1;

/** Part of the transaction, if it is one: heard when it commits, and not otherwise. */
export const notify = async (db: Db | Tx, topic: Topic, text: string): Promise<void> => {
  await sql`select pg_notify(${channel}, ${`${topic} ${text}`})`.execute(db);
};

export async function openNotices(url: string, log: Log): Promise<Notices> {
  const listeners = new Map<Topic, Set<Hear>>();
  const tell = (topic: Topic, text: string | undefined) => listeners.get(topic)?.forEach((hear) => hear(text));
  const now: { client?: pg.Client | undefined; closed: boolean } = { closed: false };

  const connect = async () => {
    const fresh = new pg.Client({ connectionString: url, application_name: 'offshoot notices', keepAlive: true });
    fresh.on('notification', ({ payload = '' }) => {
      const space = payload.indexOf(' ');
      tell(payload.slice(0, space) as Topic, payload.slice(space + 1));
    });
    fresh.on('error', () => {});
    await fresh.connect();
    await fresh.query(`listen ${channel}`);
    fresh.once('end', () => void reconnect());
    now.client = fresh;
  };

  const reconnect = async () => {
    now.client = undefined;
    while (!now.closed && now.client === undefined) {
      await sleep(reconnectSeconds * 1000, undefined, { ref: false });
      if (now.closed) return;
      await connect().then(
        () => [...listeners.keys()].forEach((topic) => tell(topic, undefined)),
        (error: unknown) => log.warn({ error }, 'the connection for notices is away'),
      );
    }
  };

  await connect();
  return {
    on: (topic, hear) => {
      const hearing = listeners.get(topic) ?? new Set();
      listeners.set(topic, hearing.add(hear));
      return () => void hearing.delete(hear);
    },
    close: async () => {
      now.closed = true;
      await now.client?.end();
    },
  };
}
