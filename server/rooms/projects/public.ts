/** What other rooms may use of projects: the entity, lookups, settings, and shares of what is limited. */
export { capabilities, offeredIntegrations, type OfferedIntegration } from './capabilities.ts';
export { ProjectEntity, projectFields, ProjectId, shown, Subscription, subscriptionOf } from './project.ts';
export { covers, inOrder, ProjectPermissions, SomeProjectPermissions } from './project-permissions.ts';
export { retentionFor, type RetentionPolicy } from './data-retention.ts';
export { addressMistake } from './repository-address.ts';
export {
  checkedChange,
  cronSettingsOf,
  requiresDomainOwnership,
  SettingsChange,
  SettingsEntity,
  settingsOf,
  type ProjectSettings,
} from './settings.ts';
export { projectLimit, type Asker } from './project-limit.ts';
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
