/** Branches, and all that runs for them. */

import type { Room } from '../../kernel/room.ts';
import * as work from './activities.ts';
import * as activityOperations from './operations/activities.ts';
import * as codeOperations from './operations/code.ts';
import * as deploymentOperations from './operations/deployments.ts';
import * as earlierDeploymentOperations from './operations/earlier-deployments.ts';
import * as environmentOperations from './operations/environments.ts';
import * as projectSettingsOperations from './operations/project-settings.ts';
import * as settingsOperations from './operations/settings.ts';
import { maintenanceRedeployProject, verbOperations } from './operations/verbs.ts';
import { updateResourcesActivity } from './change-resources.ts';
import { followSuspensions } from './follow-suspensions.ts';
import { pauseForgottenPreviews } from './pause-forgotten.ts';
import * as running from './running-activities.ts';
import { adoptBranches, finishPushes, forgetUnmade } from './reconcilers.ts';

export const environments: Room = {
  name: 'Environments',
  about: 'Branches, and all that runs for them.',
  operations: {
    ...environmentOperations,
    ...codeOperations,
    ...verbOperations,
    ...earlierDeploymentOperations,
    maintenanceRedeployProject,
    ...deploymentOperations,
    ...settingsOperations,
    ...projectSettingsOperations,
    ...activityOperations,
  },
  activities: { ...work, ...running, updateResourcesActivity },
  reconcilers: [finishPushes, adoptBranches, forgetUnmade, pauseForgottenPreviews, followSuspensions],
};
