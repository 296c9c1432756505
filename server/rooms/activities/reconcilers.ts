import type { Reconciler } from '../../kernel/reconciler.ts';
import { deleteExpired } from './queries.ts';

const keptPerProject = 100;
const atOnceMax = 1000;

/** Activities that have been listed long enough disappear, with their logs. */
export const expireActivities: Reconciler = {
  name: 'expire activities',
  everySeconds: 600,
  run: async ({ db }) => void (await deleteExpired(db, keptPerProject, atOnceMax)),
};
