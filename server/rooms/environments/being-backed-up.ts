import { sql } from 'kysely';
import { backupsThat } from '../backups/life-cycle.ts';

/** A condition on rows in `backups`: the backup is being made, or was until a moment ago. A finished one can be restored, was found damaged, or is being deleted. */
export const isBeingMade = backupsThat('finish');

/** A condition on rows in `environments`: a backup of it is being made, or waits for other activities of the environment. */
export const isBeingBackedUp = sql<boolean>`(exists (select from backups
    where backups.project_id = environments.project_id and backups.environment_id = environments.id and ${isBeingMade})
  or exists (select from activity_lanes join activities on activities.id = activity_lanes.activity_id
    where activity_lanes.project_id = environments.project_id and activity_lanes.lane = environments.id and activity_lanes.is_open
      and activities.type = 'environment.backup'))`;
