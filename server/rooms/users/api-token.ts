import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, nullable, Time, Uuid } from '../../kernel/schema.ts';
import { apiTokenOf, type ApiToken } from './queries.ts';

export const ApiTokenName = Line(100, { charactersMin: 1 });

/** A secret that signs a program in as its owner, with all the owner's rights. The secret is shown once and kept as a hash. */
export const ApiTokenEntity = entity({
  name: 'API token',
  path: '/users/{user_id}/api-tokens/{token_id}',
  params: { user_id: Uuid, token_id: Uuid },
  schema: Type.Object({
    id: Uuid,
    name: ApiTokenName,
    mfa_on_creation: Type.Boolean(),
    token: Type.Optional(Type.String({ description: 'The secret itself; only in the answer that creates it.' })),
    created_at: Time,
    updated_at: Time,
    last_used_at: nullable(Time),
  }),
  address: ({ id, user_id }: ApiToken) => ({ user_id, token_id: id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'api-token:view',
  load: ({ user_id, token_id }, { db }) => apiTokenOf(db, user_id, token_id),
});
