import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { countAttempts } from '../sign-in/public.ts';
import { displayName } from '../users/public.ts';
import { membersWithAddress, type Organization } from './queries.ts';

interface Outcome {
  code: number;
  message: string;
}

/** Mails each of the members; if one is not to be mailed just now, the others still get theirs. */
export async function remindOfMfa(platform: Platform, caller: Caller, organization: Organization, userIds: readonly string[]) {
  const { db, config } = platform;
  const asked = [...new Set(userIds)];
  if (asked.length === 0) return {};
  const members = new Map((await membersWithAddress(db, organization.id, asked)).map((member) => [member.id, member]));

  const remind = async (userId: string): Promise<Outcome> => {
    const member = members.get(userId);
    if (!member || member.deactivated) return { code: 404, message: 'No such member.' };
    if (member.mfa_enabled) return { code: 409, message: 'This member already uses two-factor authentication.' };
    try {
      await countAttempts(db, [
        { limit: 'mail to address', of: member.email },
        { limit: 'mail from user', of: caller.id },
      ]);
      await recordMail(db, platform, reminder(member.email, displayName(caller.user), organization.label, config.url));
      return { code: 200, message: 'The reminder was sent.' };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { code: error.status, message: error.message };
    }
  };

  const outcomes: Record<string, Outcome> = {};
  for (const userId of asked) outcomes[userId] = await remind(userId);
  return outcomes;
}

const reminder = (to: string, from: string, organization: string, url: string) => ({
  to,
  subject: 'Please enable two-factor authentication',
  text: `Hello,

${from} asks you to enable two-factor authentication for your account at ${url}.
The organization «${organization}» relies on it, or soon will: without it you may lose access to its projects.

In your account's security settings, add an authenticator app and keep the recovery codes in a safe place.
Then sign in again.
`,
});
