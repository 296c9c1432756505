import type { User } from '../../identity.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { countAttempts } from '../sign-in/public.ts';
import { changeUser, isEmail, userByEmail } from '../users/public.ts';
import { issueLink, linkOf, recordOnPage, useLink } from './mailed-link.ts';
import { confirmEmailLetter, emailChangedLetter } from './messages.ts';

/** Mails a link to the new address. The account keeps its address until somebody who reads that mail confirms the new one. */
export async function askToChangeEmail(platform: Platform, user: User, typed: string): Promise<void> {
  const { db, config } = platform;
  const email = typed.toLowerCase();
  if (!isEmail(email)) throw invalidField('email_address', 'must be an e-mail address');
  if (email === user.email) throw new Problem('conflict', 'This is already your e-mail address.');
  await countAttempts(db, [
    { limit: 'mail for account', of: user.id },
    { limit: 'mail to address', of: email },
  ]);
  if (await userByEmail(db, email)) throw new Problem('conflict', 'This e-mail address belongs to another user; use a different one.');
  await db.transaction().execute(async (tx) => {
    const link = await issueLink(tx, config.url, { userId: user.id, purpose: 'change-email', email });
    await recordMail(tx, platform, { to: email, ...confirmEmailLetter(link, user) });
  });
}

/** Changes the address and returns it, or undefined when the link no longer works. A mail tells the old address. */
export async function confirmEmail(platform: Platform, token: string): Promise<string | undefined> {
  const { db, config } = platform;
  const link = await linkOf(db, 'change-email', token);
  const email = link?.mailed_to;
  if (!link || typeof email !== 'string') return undefined;
  const changed = await db.transaction().execute(async (tx) => {
    if (!(await useLink(tx, link))) return false;
    await changeUser(tx, link.id, { email, email_verified: true });
    await recordMail(tx, platform, { to: link.email, ...emailChangedLetter(email, config.url) });
    await recordOnPage(tx, link.id, 'confirmEmail', 'Confirm a new e-mail address');
    return true;
  });
  return changed ? email : undefined;
}
