/** Branches, and all that runs for them. */
export { EnvironmentEntity } from './environment.ts';
import type { Room } from '../../kernel/room.ts';
import * as work from './activities.ts';
import * as activityOperations from './operations/activities.ts';
import * as codeOperations from './operations/code.ts';
import * as deploymentOperations from './operations/deployments.ts';
import * as environmentOperations from './operations/environments.ts';
import * as maintenanceOperations from './operations/maintenance.ts';
import * as projectSettingsOperations from './operations/project-settings.ts';
import * as rollbackOperations from './operations/rollback.ts';
import * as runningOperations from './operations/running.ts';
import * as settingsOperations from './operations/settings.ts';
import { updateResourcesActivity } from './change-resources.ts';
import { pauseForgottenPreviews } from './pause-forgotten.ts';
import * as running from './running-activities.ts';
import { adoptBranches, finishPushes, forgetUnmade } from './reconcilers.ts';

export { initializeActivity, pushActivity } from './activities.ts';
export { isBeingBackedUp, isBeingMade } from './being-backed-up.ts';
export { concernedBy, deployBranch } from './deploy-branch.ts';
export { changeDefaultBranch } from './change-default-branch.ts';
export { createDefaultEnvironment, createEnvironment } from './create-environment.ts';
export { makeBranch } from './make-branch.ts';
export { isBranchName, machineName } from './names.ts';
export { environmentById, environmentByMachineName, environmentsOf, lockTree, type Environment } from './queries.ts';
export { readSshName, sshDestinations, sshPermission, type SshDestination } from './ssh-names.ts';
export { pushCommits } from './push-commits.ts';
export { startRebuild } from './start-rebuild.ts';
export { startRollback } from './start-rollback.ts';
export { announcePush, recordPush, shortly, type AnnouncedPush, type BranchUpdate } from './record-push.ts';

export const environments: Room = {
  name: 'Environments',
  about: 'Branches, and all that runs for them.',
  operations: {
    ...environmentOperations,
    ...codeOperations,
    ...runningOperations,
    ...rollbackOperations,
    ...maintenanceOperations,
    ...deploymentOperations,
    ...settingsOperations,
    ...projectSettingsOperations,
    ...activityOperations,
  },
  activities: { ...work, ...running, updateResourcesActivity },
  reconcilers: [finishPushes, adoptBranches, forgetUnmade, pauseForgottenPreviews],
};
