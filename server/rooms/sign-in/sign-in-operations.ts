import { array, deleted, nothing, one, operation } from '../../kernel/operation.ts';
import { UserEntity } from '../users/public.ts';
import { endOtherSignIns, endSignIn, SignInEntity, signInsOf } from './sign-ins.ts';

export const listSignIns = operation({
  summary: 'List where a user is signed in, in browsers and with programs',
  endpoint: 'GET /users/{user_id}/sign-ins',
  on: UserEntity,
  rel: 'sign-ins',
  permission: 'sign-in:view',
  returns: array(SignInEntity),
  handle: ({ caller, target }, { db }) => signInsOf(db, target.id, caller.via),
});

export const getSignIn = operation({
  summary: 'Get a sign-in',
  endpoint: 'GET /users/{user_id}/sign-ins/{sign_in_id}',
  on: SignInEntity,
  permission: 'sign-in:view',
  returns: one(SignInEntity),
  handle: ({ caller, target }) => Promise.resolve({ ...target, is_current: target.grant_hash === caller.via }),
});

export const removeSignIn = operation({
  summary: 'End a sign-in: the browser or program is signed out at once',
  endpoint: 'DELETE /users/{user_id}/sign-ins/{sign_in_id}',
  on: SignInEntity,
  rel: 'delete',
  permission: 'sign-in:end',
  returns: deleted,
  handle: ({ target }, { db }) => endSignIn(db, target),
});

export const removeSignIns = operation({
  summary: 'Sign out everywhere else: all browsers and programs but the one that asks; API tokens and SSH keys stay',
  endpoint: 'DELETE /users/{user_id}/sign-ins',
  on: UserEntity,
  rel: 'sign-out-elsewhere',
  permission: 'sign-in:end-elsewhere',
  returns: nothing,
  async handle({ caller, target }, { db }) {
    await endOtherSignIns(db, target.id, caller.via);
  },
});
