import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, Time, Ulid } from '../../kernel/schema.ts';
import { ProjectPermissions } from '../projects/public.ts';
import { teamById, type Team } from './queries.ts';

export const TeamLabel = Line(200, { charactersMin: 1 });

export const teamFields = {
  id: Ulid,
  organization_id: Ulid,
  label: TeamLabel,
  project_permissions: ProjectPermissions,
  counts: Type.Object({ member_count: Type.Integer(), project_count: Type.Integer() }),
  created_at: Time,
  updated_at: Time,
};

/** People of one organization who are let into projects together; what they may do there is the team's, in all its projects. */
export const TeamEntity = entity({
  name: 'team',
  path: '/teams/{team_id}',
  params: { team_id: Ulid },
  schema: Type.Object(teamFields),
  address: ({ id }: Team) => ({ team_id: id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'team:view',
  references: { organizations: ({ organization_id }) => organization_id },
  load: ({ team_id }, { db }) => teamById(db, team_id),
});
