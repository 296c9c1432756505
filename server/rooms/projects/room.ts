/** Projects: what they are. How they come and go is in subscriptions. */
import type { Room } from '../../kernel/room.ts';
import * as activities from './activities.ts';
import * as deploymentTargets from './deployment-target-operations.ts';
import * as operations from './operations.ts';

export const projects: Room = {
  name: 'Projects',
  about: 'A project is a Git repository with all its environments, its settings and its access.',
  operations: { ...operations, ...deploymentTargets },
  activities,
};
