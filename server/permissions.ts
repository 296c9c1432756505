/**
 * Who may do what, in one table: a permission that operations name, and the roles that hold it. A role is what the caller is to the thing
 * asked for; `rolesIn` finds it from the scope of the thing and the caller's grants, so that a loaded row decides without another query.
 */

export const environmentTypes = ['development', 'staging', 'production'] as const;
export type EnvironmentType = (typeof environmentTypes)[number];

/** What a thing belongs to. A thing of a project belongs to its organization too. */
export interface Scope {
  user?: string;
  organization?: string;
  project?: string;
  environmentType?: EnvironmentType;
}

export const organizationPermissions = ['admin', 'billing', 'members', 'plans', 'projects:create', 'projects:list'] as const;
export type OrganizationPermission = (typeof organizationPermissions)[number];

export const projectPermissions = [
  'admin',
  'viewer',
  'development:admin',
  'development:contributor',
  'development:viewer',
  'staging:admin',
  'staging:contributor',
  'staging:viewer',
  'production:admin',
  'production:contributor',
  'production:viewer',
] as const;
export type ProjectPermission = (typeof projectPermissions)[number];

/** What was given to a person: memberships, and the access to the projects that the request is about, their own and their teams' merged. */
export interface Grants {
  organizations: readonly Membership[];
  /** The permissions in each project, by its id. */
  projects: ReadonlyMap<string, readonly string[]>;
}

export interface Membership {
  id: string;
  permissions: readonly string[];
  owner: boolean;
  enforce_mfa: boolean;
}

type Role =
  | 'self'
  | 'operator'
  | 'organization:owner'
  | 'organization:member'
  | `organization:${OrganizationPermission}`
  | 'project:admin'
  | 'project:viewer'
  /** For things of the project that do not belong to one environment. */
  | 'whole-project:admin'
  | 'whole-project:viewer'
  | 'environment:admin'
  | 'environment:contributor'
  | 'environment:viewer';

const table = {
  'user:view': ['self', 'operator'],
  'user:edit': ['self', 'operator'],
  'user:security': ['self'],
  'api-token:view': ['self', 'operator'],
  'api-token:create': ['self'],
  'api-token:delete': ['self', 'operator'],
  'sign-in:view': ['self', 'operator'],
  'sign-in:end': ['self', 'operator'],
  /** What is elsewhere is known only to whoever asks for themselves. */
  'sign-in:end-elsewhere': ['self'],
  'ssh-key:view': ['self', 'operator'],
  'ssh-key:delete': ['self', 'operator'],

  /** `self` is everybody who is on the ticket. */
  'ticket:view': ['self', 'operator'],
  'ticket:change': ['self', 'operator'],

  'organization:view': ['organization:member', 'operator'],
  'organization:edit': ['organization:admin', 'operator'],
  'organization:delete': ['organization:owner', 'operator'],
  'organization:list-projects': ['organization:projects:list', 'operator'],
  'organization:create-project': ['organization:projects:create', 'operator'],
  /** Who did what, also how members changed the way they sign in. */
  'audit:view': ['organization:admin', 'operator'],
  /** To whom invoices go and what they are about. */
  'billing:view': ['organization:billing', 'operator'],
  'billing:manage': ['organization:billing', 'operator'],
  'member:view': ['self', 'organization:members', 'operator'],
  'member:manage': ['organization:members', 'operator'],
  /** Everybody may leave, so `self` is among the roles. */
  'member:remove': ['self', 'organization:members', 'operator'],
  'team:view': ['organization:member', 'operator'],
  'team:manage': ['organization:members', 'operator'],
  /** For adding oneself to a team. Whoever manages teams decides who is in them, but somebody else has to let the manager in. */
  'team:join': ['organization:owner', 'operator'],

  /** The installation as a whole: its machine, everybody's limits, everybody's sessions. */
  'installation:view': ['operator'],
  'installation:manage': ['operator'],

  'project:view': ['project:viewer', 'operator'],
  'project:admin': ['project:admin', 'operator'],
  /** What serves the project belongs to the installation, so only operators restart it. */
  'system:restart': ['operator'],
  'deployment-target:view': ['operator'],
  'deployment-target:manage': ['operator'],
  /** For a project as its organization sees it. */
  'contract:view': ['organization:projects:list', 'organization:plans', 'project:viewer', 'operator'],
  'contract:edit': ['organization:plans', 'project:admin', 'operator'],
  'access:view': ['self', 'project:viewer', 'operator'],
  'access:manage': ['project:admin', 'operator'],
  'team-access:view': ['project:viewer', 'organization:projects:list', 'operator'],

  'environment:view': ['environment:viewer', 'operator'],
  /** Whoever sees an environment may branch off one of their own. */
  'environment:branch': ['environment:viewer', 'operator'],
  'environment:push': ['environment:contributor', 'operator'],
  'environment:admin': ['environment:admin', 'operator'],
  'task:run': ['environment:contributor', 'operator'],
  /** Logs tell of visitors, so they are not for everybody who may look at the environment. */
  'log:view': ['environment:contributor', 'operator'],
  'variable:view': ['environment:viewer', 'whole-project:viewer', 'operator'],
  'variable:manage': ['environment:admin', 'whole-project:admin', 'operator'],
  'domain:view': ['environment:viewer', 'whole-project:viewer', 'operator'],
  'domain:manage': ['environment:admin', 'whole-project:admin', 'operator'],
  'certificate:view': ['whole-project:viewer', 'operator'],
  'certificate:manage': ['whole-project:admin', 'operator'],
  /** Also for those who only push: clients tell them where the code comes from. Secrets are for those who manage integrations. */
  'integration:view': ['project:viewer', 'operator'],
  'integration:manage': ['whole-project:admin', 'operator'],
  'activity:view': ['environment:viewer', 'whole-project:viewer', 'operator'],
  'activity:cancel': ['environment:contributor', 'whole-project:admin', 'operator'],
} as const satisfies Record<string, readonly Role[]>;

