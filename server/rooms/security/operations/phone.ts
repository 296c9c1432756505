import { Type } from 'typebox';
import { phoneChannels, type PhoneChannel } from '../../../drivers/phone/phone.ts';
import { emptyOk, operation, plain } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import { UserEntity } from '../../users/public.ts';
import { PhoneVerificationEntity } from '../phone-verification.ts';
import { finishVerification, startPhoneVerification } from '../verify-phone.ts';

export const verifyPhoneNumber = operation({
  summary: 'Send a code to a phone number to verify it',
  endpoint: 'POST /users/{user_id}/phonenumber',
  on: UserEntity,
  permission: 'user:security',
  body: closed({
    channel: Type.Unsafe<PhoneChannel>({ type: 'string', enum: phoneChannels }),
    phone_number: Type.String({ pattern: '^\\+[1-9][0-9]{6,14}$', 'x-message': 'must be an international number such as +31612345678' }),
  }),
  example: { channel: 'sms', phone_number: '+31612345678' },
  returns: plain(Type.Object({ sid: Type.String() })),
  handle: async ({ target, body }, platform) => ({ sid: await startPhoneVerification(platform, target, body) }),
});

export const confirmPhoneNumber = operation({
  summary: 'Confirm a phone number with the code that was sent to it',
  endpoint: 'POST /users/{user_id}/phonenumber/{sid}',
  on: PhoneVerificationEntity,
  permission: 'user:security',
  body: closed({ code: Type.String({ maxLength: 20 }) }),
  example: { code: '123456' },
  returns: emptyOk,
  handle: ({ target, body }, platform) => finishVerification(platform, target, body.code.trim()),
});

export const needsPhoneVerification = operation({
  summary: 'Say whether you have to verify a phone number',
  endpoint: 'POST /me/phone',
  changesNothing: true,
  permission: 'signed-in',
  returns: plain(Type.Object({ verify_phone: Type.Boolean() })),
  handle: () => Promise.resolve({ verify_phone: false }),
});

/** Clients ask this before they create a project. A self-hosted platform does not ask its users to prove that they are human. */
export const needsVerification = operation({
  summary: 'Say whether you have to prove anything before you go on, and what',
  endpoint: 'POST /me/verification',
  changesNothing: true,
  permission: 'signed-in',
  returns: plain(
    Type.Object({
      state: Type.Boolean({ description: 'Whether something has to be verified.' }),
      type: Type.String({ description: 'What: phone, ticket, credit-card; empty when nothing.' }),
    }),
  ),
  handle: () => Promise.resolve({ state: false, type: '' }),
});
