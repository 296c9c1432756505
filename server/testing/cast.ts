/** Everybody who could be asking about an organization and its project: the columns of who-may-what. */
import { ulid } from '../kernel/id.ts';
import { organizationPermissions, projectPermissions } from '../permissions.ts';
import type { Person, TestPlatform } from './platform.ts';

export const organizationRoles = organizationPermissions.map((permission) => `organization ${permission}` as const);
export const projectRoles = projectPermissions.map((permission) => `project ${permission}` as const);
export const teamRoles = projectPermissions.map((permission) => `team ${permission}` as const);

export const parts = ['anonymous', 'stranger', 'operator', 'owner', 'member', ...organizationRoles, ...projectRoles, ...teamRoles] as const;
export type Part = (typeof parts)[number];

/** Who plays each part; nobody plays the anonymous. */
export type Cast = Map<Part, Person>;

export async function openCast(test: TestPlatform): Promise<Cast> {
  const cast: Cast = new Map();
  for (const part of parts) if (part !== 'anonymous') cast.set(part, await test.person({ is_operator: part === 'operator', strong: true }));
  return cast;
}

/** Lets each into the organization and project of a sample, with just what the part says. Straight into the tables: how one gets in is not the question here. */
export async function enrol(
  cast: Cast,
  { platform: { db } }: TestPlatform,
  { organization_id, project_id }: { organization_id: string; project_id?: string },
) {
  const userOf = (part: Part) => cast.get(part)?.user.id ?? '';
  const member = (part: Part, permissions: string[]) => ({ organization_id, user_id: userOf(part), permissions });
  await db
    .insertInto('organization_members')
    .values([
      member('member', []),
      ...organizationPermissions.map((permission) => member(`organization ${permission}`, [permission])),
      ...[...projectRoles, ...teamRoles].map((part) => member(part, [])),
    ])
    .execute();
  if (project_id === undefined) return;
  const access = { organization_id, project_id };
  await db
    .insertInto('user_access')
    .values(projectPermissions.map((permission) => ({ ...access, user_id: userOf(`project ${permission}`), permissions: [permission] })))
    .execute();
  const teams = projectPermissions.map((permission) => ({ id: ulid(), permission }));
  await db
    .insertInto('teams')
    .values(teams.map(({ id, permission }) => ({ id, organization_id, label: permission, project_permissions: [permission] })))
    .execute();
  await db
    .insertInto('team_members')
    .values(teams.map(({ id, permission }) => ({ team_id: id, organization_id, user_id: userOf(`team ${permission}`) })))
    .execute();
  await db
    .insertInto('team_access')
    .values(teams.map(({ id }) => ({ ...access, team_id: id })))
    .execute();
}
