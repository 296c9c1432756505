import type { User } from '../../identity.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { countAttempts, forgetAttempts, hashPassword, signOutEverywhere } from '../sign-in/public.ts';
import { changeUser, isEmail, userByEmail } from '../users/public.ts';
import { issueLink, linkOf, recordOnPage, useLink } from './mailed-link.ts';
import { resetPasswordLetter, tellPasswordChanged } from './messages.ts';

/** Mails a link to the person's own address. */
export async function mailPasswordReset(platform: Platform, user: User): Promise<void> {
  await countAttempts(platform.db, [
    { limit: 'mail for account', of: user.id },
    { limit: 'reset to address', of: user.email },
  ]);
  await mailLink(platform, user);
}

/**
 * Mails a link to the address that somebody typed into a page. Nobody learns from the answer, nor from how long it takes, whether the address is
 * known: the attempt is counted for the address as typed, and the rest is done after the answer. `visitor` is the user whom the browser is known
 * for, or else the network.
 */
export async function forgotPassword(platform: Platform, typed: string, visitor: string): Promise<void> {
  const email = typed.trim().toLowerCase();
  await countAttempts(platform.db, [
    { limit: 'reset from visitor', of: visitor },
    { limit: 'reset to address', of: email },
  ]);
  mailResetTo(platform, email).catch((error: unknown) => platform.log.error({ err: error }, 'a mail could not be sent'));
}

async function mailResetTo(platform: Platform, email: string) {
  const user = isEmail(email) ? await userByEmail(platform.db, email) : undefined;
  if (user && !user.deactivated) await mailLink(platform, user);
}

const mailLink = (platform: Platform, { id, email }: User) =>
  platform.db.transaction().execute(async (tx) => {
    const link = await issueLink(tx, platform.config.url, { userId: id, purpose: 'reset-password', email });
    await recordMail(tx, platform, { to: email, ...resetPasswordLetter(link) });
  });

/** Returns whether the link still worked. Every sign-in of the person ends, because somebody else may have found the old password. */
export async function resetPassword(platform: Platform, token: string, password: string): Promise<boolean> {
  const { db } = platform;
  const link = await linkOf(db, 'reset-password', token);
  if (!link) return false;
  const password_hash = await hashPassword(password, link.id);
  const changed = await db.transaction().execute(async (tx) => {
    if (!(await useLink(tx, link))) return false;
    await changeUser(tx, link.id, { password_hash, email_verified: true });
    await signOutEverywhere(tx, link.id);
    await tellPasswordChanged(tx, platform, link.email);
    await recordOnPage(tx, link.id, 'resetPassword', 'Set a new password, by a mailed link');
    return true;
  });
  if (!changed) return false;
  await forgetAttempts(db, 'sign-in to account', link.id);
  return true;
}
