/** The durable work on a project as a whole. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { activity } from '../../kernel/activity.ts';

/** Raising the generation gives the next build an empty cache; the old cache is removed when nobody uses it (rooms/builds/cache.ts). */
export const clearBuildCacheActivity = activity({
  type: 'project.clear_build_cache',
  queue: 'default',
  input: Type.Object({}),
  run: async ({ activity: { project_id }, record, log }) => {
    await record('clear', async (tx) => {
      await sql`update projects set build_cache_generation = build_cache_generation + 1 where id = ${project_id}`.execute(tx);
    });
    log('The build cache is empty; the next build of each environment starts afresh');
  },
});
