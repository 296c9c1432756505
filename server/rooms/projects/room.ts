/** Projects: what they are. How they come and go is in subscriptions. */
import type { Room } from '../../kernel/room.ts';
import * as activities from './activities.ts';
import * as operations from './operations.ts';

export { capabilities } from './capabilities.ts';
export { ProjectEntity, projectFields, ProjectId, shown, Subscription, subscriptionOf } from './project.ts';
export { covers, inOrder, ProjectPermissions, SomeProjectPermissions } from './project-permissions.ts';
export { retentionFor, type RetentionPolicy } from './data-retention.ts';
export { addressMistake } from './repository-address.ts';
export { checkedChange, cronSettingsOf, SettingsChange, SettingsEntity, settingsOf, type ProjectSettings } from './settings.ts';
export { openProjectPlaces, type Asker } from './shared-places.ts';
export {
  changeProject,
  effectivePermissions,
  environmentsAllowed,
  insertProject,
  lockProject,
  partiesOf,
  projectById,
  type Project,
} from './queries.ts';

export const projects: Room = {
  name: 'Projects',
  about: 'A project is a Git repository with all its environments, its settings and its access.',
  operations,
  activities,
};
