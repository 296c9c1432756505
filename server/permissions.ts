/**
 * Who may do what, in one table: a permission, and the roles that hold it. A role is what the caller is to the thing asked for;
 * `rolesIn` finds them from its scope, so that one loaded row decides without another query.
 */

/** What a thing belongs to. */
export interface Scope {
  user?: string;
}

const roles = ['self', 'operator'] as const;
type Role = (typeof roles)[number];

const table = {
  'user:view': ['self', 'operator'],
  'user:edit': ['self', 'operator'],
  'api-token:view': ['self', 'operator'],
  'api-token:create': ['self'],
  'api-token:delete': ['self', 'operator'],
  'ssh-key:view': ['self', 'operator'],
  'ssh-key:delete': ['self', 'operator'],
} as const satisfies Record<string, readonly Role[]>;

export type Permission = keyof typeof table;

export const permissions: Record<Permission, readonly Role[]> = table;

/** The roles of a person in a scope. */
export function rolesIn(person: { id: string; is_operator: boolean }, scope: Scope): Role[] {
  return [...(scope.user === person.id ? (['self'] as const) : []), ...(person.is_operator ? (['operator'] as const) : [])];
}
