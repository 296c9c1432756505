/** Changes to projects, under way and done. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { expireActivities } from './reconcilers.ts';

export { ActivityEntity, changed } from './activity.ts';
export type { ListedActivity } from './listed-activity.ts';
export { activitiesWith, activityById } from './queries.ts';
export { cancelActivity, cannotBeCancelled, isCancellable } from './cancel-activity.ts';
export { ActivityQuery, listActivities } from './list-activities.ts';
export { logLines, LogQuery, logType } from './log-lines.ts';
export { actorById, actorOf, type Actor } from './actor.ts';
export { environment, person, sentence, strong, variable } from './sentence.ts';

export const activities: Room = {
  name: 'Activities',
  about: 'Changes to projects, under way and done.',
  operations,
  reconcilers: [expireActivities],
};
