/** Projects. */
export { ProjectEntity, ProjectId } from './project.ts';
export { covers, inOrder, ProjectPermissions, SomeProjectPermissions } from './project-permissions.ts';
export { effectivePermissions, insertProject, projectById, type Project } from './queries.ts';
