import { Type } from 'typebox';
import type { User } from '../../../identity.ts';
import { deleted, operation, plain } from '../../../kernel/operation.ts';
import { invalidField, Problem } from '../../../kernel/problem.ts';
import { closed } from '../../../kernel/schema.ts';
import {
  addSecondFactor,
  bytesOfBase32,
  countAttempts,
  forgetAttempts,
  newTotpSecret,
  removeSecondFactor,
  replaceRecoveryCodes,
  stepOf,
} from '../../sign-in/public.ts';
import { UserEntity } from '../../users/public.ts';
import { tellSecondFactor } from '../messages.ts';
import { authenticatorQrCode } from '../qr-code.ts';
import { SecondFactorEntity } from '../second-factor.ts';

const isNotEnrolled = ({ mfa_enabled }: User) => !mfa_enabled;
const enrolledAlready = 'Two-factor authentication is already on; to use another device, turn it off first.';

/** A secret has at least 128 bits. Other clients may bring longer or shorter secrets than those that we propose. */
const Base32 = Type.String({
  pattern: '^[A-Za-z2-7]{26,128}$',
  'x-message': 'must be a secret of 26 to 128 characters in base32, as proposed by GET',
});
const Passcode = Type.String({ pattern: '^[0-9]{6}$', 'x-message': 'must be the six digits that the app shows' });
const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(Type.String()) });

export const proposeTotp = operation({
  summary: 'Propose a secret for an authenticator app; nothing is kept until a passcode confirms it',
  endpoint: 'GET /users/{user_id}/totp',
  on: UserEntity,
  rel: 'propose-totp',
  permission: 'user:security',
  allowedWhen: isNotEnrolled,
  otherwise: enrolledAlready,
  returns: plain(
    Type.Object({
      issuer: Type.String({ format: 'uri' }),
      account_name: Type.String(),
      secret: Type.String(),
      qr_code: Type.String({ description: 'A picture for the app to scan, as a data URI.' }),
    }),
  ),
  handle({ target: { email } }, { config }) {
    const secret = newTotpSecret();
    return Promise.resolve({ issuer: config.url, account_name: email, secret, qr_code: authenticatorQrCode(email, secret) });
  },
});

export const confirmTotp = operation({
  summary: 'Turn two-factor authentication on, with a passcode that proves the app has the secret',
  endpoint: 'POST /users/{user_id}/totp',
  on: UserEntity,
  rel: 'enable-totp',
  permission: 'user:security',
  allowedWhen: isNotEnrolled,
  otherwise: enrolledAlready,
  body: closed({ secret: Base32, passcode: Passcode }),
  example: { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', passcode: '123456' },
  returns: plain(RecoveryCodes),
  async handle({ target, body: { secret, passcode } }, platform) {
    const { db, secrets } = platform;
    await countAttempts(db, [{ limit: 'passcode of account', of: target.id }]);
    const stepUsed = stepOf(passcode, bytesOfBase32(secret));
    if (stepUsed === undefined)
      throw invalidField(
        'passcode',
        'is not what an app with this secret shows now; check the clock of the device, and type the newest passcode',
      );
    const recovery_codes = await db.transaction().execute(async (tx) => {
      const codes = await addSecondFactor(tx, secrets, { userId: target.id, secret, stepUsed });
      if (codes) await tellSecondFactor(tx, platform, target.email, 'on');
      return codes;
    });
    if (!recovery_codes) throw new Problem('conflict', enrolledAlready);
    await forgetAttempts(db, 'passcode of account', target.id);
    return { recovery_codes };
  },
});

export const removeTotp = operation({
  summary: 'Turn two-factor authentication off',
  endpoint: 'DELETE /users/{user_id}/totp',
  on: SecondFactorEntity,
  permission: 'user:security',
  returns: deleted,
  async handle({ caller, target }, platform) {
    await platform.db.transaction().execute(async (tx) => {
      if (await removeSecondFactor(tx, target.user_id)) await tellSecondFactor(tx, platform, caller.user.email, 'off');
    });
  },
});

export const createRecoveryCodes = operation({
  summary: 'Make new recovery codes; the old ones stop working',
  endpoint: 'POST /users/{user_id}/codes',
  on: SecondFactorEntity,
  permission: 'user:security',
  returns: plain(RecoveryCodes, 201),
  async handle({ target }, { db }) {
    const recovery_codes = await replaceRecoveryCodes(db, target.user_id);
    if (!recovery_codes) throw new Problem('not-found', 'No such second factor.');
    return { recovery_codes };
  },
});
