import { Type } from 'typebox';
import { one, operation, updated } from '../../../kernel/operation.ts';
import { changeUser, userByEmail, userByUsername } from '../queries.ts';
import { profile, UserEntity } from '../user.ts';

export const getCurrentUser = operation({
  summary: 'Get the current user',
  endpoint: 'GET /users/me',
  on: UserEntity,
  find: async (_params, caller) => caller.user,
  permission: 'user:view',
  returns: one(UserEntity),
  handle: async ({ target }) => target,
});

export const getUser = operation({
  summary: 'Get a user',
  endpoint: 'GET /users/{user_id}',
  on: UserEntity,
  permission: 'user:view',
  returns: one(UserEntity),
  handle: async ({ target }) => target,
});

export const getUserByEmail = operation({
  summary: 'Get a user by e-mail address',
  endpoint: 'GET /users/email={email}',
  on: UserEntity,
  find: ({ email }, _caller, { db }) => userByEmail(db, email),
  permission: 'user:view',
  returns: one(UserEntity),
  handle: async ({ target }) => target,
});

export const getUserByUsername = operation({
  summary: 'Get a user by username',
  endpoint: 'GET /users/username={username}',
  on: UserEntity,
  find: ({ username }, _caller, { db }) => userByUsername(db, username),
  permission: 'user:view',
  returns: one(UserEntity),
  handle: async ({ target }) => target,
});

export const updateUser = operation({
  summary: "Change a user's profile",
  endpoint: 'PATCH /users/{user_id}',
  on: UserEntity,
  rel: 'update',
  permission: 'user:edit',
  body: Type.Partial(Type.Object(profile), { additionalProperties: false }),
  example: { first_name: 'Ada', last_name: 'Lovelace', company: 'Analytical Engines', website: 'https://example.org', country: 'GB' },
  returns: updated(UserEntity),
  handle: ({ target, body }, { db }) => changeUser(db, target.id, body),
});
