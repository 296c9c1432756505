import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid, Uuid } from '../../kernel/schema.ts';
import { teamMemberOf, type TeamMember } from './queries.ts';

export const TeamMemberEntity = entity({
  name: 'team member',
  path: '/teams/{team_id}/members/{user_id}',
  params: { team_id: Ulid, user_id: Uuid },
  schema: Type.Object({ team_id: Ulid, user_id: Uuid, created_at: Time, updated_at: Time }),
  address: ({ team_id, user_id }: TeamMember) => ({ team_id, user_id }),
  scope: ({ organization_id, user_id }) => ({ organization: organization_id, user: user_id }),
  view: 'member:view',
  references: { users: ({ user_id }) => user_id },
  load: ({ team_id, user_id }, { db }) => teamMemberOf(db, team_id, user_id),
});
