import { Type } from 'typebox';
import { deleted, nothing, one, operation, page } from '../../../kernel/operation.ts';
import { closed, Ulid } from '../../../kernel/schema.ts';
import { projectById, ProjectEntity, ProjectId } from '../../projects/public.ts';
import { TeamEntity } from '../../teams/public.ts';
import { grantTeams, refuseRepeated } from '../grant-access.ts';
import { mustManageAll, withGrants } from '../many-projects.ts';
import { deleteTeamAccess, projectsOfTeam, projectsOfTeamShownTo, teamsInProject } from '../queries.ts';
import { TeamAccessEntity, TeamProjectAccessEntity } from '../team-access.ts';

const grantsMax = 100;
const accessList = { sizeMax: 200, sizeDefault: 100, uncounted: true } as const;

export const listProjectTeamAccess = operation({
  summary: 'List the teams that were let into a project',
  endpoint: 'GET /projects/{project_id}/team-access',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  rel: 'team-access',
  permission: 'access:view',
  returns: page(TeamAccessEntity, { sort: ['granted_at', 'updated_at'], ...accessList }),
  handle: ({ target, list }, { db }) => teamsInProject(db, target.id, list),
});

export const grantProjectTeamAccess = operation({
  summary: 'Let teams into a project',
  endpoint: 'POST /projects/{project_id}/team-access',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  rel: '#grant-team-access',
  permission: 'access:manage',
  body: Type.Array(closed({ team_id: Ulid }), { minItems: 1, maxItems: grantsMax }),
  example: [{ team_id: '01HZX3V8J6Q2W4E9R7T5Y1K0MN' }],
  returns: nothing,
  handle: async ({ target, body }, { db }) => {
    refuseRepeated(
      body.map(({ team_id }) => team_id),
      'team_id',
    );
    const grants = body.map((grant) => ({ ...grant, project_id: target.id }));
    await grantTeams(db, grants, { field: 'team_id', outsider: "is not a team of the project's organization" });
  },
});

export const getProjectTeamAccess = operation({
  summary: "Get a team's access to a project",
  endpoint: 'GET /projects/{project_id}/team-access/{team_id}',
  on: TeamAccessEntity,
  permission: 'team-access:view',
  returns: one(TeamAccessEntity),
  handle: async ({ target }) => target,
});

export const removeProjectTeamAccess = operation({
  summary: "End a team's access to a project",
  endpoint: 'DELETE /projects/{project_id}/team-access/{team_id}',
  on: TeamAccessEntity,
  rel: 'delete',
  permission: 'access:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteTeamAccess(db, target.project_id, target.team_id);
  },
});

export const listTeamProjectAccess = operation({
  summary: 'List the projects that a team was let into, as far as you may see them',
  endpoint: 'GET /teams/{team_id}/project-access',
  on: TeamEntity,
  rel: 'project-access',
  permission: 'team:view',
  returns: page(TeamProjectAccessEntity, { sort: ['project_title', 'granted_at', 'updated_at'], ...accessList }),
  handle: async ({ caller, target, list }, { db }) => {
    const seesAll = caller.can('organization:list-projects', { organization: target.organization_id });
    const shown = seesAll ? projectsOfTeam(db, target.id, list) : projectsOfTeamShownTo(db, caller.id, target.id, list);
    return withGrants(db, caller, await shown);
  },
});

/** The team has no link to this operation, because whether it is allowed depends on the projects that the request names. */
export const grantTeamProjectAccess = operation({
  summary: 'Let a team into projects',
  endpoint: 'POST /teams/{team_id}/project-access',
  on: TeamEntity,
  permission: 'team:view',
  body: Type.Array(closed({ project_id: ProjectId }), { minItems: 1, maxItems: grantsMax }),
  example: [{ project_id: 'jyu7waly36ncj' }],
  returns: nothing,
  handle: async ({ caller, target, body }, { db }) => {
    const ids = body.map(({ project_id }) => project_id);
    refuseRepeated(ids, 'project_id');
    await mustManageAll(db, caller, ids);
    const grants = ids.map((project_id) => ({ project_id, team_id: target.id }));
    await grantTeams(db, grants, { field: 'project_id', outsider: "is not a project of the team's organization" });
  },
});

export const getTeamProjectAccess = operation({
  summary: "Get a team's access to a project, from the team",
  endpoint: 'GET /teams/{team_id}/project-access/{project_id}',
  on: TeamProjectAccessEntity,
  permission: 'team-access:view',
  returns: one(TeamProjectAccessEntity),
  handle: async ({ target }) => target,
});

export const removeTeamProjectAccess = operation({
  summary: "End a team's access to a project, from the team",
  endpoint: 'DELETE /teams/{team_id}/project-access/{project_id}',
  on: TeamProjectAccessEntity,
  rel: 'delete',
  permission: 'access:manage',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteTeamAccess(db, target.project_id, target.team_id);
  },
});
