/** Ending an activity: at once while nobody has begun it, otherwise by asking its runner, which undoes what was done. */
import { activityLife } from '../../kernel/activity-life-cycle.ts';
import { askToCancel, cancelWaiting } from '../../kernel/activity-queries.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { changed } from './activity.ts';
import { listed, type ListedActivity } from './listed-activity.ts';

/** The status is 400, because clients look for it. */
export const cannotBeCancelled = new Problem('invalid-request', activityLife.otherwise('complete', 'cancel'));

/** An activity that has begun can be cancelled only if its type allows it and it is not already ending. */
export const isCancellable = ({ state, is_cancellable, is_undoing, cancel_requested_at }: ListedActivity) =>
  activityLife.possible(state, 'cancel') &&
  (activityLife.possible(state, 'wait') || (is_cancellable && !is_undoing && cancel_requested_at === null));

export const cancelActivity = async (db: Db, { id, organization_id }: ListedActivity): Promise<Changed<ListedActivity>> => {
  const row = await db.transaction().execute(async (tx) => (await cancelWaiting(tx, id)) ?? (await askToCancel(tx, id)));
  if (!row) throw cannotBeCancelled;
  return changed(listed({ ...row, organization_id }), organization_id, row);
};
