/** Limits that the projects of this process share, by owner and organization (kernel/fair-limit.ts). */
import { fairLimit, withReserve, type Asking } from '../../kernel/fair-limit.ts';
import type { Activity, Work } from '../../kernel/activity.ts';
import type { Db } from '../../kernel/sql.ts';
import { partiesOf } from './queries.ts';

/** The activity that asks for a place: production comes first, and while it waits, the runner does something else. */
export interface Asker {
  activity: Pick<Activity, 'is_urgent'>;
  wait: Work<unknown>['wait'];
}

type Waiting = Pick<Asking, 'signal' | 'onWait' | 'most'>;

export type ProjectLimit = <T>(db: Db, projectId: string, asker: Asker, waiting: Waiting, work: () => Promise<T>) => Promise<T>;

/** `most` is the number of places that one organization can have; a reserve for others comes on top (`withReserve`). */
export function projectLimit(most: number): ProjectLimit {
  const places = fairLimit(withReserve(most));
  return async (db, projectId, { activity, wait }, waiting, work) => {
    const parties = await partiesOf(db, projectId);
    const leave = await wait(places.enter({ ...waiting, parties, part: projectId, isUrgent: activity.is_urgent }));
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
