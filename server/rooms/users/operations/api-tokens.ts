import { Type } from 'typebox';
import { array, created, deleted, one, operation } from '../../../kernel/operation.ts';
import { ApiTokenEntity, ApiTokenName } from '../api-token.ts';
import { createApiToken } from '../create-api-token.ts';
import { apiTokensOf, deleteApiToken } from '../queries.ts';
import { UserEntity } from '../user.ts';

export const listApiTokens = operation({
  summary: "List a user's API tokens",
  endpoint: 'GET /users/{user_id}/api-tokens',
  on: UserEntity,
  rel: 'api-tokens',
  permission: 'api-token:view',
  returns: array(ApiTokenEntity),
  handle: ({ target }, { db }) => apiTokensOf(db, target.id),
});

export const postApiToken = operation({
  summary: 'Create an API token: the answer shows its secret, once',
  endpoint: 'POST /users/{user_id}/api-tokens',
  on: UserEntity,
  rel: 'create-api-token',
  permission: 'api-token:create',
  body: Type.Object({ name: ApiTokenName }),
  example: { name: 'Continuous integration' },
  returns: created(ApiTokenEntity),
  handle: ({ caller, target, body }, { db }) => createApiToken(db, target, { name: body.name, mfa: caller.hasSecondFactor }),
});

export const getApiToken = operation({
  summary: 'Get an API token, without its secret',
  endpoint: 'GET /users/{user_id}/api-tokens/{token_id}',
  on: ApiTokenEntity,
  permission: 'api-token:view',
  returns: one(ApiTokenEntity),
  handle: async ({ target }) => target,
});

export const removeApiToken = operation({
  summary: 'Delete an API token: whoever signed in with it is signed out at once',
  endpoint: 'DELETE /users/{user_id}/api-tokens/{token_id}',
  on: ApiTokenEntity,
  rel: 'delete',
  permission: 'api-token:delete',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteApiToken(db, target.id);
  },
});
