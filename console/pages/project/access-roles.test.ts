import { expect, test } from 'vitest';
import { invitedRoles, permissionsInvited, permissionsWith, roleIn } from './access-roles.ts';

const permissions = ['viewer', 'staging:contributor', 'development:admin'];

test('each type of environment has its role, and the project has one', () => {
  expect((['project', 'production', 'staging', 'development'] as const).map((type) => roleIn(permissions, type))).toEqual([
    'viewer',
    '',
    'contributor',
    'admin',
  ]);
  expect(roleIn(['admin'], 'project')).toBe('admin');
});

test('another role in one column leaves the others as they are', () => {
  expect(permissionsWith(permissions, 'staging', 'viewer')).toEqual(['viewer', 'development:admin', 'staging:viewer']);
  expect(permissionsWith(permissions, 'development', '')).toEqual(['viewer', 'staging:contributor']);
  expect(permissionsWith(permissions, 'project', 'admin')).toEqual(['admin']);
  expect(permissionsWith(['admin'], 'project', 'viewer')).toEqual(['viewer']);
});

test('an invitation names the types on which somebody gets a role, and is shown like the access that it becomes', () => {
  const chosen: Record<string, string> = { production: '', staging: 'viewer', development: 'contributor' };
  const environments = invitedRoles((type) => chosen[type] ?? '');
  expect(environments).toEqual([
    { type: 'staging', role: 'viewer' },
    { type: 'development', role: 'contributor' },
  ]);
  expect(permissionsInvited({ role: 'viewer', environments })).toEqual(['viewer', 'staging:viewer', 'development:contributor']);
});
