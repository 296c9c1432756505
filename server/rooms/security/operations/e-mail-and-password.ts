import { Type } from 'typebox';
import { nothing, operation } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import { UserEntity } from '../../users/public.ts';
import { askToChangeEmail } from '../change-email.ts';
import { mailPasswordReset } from '../reset-password.ts';

export const changeEmailAddress = operation({
  summary: 'Change your e-mail address: a mail to the new one asks to confirm it',
  endpoint: 'POST /users/{user_id}/emailaddress',
  on: UserEntity,
  rel: 'change-email',
  permission: 'user:security',
  body: closed({ email_address: Type.String({ format: 'email', maxLength: 254 }) }),
  example: { email_address: 'ada.lovelace@example.org' },
  returns: nothing,
  handle: ({ target, body }, platform) => askToChangeEmail(platform, target, body.email_address),
});

export const resetUserPassword = operation({
  summary: 'Mail a link to set a new password to the user',
  endpoint: 'POST /users/{user_id}/resetpassword',
  on: UserEntity,
  rel: 'reset-password',
  permission: 'user:edit',
  returns: nothing,
  handle: ({ target }, platform) => mailPasswordReset(platform, target),
});
