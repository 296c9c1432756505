/** Which caches builds of a project use: one for all of its environments but those of forks, each of which has its own. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import { lineOf } from '../variables/public.ts';
import { cacheNameOf } from './slugs.ts';

/** The names of the build caches that projects use now: one for each, and one for each of its environments of forks. */
export const currentCaches = async (db: Db, projectIds: readonly string[]): Promise<Set<string>> => {
  const { rows } = await sql<{ id: string; build_cache_generation: number; fork: string | null }>`
    select projects.id, build_cache_generation, forks.fork
    from projects cross join lateral (
      select null as fork union all select environments.id from environments where project_id = projects.id and is_from_fork) as forks
    where projects.id = any(${projectIds}) and projects.status <> 'deleted'`.execute(db);
  return new Set(rows.map(({ id, build_cache_generation, fork }) => cacheNameOf(id, build_cache_generation, fork ?? undefined)));
};

/** The environment of a fork whose code this one has: itself, or one that it was branched from. Undefined for all others. */
export const forkOf = async (db: Db, projectId: string, environmentId: string): Promise<string | undefined> => {
  const { rows } = await sql<{ id: string }>`
    with ${lineOf(projectId, environmentId)}
    select line.id from line join environments on environments.project_id = ${projectId} and environments.id = line.id
    where environments.is_from_fork order by line.distance limit 1`.execute(db);
  return rows[0]?.id;
};
