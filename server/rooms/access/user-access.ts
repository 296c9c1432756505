/** One person's access to one project, which is found from both ends. */
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid, Uuid } from '../../kernel/schema.ts';
import { ProjectId, ProjectPermissions } from '../projects/public.ts';
import { userAccessOf, type UserAccess } from './queries.ts';

const params = { project_id: ProjectId, user_id: Uuid };

const schema = Type.Object({
  user_id: Uuid,
  organization_id: Ulid,
  project_id: ProjectId,
  project_title: Type.String(),
  permissions: ProjectPermissions,
  granted_at: Time,
  updated_at: Time,
});

const address = ({ project_id, user_id }: UserAccess) => ({ project_id, user_id });
const scope = ({ project_id, organization_id, user_id }: UserAccess) => ({
  project: project_id,
  organization: organization_id,
  user: user_id,
});

/** The access as found from the project. */
export const UserAccessEntity = entity({
  name: 'user access',
  path: '/projects/{project_id}/user-access/{user_id}',
  params,
  schema,
  address,
  scope,
  view: 'access:view',
  references: { users: ({ user_id }) => user_id, organizations: ({ organization_id }) => organization_id },
  load: ({ project_id, user_id }, { db }) => userAccessOf(db, project_id, user_id),
});

/** The access as found from the person. */
export const ProjectAccessEntity = entity({
  name: 'project access',
  path: '/users/{user_id}/project-access/{project_id}',
  params,
  schema,
  address,
  scope,
  view: 'access:view',
  references: { projects: ({ project_id }) => project_id, organizations: ({ organization_id }) => organization_id },
  load: ({ project_id, user_id }, { db }) => userAccessOf(db, project_id, user_id),
});
