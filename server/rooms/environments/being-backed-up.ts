import { sql } from 'kysely';
import { backupsThat } from '../backups/life-cycle.ts';

/** Of rows in `backups`: somebody is at work on it, or was until a moment ago. What has come to its end can be restored, or was found damaged, or goes. */
export const isBeingMade = backupsThat('finish');

/** Of rows in `environments`: also one that waits for what happens there before. */
export const isBeingBackedUp = sql<boolean>`(exists (select from backups
    where backups.project_id = environments.project_id and backups.environment_id = environments.id and ${isBeingMade})
  or exists (select from activity_lanes join activities on activities.id = activity_lanes.activity_id
    where activity_lanes.project_id = environments.project_id and activity_lanes.lane = environments.id and activity_lanes.is_open
      and activities.type = 'environment.backup'))`;
