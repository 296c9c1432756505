/** Whether the caller may. The kernel only asks; which roles hold which permission is the product's table (permissions.ts). */
import type { Caller, Permission, Scope } from '../platform.ts';

/** `public` needs no token; `signed-in` needs one and nothing else. */
export type Requirement = Permission | 'public' | 'signed-in';

export const isPermitted = (requirement: Requirement, caller: Caller | undefined, scope: Scope) =>
  requirement === 'public' || (caller !== undefined && (requirement === 'signed-in' || caller.can(requirement, scope)));
