/**
 * Places to build in. An organization alone has as many as leave most of the machine to what runs there; whoever comes beside it finds one more, so that nobody
 * waits for the builds of one other, however long those take.
 */
import { availableParallelism } from 'node:os';
import type { Db } from '../../kernel/sql.ts';
import { openProjectPlaces, type Asker } from '../projects/public.ts';
import { buildsMaxOf } from './queries.ts';

const places = openProjectPlaces(Math.max(2, Math.floor(availableParallelism() / 2)));

/** Has a place while `build` lasts. */
export async function inBuildPlace<T>(
  db: Db,
  projectId: string,
  asker: Asker,
  waiting: { signal: AbortSignal; onWait: () => void },
  build: () => Promise<T>,
): Promise<T> {
  const most = await buildsMaxOf(db, projectId);
  return places(db, projectId, asker, { ...waiting, most }, build);
}
