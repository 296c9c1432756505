/**
 * How many builds there are at once. An organization alone has as many as leave most of the machine to what runs there; whoever comes beside it finds one more, so that nobody
 * waits for the builds of one other, however long those take.
 */
import { availableParallelism } from 'node:os';
import type { Db } from '../../kernel/sql.ts';
import { projectLimit, type Asker } from '../projects/public.ts';
import { buildsMaxOf } from './queries.ts';

const limit = projectLimit(Math.max(2, Math.floor(availableParallelism() / 2)));

/** Waits until there is room for the build. */
export async function withinBuildLimit<T>(
  db: Db,
  projectId: string,
  asker: Asker,
  waiting: { signal: AbortSignal; onWait: () => void },
  build: () => Promise<T>,
): Promise<T> {
  const most = await buildsMaxOf(db, projectId);
  return limit(db, projectId, asker, { ...waiting, most }, build);
}
