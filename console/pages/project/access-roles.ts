/** Permissions on a project as the API lists them, as a role in each column of a matrix, and back. */

export const types = ['project', 'production', 'staging', 'development'] as const;
export type EnvironmentColumn = (typeof types)[number];

const none = { role: '', word: 'No access' };
const onEnvironments = [
  none,
  { role: 'viewer', word: 'Viewer' },
  { role: 'contributor', word: 'Contributor' },
  { role: 'admin', word: 'Administrator' },
];

export const roles: Readonly<Record<EnvironmentColumn, readonly { role: string; word: string }[]>> = {
  project: [
    { role: 'viewer', word: 'Viewer' },
    { role: 'admin', word: 'Administrator' },
  ],
  production: onEnvironments,
  staging: onEnvironments,
  development: onEnvironments,
};

/** On the project as a whole whoever does not administer it looks at it. */
export function roleIn(permissions: readonly string[], type: EnvironmentColumn): string {
  if (type === 'project') return permissions.includes('admin') ? 'admin' : 'viewer';
  return permissions.find((each) => each.startsWith(`${type}:`))?.slice(type.length + 1) ?? '';
}

/** What is sent to give another role in one column. An administrator of the project needs nothing else, and had nothing else. */
export function permissionsWith(permissions: readonly string[], type: EnvironmentColumn, role: string): string[] {
  if (type === 'project') return role === 'admin' ? ['admin'] : ['viewer', ...permissions.filter((each) => each.includes(':'))];
  const others = permissions.filter((each) => !each.startsWith(`${type}:`));
  return role === '' ? others : [...others, `${type}:${role}`];
}

/** What an invitation gives: a role for each type that has one. */
export const invitedRoles = (roleOn: (type: string) => string): { type: string; role: string }[] =>
  types
    .filter((type) => type !== 'project')
    .map((type) => ({ type, role: roleOn(type) }))
    .filter(({ role }) => role !== '');

/** The permissions that an invitation stands for, as those who came have them. */
export const permissionsInvited = ({
  role,
  environments,
}: {
  role: string;
  environments: readonly { type: string; role: string }[];
}): string[] => [role, ...environments.map((each) => `${each.type}:${each.role}`)];
