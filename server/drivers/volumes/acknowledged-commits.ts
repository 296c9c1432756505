/** A PostgreSQL on a volume under write load, for tests and benches: clients that remember every commit they were told of. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

const clients = 4;

export interface WriteLoad {
  /** The commits acknowledged so far. */
  acknowledged(): number[];
  stop(): Promise<void>;
}

export async function startWriteLoad(url: string): Promise<WriteLoad> {
  await query(url, 'create table if not exists commits (id bigint primary key, filler text)');
  const acknowledged: number[] = [];
  let next = 0;
  const stopping = new AbortController();
  const write = async () => {
    const client = new Client(url);
    await client.connect();
    while (!stopping.signal.aborted) {
      const id = (next += 1);
      await client.query('insert into commits values ($1, repeat($2, 200))', [id, 'x']);
      acknowledged.push(id);
    }
    await client.end();
  };
  const writers = Promise.all(Array.from({ length: clients }, write));
  while (acknowledged.length < 50) await Promise.race([writers, sleep(5)]);
  return {
    acknowledged: () => [...acknowledged],
    stop: async () => {
      stopping.abort();
      await writers;
    },
  };
}

/** The commits that should be in the database and are not. */
export async function missingCommits(url: string, acknowledged: readonly number[]): Promise<number[]> {
  const present = new Set((await query(url, 'select id from commits')).map(({ id }) => Number(id)));
  return acknowledged.filter((id) => !present.has(id));
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
