import type { User } from '../../identity.ts';
import type { Platform } from '../../platform.ts';
import { countAttempts, forgetAttempts, hashPassword, signOutEverywhere } from '../sign-in/public.ts';
import { changeUser, isEmail, userByEmail } from '../users/public.ts';
import { issueLink, linkOf, useLink } from './mailed-link.ts';
import { resetPasswordLetter, tellPasswordChanged } from './messages.ts';

/** Mails a link to the person's own address. */
export async function mailPasswordReset({ db, mail, config }: Platform, user: User): Promise<void> {
  await countAttempts(db, [
    { limit: 'mail for account', of: user.id },
    { limit: 'reset to address', of: user.email },
  ]);
  const link = await issueLink(db, config.url, { userId: user.id, purpose: 'reset-password', email: user.email });
  await mail.send({ to: user.email, ...resetPasswordLetter(link) });
}

/**
 * The same for whoever typed an address into a page. Nobody learns from the answer, nor from how long it takes, whether the address is known:
 * it is counted as typed, and everything else is done afterwards. `visitor` is the network, or who is known to be at the browser.
 */
export async function forgotPassword(platform: Platform, typed: string, visitor: string): Promise<void> {
  const email = typed.trim().toLowerCase();
  await countAttempts(platform.db, [
    { limit: 'reset from visitor', of: visitor },
    { limit: 'reset to address', of: email },
  ]);
  mailResetTo(platform, email).catch((error: unknown) => platform.log.error({ err: error }, 'a mail could not be sent'));
}

async function mailResetTo({ db, config, mail }: Platform, email: string) {
  const user = isEmail(email) ? await userByEmail(db, email) : undefined;
  if (!user || user.deactivated) return;
  const link = await issueLink(db, config.url, { userId: user.id, purpose: 'reset-password', email });
  await mail.send({ to: email, ...resetPasswordLetter(link) });
}

/** Whether it worked; every sign-in of the person ends, as whoever forgot a password may fear that it was found. */
export async function resetPassword(platform: Platform, token: string, password: string): Promise<boolean> {
  const { db } = platform;
  const link = await linkOf(db, 'reset-password', token);
  if (!link) return false;
  const password_hash = await hashPassword(password, link.id);
  const changed = await db.transaction().execute(async (tx) => {
    if (!(await useLink(tx, link))) return false;
    await changeUser(tx, link.id, { password_hash, email_verified: true });
    await signOutEverywhere(tx, link.id);
    return true;
  });
  if (!changed) return false;
  await forgetAttempts(db, 'sign-in to account', link.id);
  tellPasswordChanged(platform, link.email);
  return true;
}
