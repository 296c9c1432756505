import type { User } from '../../identity.ts';
import { displayName } from '../users/public.ts';

export const daysValid = 14;
export const acceptPath = '/accept-invitation';

interface Invitation {
  from: User;
  to: string;
  email: string;
  token: string;
  url: string;
}

export function invitationLetter({ from, to, email, token, url }: Invitation) {
  const sender = oneLine(displayName(from));
  return {
    subject: `${sender} invites you to ${oneLine(to)}`,
    text: `Hello,

${sender} (${from.email}) invites you to ${oneLine(to)} on Offshoot, at ${url}.
Open this page to accept:

${url}${acceptPath}?token=${token}

The link works once, for ${daysValid} days, and only for ${email}.
If you do not know the sender or do not want to join, do nothing.

-- 
Offshoot
`,
  };
}

const namedCharactersMax = 80;

/** A name that people chose, made safe for a mail header: without control characters and line breaks, and cut to a bounded length. */
export const oneLine = (text: string) =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, namedCharactersMax)
    .toWellFormed();
