/** One team's access to one project, which is found from both ends. The permissions belong to the team, and are the same in all its projects. */
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid } from '../../kernel/schema.ts';
import { ProjectId } from '../projects/public.ts';
import { teamAccessOf, type TeamAccess } from './queries.ts';

const params = { project_id: ProjectId, team_id: Ulid };

const schema = Type.Object({
  team_id: Ulid,
  organization_id: Ulid,
  project_id: ProjectId,
  project_title: Type.String(),
  granted_at: Time,
  updated_at: Time,
});

const address = ({ project_id, team_id }: TeamAccess) => ({ project_id, team_id });
const scope = ({ project_id, organization_id }: TeamAccess) => ({ project: project_id, organization: organization_id });

/** The access as found from the project. */
export const TeamAccessEntity = entity({
  name: 'team access',
  path: '/projects/{project_id}/team-access/{team_id}',
  params,
  schema,
  address,
  scope,
  view: 'team-access:view',
  references: { teams: ({ team_id }) => team_id, organizations: ({ organization_id }) => organization_id },
  load: ({ project_id, team_id }, { db }) => teamAccessOf(db, project_id, team_id),
});

/** The access as found from the team. */
export const TeamProjectAccessEntity = entity({
  name: 'team project access',
  path: '/teams/{team_id}/project-access/{project_id}',
  params,
  schema,
  address,
  scope,
  view: 'team-access:view',
  references: { projects: ({ project_id }) => project_id, organizations: ({ organization_id }) => organization_id },
  load: ({ project_id, team_id }, { db }) => teamAccessOf(db, project_id, team_id),
});
