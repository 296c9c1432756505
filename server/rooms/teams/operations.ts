import { Type } from 'typebox';
import { ulid } from '../../kernel/id.ts';
import { created, deleted, one, operation, page, updated } from '../../kernel/operation.ts';
import type { ListRequest } from '../../kernel/paging.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import { closed, Ulid, Uuid } from '../../kernel/schema.ts';
import type { Caller } from '../../platform.ts';
import { inOrder, ProjectPermissions } from '../projects/public.ts';
import { UserEntity } from '../users/public.ts';
import { changeTeam } from './change-team.ts';
import { allTeams, deleteTeam, deleteTeamMember, insertTeam, insertTeamMember, teamMembers, teamsIn, teamsOf } from './queries.ts';
import { TeamMemberEntity } from './team-member.ts';
import { TeamEntity, TeamLabel } from './team.ts';

export const listTeams = operation({
  summary: 'List the teams of your organizations',
  endpoint: 'GET /teams',
  permission: 'signed-in',
  returns: page(TeamEntity, {
    sort: ['label', 'created_at', 'updated_at'],
    filter: { organization_id: 'string', id: 'string', updated_at: 'time' },
  }),
  handle: ({ caller, list }, { db }) =>
    caller.user.is_operator ? allTeams(db, list) : teamsIn(db, organizationsOpenTo(caller, list), list),
});

/** Leaves out organizations that ask for a stronger sign-in than the caller's. If the caller filters by just such a one, they are told to sign in again. */
function organizationsOpenTo(caller: Caller, { filters }: ListRequest): string[] {
  const named = filters.find(({ field, operator }) => field === 'organization_id' && operator === 'eq')?.values[0];
  const ids = caller.grants.organizations.map(({ id }) => id).filter((id) => named === undefined || id === named);
  const hindrances = ids.map((organization) => caller.hindrance({ organization }));
  if (named !== undefined && hindrances[0]) throw hindrances[0];
  return ids.filter((_, n) => hindrances[n] === undefined);
}

export const createTeam = operation({
  summary: 'Create a team',
  endpoint: 'POST /teams',
  permission: 'signed-in',
  body: closed({
    organization_id: Ulid,
    label: TeamLabel,
    project_permissions: Type.Optional(ProjectPermissions),
  }),
  example: { organization_id: '01HZX3V8J6Q2W4E9R7T5Y1K0MN', label: 'Designers', project_permissions: ['viewer', 'staging:contributor'] },
  returns: created(TeamEntity),
  handle: async ({ caller, body: { organization_id, label, project_permissions = [] } }, { db }) => {
    const scope = { organization: organization_id };
    const hindrance = caller.hindrance(scope, 'team:manage', 'POST /teams');
    if (hindrance) throw hindrance;
    const team = { id: ulid(), organization_id, label, project_permissions: inOrder(project_permissions) };
    const made = caller.can('team:manage', scope) && (await insertTeam(db, team));
    if (made) return made;
    throw new Problem(
      'forbidden',
      'There is no such organization, or you lack the permission members in it, which is needed to manage teams.',
    );
  },
});

export const getTeam = operation({
  summary: 'Get a team',
  endpoint: 'GET /teams/{team_id}',
  on: TeamEntity,
  permission: 'team:view',
  returns: one(TeamEntity),
  handle: async ({ target }) => target,
});

export const updateTeam = operation({
  summary: 'Change the label of a team, or what it may do in its projects',
  endpoint: 'PATCH /teams/{team_id}',
  on: TeamEntity,
  rel: 'update',
  permission: 'team:manage',
  body: closed({ label: Type.Optional(TeamLabel), project_permissions: Type.Optional(ProjectPermissions) }),
  example: { label: 'Design', project_permissions: ['viewer', 'development:contributor'] },
  returns: updated(TeamEntity),
  handle: ({ caller, target, body }, { db }) => changeTeam(db, caller, target, body),
});

export const removeTeam = operation({
  summary: 'Delete a team, and with it the access it gave',
  endpoint: 'DELETE /teams/{team_id}',
  on: TeamEntity,
  rel: 'delete',
  permission: 'team:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteTeam(db, target.id);
  },
});

export const listTeamMembers = operation({
  summary: "List a team's members",
  endpoint: 'GET /teams/{team_id}/members',
  on: TeamEntity,
  rel: 'members',
  permission: 'member:view',
  returns: page(TeamMemberEntity, { sort: ['created_at', 'updated_at'] }),
  handle: ({ target, list }, { db }) => teamMembers(db, target.id, list),
});

export const addTeamMember = operation({
  summary: "Add one of the organization's members to a team",
  endpoint: 'POST /teams/{team_id}/members',
  on: TeamEntity,
  rel: 'create-member',
  permission: 'team:manage',
  body: closed({ user_id: Uuid }),
  example: { user_id: '7f3c1d9e-5b0a-4c6d-9e2f-1a8b4c7d6e5f' },
  returns: created(TeamMemberEntity),
  handle: async ({ caller, target, body }, { db }) => {
    if (body.user_id === caller.id && !caller.can('team:join', { organization: target.organization_id })) {
      throw new Problem(
        'forbidden',
        'You cannot add yourself to a team; ask the owner of the organization, or somebody else who manages teams.',
      );
    }
    const member = await insertTeamMember(db, target.id, body.user_id);
    if (!member) throw invalidField('user_id', "is not a member of the team's organization; add them to it first");
    return member;
  },
});

export const getTeamMember = operation({
  summary: 'Get a member of a team',
  endpoint: 'GET /teams/{team_id}/members/{user_id}',
  on: TeamMemberEntity,
  permission: 'member:view',
  returns: one(TeamMemberEntity),
  handle: async ({ target }) => target,
});

export const removeTeamMember = operation({
  summary: 'Remove a member from a team',
  endpoint: 'DELETE /teams/{team_id}/members/{user_id}',
  on: TeamMemberEntity,
  rel: 'delete',
  permission: 'team:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteTeamMember(db, target.team_id, target.user_id);
  },
});

export const listUserTeams = operation({
  summary: 'List the teams that a user is in',
  endpoint: 'GET /users/{user_id}/teams',
  on: UserEntity,
  rel: 'teams',
  permission: 'user:view',
  returns: page(TeamEntity, {
    sort: ['created_at', 'updated_at'],
    filter: { organization_id: 'string', updated_at: 'time' },
  }),
  handle: ({ target, list }, { db }) => teamsOf(db, target.id, list),
});
