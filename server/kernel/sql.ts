/**
 * The database: Kysely on node-postgres, with every parameterised statement prepared by name on its connection, which halves the CPU of a
 * request. Times come as text with microseconds, because a JavaScript Date would lose them.
 */
import { type DatabaseConnection, Kysely, PostgresDialect, type PostgresDialectConfig, PostgresDriver, type Transaction } from 'kysely';
import pg from 'pg';
import type { Database } from '../database.ts';
import { commitWithCompanion } from './before-commit.ts';
import { Problem } from './problem.ts';

export type Db = Kysely<Database>;
export type Tx = Transaction<Database>;

const connectionsMax = 8;
const connectSecondsMax = 10;
const statementSecondsMax = 30;

/** `2026-01-31 12:00:00.5+00`, as PostgreSQL writes it in UTC, to `2026-01-31T12:00:00.500000+00:00`. */
export const timeFromText = (text: string) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}+00:00`;

const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, timeFromText);
/** A day of the calendar, `2026-01-31`, is no moment. */
types.setTypeParser(pg.types.builtins.DATE, (day: string) => day);

const statementNamesMax = 1000;
const statementNames = new Map<string, string>();

function statementName(text: string) {
  const known = statementNames.get(text);
  if (known || statementNames.size >= statementNamesMax) return known;
  const name = `s${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

class PreparingClient extends pg.Client {
  override query(...args: any[]): any {
    const [text, values] = args;
    if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return super.query(...(args as [any]));
    const name = statementName(text);
    return super.query({ ...(name && { name }), text, values }, ...args.slice(2));
  }
}

export function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    Client: PreparingClient,
    max: connectionsMax,
    connectionTimeoutMillis: connectSecondsMax * 1000,
    statement_timeout: statementSecondsMax * 1000,
    options: '-c timezone=UTC -c datestyle=ISO',
    application_name: 'offshoot',
    types,
  });
  /** A connection that breaks is replaced on the next use; a query under way reports the failure itself. */
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const pools = new WeakMap<Db, pg.Pool>();

class CommittingDriver extends PostgresDriver {
  override commitTransaction(connection: DatabaseConnection): Promise<void> {
    return commitWithCompanion(connection, () => super.commitTransaction(connection));
  }
}

class CommittingDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  constructor(config: PostgresDialectConfig) {
    super(config);
    this.#config = config;
  }
  override createDriver() {
    return new CommittingDriver(this.#config);
  }
}

export function openDatabase(pool: pg.Pool): Db {
  const db: Db = new Kysely<Database>({ dialect: new CommittingDialect({ pool }) });
  pools.set(db, pool);
  return db;
}

/** How many connections there are, how many of them nobody uses just now, and who waits for one. */
export function connectionsOf(db: Db): { open: number; idle: number; waiting: number; most: number } | undefined {
  const pool = pools.get(db);
  return pool && { open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount, most: connectionsMax };
}

/** Errors that say nothing about the statement, only that PostgreSQL is not there, is starting or stopping, or has no connection left. */
const unavailableCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', '57P01', '57P02', '57P03', '53300', '08006']);
const unavailableMessages = /^(Connection terminated|timeout exceeded when trying to connect)/;

export const isDatabaseAway = (error: unknown) =>
  error instanceof Error && (unavailableCodes.has((error as { code?: string }).code ?? '') || unavailableMessages.test(error.message));

const uniqueViolation = '23505';
const foreignKeyViolation = '23503';
const exclusionViolation = '23P01';

/** The database decides who was first; the sentence for the other is found by the constraint that was in the way. */
export async function orConflict<T>(work: Promise<T>, sentences: Record<string, string>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code, constraint = '' } = error as { code?: string; constraint?: string };
    const sentence = code === uniqueViolation || code === exclusionViolation ? sentences[constraint] : undefined;
    throw sentence ? new Problem('conflict', sentence) : error;
  }
}

/** Like `orConflict`, where the constraint may also be a foreign key (what is referred to is gone, or still in use), and the answer need not be 409. */
export async function orProblem<T>(work: Promise<T>, problems: Record<string, () => Problem>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code, constraint = '' } = error as { code?: string; constraint?: string };
    const problem = code === uniqueViolation || code === foreignKeyViolation ? problems[constraint] : undefined;
    throw problem ? problem() : error;
  }
}
