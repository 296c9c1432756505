/** Nobody gives or takes away a permission that they do not hold themselves. The owner, admins and operators hold all. */
import { Type } from 'typebox';
import { Problem } from '../../kernel/problem.ts';
import { organizationPermissions, rolesIn, type OrganizationPermission } from '../../permissions.ts';
import type { Caller } from '../../platform.ts';

/** The published API spells one permission differently for invitations than for members; both spellings are accepted in both places. */
const otherSpellings: Record<string, OrganizationPermission> = { 'project:create': 'projects:create' };

export const OrganizationPermissions = Type.Array(Type.String({ enum: [...organizationPermissions, ...Object.keys(otherSpellings)] }), {
  maxItems: 20,
});

/** The permissions as they are stored: in one spelling, each once, in one order. */
export function keptPermissions(asked: readonly string[]): OrganizationPermission[] {
  const meant = new Set(asked.map((permission) => otherSpellings[permission] ?? permission));
  return organizationPermissions.filter((permission) => meant.has(permission));
}

type Granter = Pick<Caller, 'user' | 'grants'>;

/** Those of the permissions that the granter lacks in the organization. */
export function lackedOf({ user, grants }: Granter, organizationId: string, permissions: readonly string[]): string[] {
  const roles: readonly string[] = rolesIn(user, grants, { organization: organizationId });
  return roles.includes('operator') ? [] : permissions.filter((permission) => !roles.includes(`organization:${permission}`));
}

export function refuseGrantingMore(granter: Granter, organizationId: string, permissions: readonly string[]) {
  const lacked = lackedOf(granter, organizationId, permissions);
  if (lacked.length > 0)
    throw new Problem('forbidden', `You can give only permissions that you have yourself; you lack ${lacked.join(', ')}.`);
}
