/** `GET /health`, for load balancers, monitors and whoever starts the platform: whether this process answers and has its database. It needs no token and tells nothing else. */
import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { sendJson } from './errors.ts';
import type { Db } from './sql.ts';

export const healthPath = '/health';
/** Less than the usual patience of those who ask. */
const databaseMillisecondsMax = 3000;
/** However often it is asked, the database is asked once in this time. */
const keptMilliseconds = 500;

export function serveHealth(http: FastifyInstance, db: Db) {
  let asked: { at: number; isThere: Promise<boolean> } | undefined;
  const hasDatabase = () => {
    if (asked === undefined || performance.now() - asked.at > keptMilliseconds) asked = { at: performance.now(), isThere: answers(db) };
    return asked.isThere;
  };
  http.get(healthPath, async (_request, reply) => {
    const isHealthy = await hasDatabase();
    return sendJson(
      reply.code(isHealthy ? 200 : 503).header('cache-control', 'no-store'),
      JSON.stringify(isHealthy ? { status: 'ok' } : { status: 'unavailable', detail: 'The database does not answer.' }),
    );
  });
}

function answers(db: Db): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), databaseMillisecondsMax);
  sql`select 1`
    .execute(db)
    .then(
      () => resolve(true),
      () => resolve(false),
    )
    .finally(() => clearTimeout(timer));
  return promise;
}
