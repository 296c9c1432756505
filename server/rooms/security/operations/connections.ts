import { array, deleted, one, operation } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { UserEntity } from '../../users/public.ts';
import { ConnectionEntity } from '../connection.ts';
import { connectionsOf, deleteConnection } from '../queries.ts';

const mandatory = 'This connection cannot be removed: it is the mandatory way to sign in for your e-mail address.';

export const listConnections = operation({
  summary: 'List the identity providers that a user can sign in through',
  endpoint: 'GET /users/{user_id}/connections',
  on: UserEntity,
  rel: 'connections',
  permission: 'user:view',
  returns: array(ConnectionEntity),
  handle: ({ target }, { db }) => connectionsOf(db, target.id),
});

export const getConnection = operation({
  summary: 'Show a connection to an identity provider',
  endpoint: 'GET /users/{user_id}/connections/{provider}',
  on: ConnectionEntity,
  permission: 'user:view',
  returns: one(ConnectionEntity),
  handle: ({ target }) => Promise.resolve(target),
});

export const removeConnection = operation({
  summary: 'Remove a connection to an identity provider',
  endpoint: 'DELETE /users/{user_id}/connections/{provider}',
  on: ConnectionEntity,
  rel: 'delete',
  permission: 'user:security',
  allowedWhen: ({ is_mandatory }) => !is_mandatory,
  otherwise: mandatory,
  returns: deleted,
  async handle({ target }, { db }) {
    if (!(await deleteConnection(db, target))) throw new Problem('conflict', mandatory);
  },
});
