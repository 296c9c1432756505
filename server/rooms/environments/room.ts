/** Branches, and all that runs for them. */
import type { Room } from '../../kernel/room.ts';
import * as work from './activities.ts';
import * as activityOperations from './operations/activities.ts';
import * as codeOperations from './operations/code.ts';
import * as environmentOperations from './operations/environments.ts';
import * as settingsOperations from './operations/settings.ts';
import { adoptBranches, finishPushes } from './reconcilers.ts';

export { initializeActivity } from './activities.ts';
export { pushActivity } from './activities.ts';
export { changeDefaultBranch } from './change-default-branch.ts';
export { createDefaultEnvironment } from './create-environment.ts';
export { EnvironmentEntity } from './environment.ts';
export { isBranchName, machineName } from './names.ts';
export { environmentById, environmentsOf, type Environment } from './queries.ts';
export { announcePush, recordPush, shortly, type AnnouncedPush, type BranchUpdate } from './record-push.ts';

export const environments: Room = {
  name: 'Environments',
  about: 'Branches, and all that runs for them.',
  operations: { ...environmentOperations, ...codeOperations, ...settingsOperations, ...activityOperations },
  activities: work,
  reconcilers: [finishPushes, adoptBranches],
};
