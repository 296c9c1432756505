import { Type } from 'typebox';
import { recordEach } from '../../../kernel/audit.ts';
import { deleted, nothing, one, operation, page } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { closed, isUuid, Uuid } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import { inOrder, projectById, ProjectEntity, ProjectId, SomeProjectPermissions } from '../../projects/public.ts';
import { UserEntity } from '../../users/public.ts';
import { grantUsers, refuseRepeated } from '../grant-access.ts';
import { mustManageAll, withGrants } from '../many-projects.ts';
import { deleteUserAccess, projectsOfUser, updateUserAccess, usersIn, type UserAccess } from '../queries.ts';
import { ProjectAccessEntity, UserAccessEntity } from '../user-access.ts';

const grantsMax = 100;
/** Pages are long, because the released CLI reads only one. */
const accessList = { sizeMax: 200, sizeDefault: 100, uncounted: true } as const;

const changePermissions = async (db: Db, { project_id, user_id }: UserAccess, permissions: string[]) => {
  if (!(await updateUserAccess(db, project_id, user_id, inOrder(permissions)))) throw new Problem('not-found', 'No such user access.');
};

export const listProjectUserAccess = operation({
  summary: 'List the people who were let into a project',
  endpoint: 'GET /projects/{project_id}/user-access',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  rel: 'user-access',
  permission: 'access:view',
  returns: page(UserAccessEntity, { sort: ['granted_at', 'updated_at'], ...accessList }),
  handle: ({ target, list }, { db }) => usersIn(db, target.id, list),
});

export const grantProjectUserAccess = operation({
  summary: 'Let people into a project',
  endpoint: 'POST /projects/{project_id}/user-access',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  permission: 'access:manage',
  body: Type.Array(
    closed({
      user_id: Uuid,
      permissions: SomeProjectPermissions,
      auto_add_member: Type.Optional(Type.Boolean({ description: 'Makes them a member of the organization first, if need be.' })),
    }),
    { minItems: 1, maxItems: grantsMax },
  ),
  example: [{ user_id: '7f3c1d9e-5b0a-4c6d-9e2f-1a8b4c7d6e5f', permissions: ['viewer', 'development:contributor'] }],
  returns: nothing,
  handle: async ({ target, body }, { db }) => {
    refuseRepeated(
      body.map(({ user_id }) => user_id),
      'user_id',
    );
    const grants = body.map((grant) => ({ ...grant, project_id: target.id }));
    const outsider = 'is not a member of the organization; invite them, or send auto_add_member for somebody who has an account';
    await grantUsers(db, grants, { field: 'user_id', outsider });
  },
});

export const getProjectUserAccess = operation({
  summary: "Get a person's access to a project",
  endpoint: 'GET /projects/{project_id}/user-access/{user_id}',
  on: UserAccessEntity,
  permission: 'access:view',
  returns: one(UserAccessEntity),
  handle: async ({ target }) => target,
});

export const updateProjectUserAccess = operation({
  summary: 'Change what a person may do in a project',
  endpoint: 'PATCH /projects/{project_id}/user-access/{user_id}',
  on: UserAccessEntity,
  rel: 'update',
  permission: 'access:manage',
  body: closed({ permissions: SomeProjectPermissions }),
  example: { permissions: ['viewer', 'staging:admin'] },
  returns: nothing,
  handle: ({ target, body }, { db }) => changePermissions(db, target, body.permissions),
});

export const removeProjectUserAccess = operation({
  summary: "End a person's access to a project",
  endpoint: 'DELETE /projects/{project_id}/user-access/{user_id}',
  on: UserAccessEntity,
  rel: 'delete',
  permission: 'access:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteUserAccess(db, target.project_id, target.user_id);
  },
});

export const listUserProjectAccess = operation({
  summary: 'List the projects that a person was let into',
  endpoint: 'GET /users/{user_id}/project-access',
  on: UserEntity,
  rel: 'project-access',
  permission: 'user:view',
  returns: page(ProjectAccessEntity, {
    sort: ['project_title', 'granted_at', 'updated_at'],
    filter: { organization_id: 'string' },
    ...accessList,
  }),
  handle: async ({ caller, target, list }, { db }) => withGrants(db, caller, await projectsOfUser(db, target.id, list)),
});

/** There is no `on`, because a caller who lets a person in need not see that person's account: membership in the organization is enough. */
export const grantUserProjectAccess = operation({
  summary: 'Let a person into projects',
  endpoint: 'POST /users/{user_id}/project-access',
  permission: 'signed-in',
  body: Type.Array(closed({ project_id: ProjectId, permissions: SomeProjectPermissions }), { minItems: 1, maxItems: grantsMax }),
  example: [{ project_id: 'jyu7waly36ncj', permissions: ['viewer', 'development:contributor'] }],
  returns: nothing,
  handle: async ({ caller, params: { user_id }, body }, { db }) => {
    const ids = body.map(({ project_id }) => project_id);
    refuseRepeated(ids, 'project_id');
    await mustManageAll(db, caller, ids);
    if (!isUuid(user_id)) throw new Problem('not-found', 'No such user.');
    const outsider = 'belongs to an organization that the user is not a member of; add them to it first';
    const grants = body.map((grant) => ({ ...grant, user_id }));
    const places = ids.map((project) => ({
      kind: ProjectAccessEntity.name,
      target: `/users/${user_id}/project-access/${project}`,
      scope: { project, user: user_id },
    }));
    await grantUsers(db, grants, { field: 'project_id', outsider }, (tx) => recordEach(tx, places));
  },
});

export const getUserProjectAccess = operation({
  summary: "Get a person's access to a project, from the person",
  endpoint: 'GET /users/{user_id}/project-access/{project_id}',
  on: ProjectAccessEntity,
  permission: 'access:view',
  returns: one(ProjectAccessEntity),
  handle: async ({ target }) => target,
});

export const updateUserProjectAccess = operation({
  summary: 'Change what a person may do in a project, from the person',
  endpoint: 'PATCH /users/{user_id}/project-access/{project_id}',
  on: ProjectAccessEntity,
  rel: 'update',
  permission: 'access:manage',
  body: closed({ permissions: SomeProjectPermissions }),
  example: { permissions: ['viewer', 'staging:admin'] },
  returns: nothing,
  handle: ({ target, body }, { db }) => changePermissions(db, target, body.permissions),
});

export const removeUserProjectAccess = operation({
  summary: "End a person's access to a project, from the person",
  endpoint: 'DELETE /users/{user_id}/project-access/{project_id}',
  on: ProjectAccessEntity,
  rel: 'delete',
  permission: 'access:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteUserAccess(db, target.project_id, target.user_id);
  },
});
