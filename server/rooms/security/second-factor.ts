import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Uuid } from '../../kernel/schema.ts';
import { secondFactorOf, type SecondFactor } from './queries.ts';

/** The device that shows a person's passcodes. */
export const SecondFactorEntity = entity({
  name: 'second factor',
  path: '/users/{user_id}/totp',
  params: { user_id: Uuid },
  schema: Type.Object({ created_at: Time }),
  address: ({ user_id }: SecondFactor) => ({ user_id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:security',
  load: ({ user_id }, { db }) => secondFactorOf(db, user_id),
});
