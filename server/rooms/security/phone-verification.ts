import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Uuid } from '../../kernel/schema.ts';
import { phoneVerificationOf, type PhoneVerification } from './queries.ts';

/** A code that was sent to a phone and waits to be typed in. */
export const PhoneVerificationEntity = entity({
  name: 'phone verification',
  path: '/users/{user_id}/phonenumber/{sid}',
  params: { user_id: Uuid, sid: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }) },
  schema: Type.Object({ sid: Type.String() }),
  address: ({ user_id, sid }: PhoneVerification) => ({ user_id, sid }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:security',
  load: ({ user_id, sid }, { db }) => phoneVerificationOf(db, user_id, sid),
});
