/** Branches, and all that runs for them. */
// First: deployments lead to variables, and those to this room again, for this.
export { EnvironmentEntity } from './environment.ts';
import type { Room } from '../../kernel/room.ts';
import * as work from './activities.ts';
import * as activityOperations from './operations/activities.ts';
import * as codeOperations from './operations/code.ts';
import * as deploymentOperations from './operations/deployments.ts';
import * as environmentOperations from './operations/environments.ts';
import * as runningOperations from './operations/running.ts';
import * as settingsOperations from './operations/settings.ts';
import * as running from './running-activities.ts';
import { adoptBranches, finishPushes } from './reconcilers.ts';

export { initializeActivity, pushActivity } from './activities.ts';
export { deployBranch } from './deploy-branch.ts';
export { changeDefaultBranch } from './change-default-branch.ts';
export { createDefaultEnvironment } from './create-environment.ts';
export { isBranchName, machineName } from './names.ts';
export { environmentById, environmentsOf, type Environment } from './queries.ts';
export { announcePush, recordPush, shortly, type AnnouncedPush, type BranchUpdate } from './record-push.ts';

export const environments: Room = {
  name: 'Environments',
  about: 'Branches, and all that runs for them.',
  operations: {
    ...environmentOperations,
    ...codeOperations,
    ...runningOperations,
    ...deploymentOperations,
    ...settingsOperations,
    ...activityOperations,
  },
  activities: { ...work, ...running },
  reconcilers: [finishPushes, adoptBranches],
};
