/** Who was let into a project, for older clients that know roles but not permissions. These lists can be read, not changed. */
import { Type } from 'typebox';
import { operation, plain } from '../../../kernel/operation.ts';
import { Uuid } from '../../../kernel/schema.ts';
import { ProjectEntity, ProjectId } from '../../projects/public.ts';
import { EnvironmentTypeEntity } from '../environment-type.ts';
import { peopleIn, type PersonInProject } from '../queries.ts';

const AccessList = Type.Array(
  Type.Object({
    id: Uuid,
    user: Uuid,
    email: Type.String(),
    role: Type.String({ enum: ['admin', 'contributor', 'viewer'] }),
    project: ProjectId,
    _embedded: Type.Object({
      users: Type.Array(Type.Object({ id: Uuid, email: Type.String(), username: Type.String(), display_name: Type.String() })),
    }),
  }),
);

export const listProjectAccess = operation({
  summary: 'List the people who were let into a project, with their roles in the project',
  endpoint: 'GET /projects/{projectId}/access',
  on: ProjectEntity,
  rel: '#access',
  permission: 'access:view',
  deprecated: true,
  returns: plain(AccessList),
  handle: async ({ target: { id } }, { db }) =>
    (await peopleIn(db, id)).map((person) => entryOf(person, id, person.permissions.includes('admin') ? 'admin' : 'viewer')),
});

export const listEnvironmentTypeAccess = operation({
  summary: 'List the people who were let into the environments of a type, with their roles there',
  endpoint: 'GET /projects/{projectId}/environment-types/{environmentTypeId}/access',
  on: EnvironmentTypeEntity,
  rel: '#access',
  permission: 'access:view',
  deprecated: true,
  returns: plain(AccessList),
  handle: async ({ target: { id, project } }, { db }) =>
    (await peopleIn(db, project.id)).flatMap((person) => {
      const role = roleIn(id, person);
      return role ? [entryOf(person, project.id, role)] : [];
    }),
});

function roleIn(type: string, { permissions }: PersonInProject) {
  if (permissions.includes('admin')) return 'admin';
  return (['admin', 'contributor', 'viewer'] as const).find((role) => permissions.includes(`${type}:${role}`));
}

function entryOf({ id, email, username, display_name }: PersonInProject, project: string, role: string) {
  return { id, user: id, email, role, project, _embedded: { users: [{ id, email, username, display_name }] } };
}
