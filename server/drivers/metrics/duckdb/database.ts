/** DuckDB as this store uses it: one instance within bounds, to which the file of each day is attached. */
import { DuckDBDataChunk, DuckDBInstance, type DuckDBConnection, type DuckDBType, type DuckDBValue } from '@duckdb/node-api';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Database {
  /** Whoever writes, one at a time. */
  writer: DuckDBConnection;
  /** A connection of one's own for one question, which is ended when it takes too long. */
  reading<T>(milliseconds: number, work: (connection: DuckDBConnection) => Promise<T>): Promise<T>;
  close(): void;
}

export interface DatabaseBounds {
  memoryBytes: number;
  threads: number;
  /** What sorting and grouping may put aside on the disk. */
  spillBytes: number;
}

export async function openDatabase(folder: string, { memoryBytes, threads, spillBytes }: DatabaseBounds): Promise<Database> {
  const spill = join(folder, 'spill');
  mkdirSync(spill, { recursive: true, mode: 0o700 });
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${Math.ceil(memoryBytes / 1e6)}MB`,
    threads: String(threads),
    temp_directory: spill,
    max_temp_directory_size: `${Math.ceil(spillBytes / 1e6)}MB`,
    // Whatever is asked, nothing is loaded from anywhere.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const writer = await instance.connect();
  return {
    writer,
    async reading(milliseconds, work) {
      const connection = await instance.connect();
      const timer = setTimeout(() => connection.interrupt(), milliseconds);
      try {
        // A statement is planned for the tables as they are, and left to itself it may run on what has been moved meanwhile: one transaction sees one moment.
        return await inTransaction(connection, () => work(connection));
      } finally {
        clearTimeout(timer);
        connection.closeSync();
      }
    },
    close: () => {
      writer.closeSync();
      instance.closeSync();
    },
  };
}

/** Columns by name. */
export type Columns = Record<string, readonly DuckDBValue[]>;

export async function columnsOf(connection: DuckDBConnection, sql: string, values: DuckDBValue[] = []): Promise<Columns> {
  return (await connection.run(sql, values)).getColumnsObject();
}

/** A column that holds numbers and nothing else, as the SQL makes sure. */
export const numbersIn = (columns: Columns, name: string): readonly number[] => (columns[name] ?? []) as readonly number[];
export const textsIn = (columns: Columns, name: string): readonly string[] => (columns[name] ?? []) as readonly string[];

export interface TargetTable {
  catalog: string | null;
  table: string;
  types: readonly DuckDBType[];
}

/** DuckDB takes so many rows at a time. */
const chunkRows = 2048;

/** Adds rows, given by column, within the transaction that is open. */
export async function appendColumns(connection: DuckDBConnection, target: TargetTable, columns: readonly (readonly DuckDBValue[])[]) {
  const rows = columns[0]?.length ?? 0;
  if (rows === 0) return;
  const appender = await connection.createAppender(target.table, target.catalog === null ? null : 'main', target.catalog);
  try {
    for (let from = 0; from < rows; from += chunkRows) {
      const chunk = DuckDBDataChunk.create(target.types, Math.min(chunkRows, rows - from));
      chunk.setColumns(columns.map((column) => column.slice(from, from + chunkRows)));
      appender.appendDataChunk(chunk);
    }
    appender.flushSync();
  } finally {
    appender.closeSync();
  }
}

/** All or nothing. */
export async function inTransaction<T>(connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await connection.run('begin');
  try {
    const result = await work();
    await connection.run('commit');
    return result;
  } catch (error) {
    await connection.run('rollback').catch(() => {});
    throw error;
  }
}