export type Permission = keyof typeof table;

export const permissions: Record<Permission, readonly Role[]> = table;

/** What holding one permission of an organization brings along. */
const organizationImplies: Record<string, readonly OrganizationPermission[]> = {
  admin: organizationPermissions,
  billing: ['billing', 'projects:list'],
};

const environmentImplies: Record<string, Role[]> = {
  admin: ['environment:admin', 'environment:contributor', 'environment:viewer'],
  contributor: ['environment:contributor', 'environment:viewer'],
  viewer: ['environment:viewer'],
};

/** The roles of a person in a scope. The owner of an organization is admin of all its projects; any access to a project shows it. */
export function rolesIn(person: { id: string; is_operator: boolean }, grants: Grants, scope: Scope): Role[] {
  const roles: Role[] = [];
  if (person.is_operator) roles.push('operator');
  if (scope.user === person.id) roles.push('self');
  const membership = scope.organization === undefined ? undefined : grants.organizations.find(({ id }) => id === scope.organization);
  if (membership) roles.push('organization:member', ...organizationRoles(membership));
  if (scope.project !== undefined)
    roles.push(...projectRoles(effectivePermissions(scope.project, membership, grants), scope.environmentType));
  return roles;
}

function organizationRoles({ owner, permissions: held }: Membership): Role[] {
  const all = owner
    ? organizationPermissions
    : held.flatMap((permission) => organizationImplies[permission] ?? [permission as OrganizationPermission]);
  return [...(owner ? (['organization:owner'] as const) : []), ...all.map((permission) => `organization:${permission}` as const)];
}

const effectivePermissions = (project: string, membership: Membership | undefined, grants: Grants): readonly string[] => {
  if (membership?.owner) return ['admin'];
  return grants.projects.get(project) ?? [];
};

function projectRoles(held: readonly string[], environmentType: EnvironmentType | undefined): Role[] {
  if (held.length === 0) return [];
  const isAdmin = held.includes('admin');
  const roles: Role[] = isAdmin ? ['project:admin', 'project:viewer'] : ['project:viewer'];
  if (environmentType === undefined) return [...roles, 'whole-project:viewer', ...(isAdmin ? (['whole-project:admin'] as const) : [])];
  const onType = isAdmin ? ['admin'] : environmentRolesHeld(held, environmentType);
  return [...roles, ...onType.flatMap((role) => environmentImplies[role] ?? [])];
}

const environmentRolesHeld = (held: readonly string[], type: EnvironmentType) =>
  held.filter((permission) => permission.startsWith(`${type}:`)).map((permission) => permission.slice(type.length + 1));
