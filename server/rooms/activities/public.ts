/** What other rooms may use of activities: the entity and its lists, sentences that tell of a change, and who made it. */
export { ActivityEntity, changed } from './activity.ts';
export type { ListedActivity } from './listed-activity.ts';
export { activitiesWith, activityById } from './queries.ts';
export { cancelActivity, cannotBeCancelled, isCancellable } from './cancel-activity.ts';
export { ActivityQuery, countOf, listActivities, untilOf } from './list-activities.ts';
export { logLines, LogQuery, logType } from './log-lines.ts';
export { actorById, actorOf, type Actor } from './actor.ts';
export { environment, person, sentence, strong, variable } from './sentence.ts';
