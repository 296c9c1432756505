import { Type } from 'typebox';
import { one, operation, plain, updated } from '../../../kernel/operation.ts';
import { inMilliseconds, Uuid } from '../../../kernel/schema.ts';
import { changeUser, sshKeysOf, userByEmail, userByUsername } from '../queries.ts';
import { sshKeyFields } from '../ssh-key.ts';
import { displayName, profile, UserEntity } from '../user.ts';

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

/** Older clients still read SSH keys from here. */
export const getCurrentUserDeprecated = operation({
  summary: 'Get the current user with their SSH keys',
  endpoint: 'GET /me',
  deprecated: true,
  permission: 'signed-in',
  returns: plain(
    Type.Object({
      id: Uuid,
      uuid: Uuid,
      username: Type.String(),
      display_name: Type.String(),
      status: Type.Integer({ description: '0 blocked, 1 active' }),
      mail: Type.String(),
      ssh_keys: Type.Array(Type.Object(sshKeyFields)),
      has_key: Type.Boolean(),
      projects: Type.Array(Type.Object({})),
      sequence: Type.Integer(),
      roles: Type.Array(Type.String()),
      picture: Type.String(),
      tickets: Type.Object({}),
    }),
  ),
  handle: async ({ caller: { user } }, { db }) => {
    const keys = await sshKeysOf(db, user.id);
    return {
      id: user.id,
      uuid: user.id,
      username: user.username,
      display_name: displayName(user),
      status: user.deactivated ? 0 : 1,
      mail: user.email,
      ssh_keys: keys.map((key) => ({ ...key, changed: inMilliseconds(key.changed) })),
      has_key: keys.length > 0,
      projects: [],
      sequence: user.uid,
      roles: user.is_operator ? ['operator'] : [],
      picture: user.picture,
      tickets: {},
    };
  },
});
