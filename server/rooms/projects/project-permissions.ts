/** What a person or a team may do in a project: a set of the eleven permissions. */
import { Type } from 'typebox';
import { projectPermissions } from '../../permissions.ts';

const setOf = (minItems: number) =>
  Type.Array(Type.String({ enum: [...projectPermissions] }), { minItems, maxItems: projectPermissions.length });

export const ProjectPermissions = setOf(0);
/** At least one permission: access without any would be no access. */
export const SomeProjectPermissions = setOf(1);

/** The permissions, each once, in the order of the table. */
export const inOrder = (permissions: readonly string[]): string[] =>
  projectPermissions.filter((permission) => permissions.includes(permission));

/** Whether the held permissions include all wanted ones: `admin` includes everything, each role on a type those below it, and any access `viewer`. */
export const covers = (held: readonly string[], wanted: readonly string[]) =>
  wanted.every((permission) => held.some((own) => impliedBy(own).includes(permission)));

const typeRoles = ['admin', 'contributor', 'viewer'];

function impliedBy(permission: string): readonly string[] {
  if (permission === 'admin') return projectPermissions;
  const [type, role = ''] = permission.split(':');
  if (role === '') return [permission];
  return ['viewer', ...typeRoles.slice(typeRoles.indexOf(role)).map((below) => `${type}:${below}`)];
}
