/**
 * Inviting somebody by mail. The token goes into the mail and nowhere else; what is kept is its hash. The mail is recorded with the invitation, so that there is
 * none without the other; one that is refused, or cannot be sent for a day, leaves the invitation behind as failed, so that one sees it and simply invites again.
 */
import type { Message } from '../../drivers/mail/mail.ts';
import { deliveryKind } from '../../kernel/delivery.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import { fingerprint, randomSecret } from '../../kernel/secrets.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { mailLane, recordDelivery, sendMail } from '../deliveries/public.ts';
import { lockOrganization, refuseWithoutRoom } from '../organizations/public.ts';
import { countAttempts } from '../sign-in/public.ts';
import { isEmail } from '../users/public.ts';
import { daysValid, invitationLetter } from './letter.ts';
import {
  closeFormer,
  finishInvitation,
  hasAccess,
  holdProject,
  insertInvitation,
  invitationById,
  memberByEmail,
  type Invitation,
  type Invited,
} from './queries.ts';

interface Asked extends Invited {
  permissions: string[];
  /** What the mail says one is invited to: «the organization Acme». */
  to: string;
  force: boolean;
}

/** Short enough for a mailed link to fit on a line. */
const tokenBytes = 16;

export async function invite(platform: Platform, caller: Caller, { to, force, ...asked }: Asked): Promise<Invitation> {
  const { db, config, secrets } = platform;
  const email = asked.email.toLowerCase();
  if (!isEmail(email)) throw invalidField('email', 'must be an e-mail address');
  await countAttempts(db, [
    { limit: 'mail to address', of: email },
    { limit: 'mail from user', of: caller.id },
  ]);
  const token = randomSecret(tokenBytes);
  return db.transaction().execute(async (tx) => {
    const invitation = await makeInvitation(tx, caller, { ...asked, email }, { token, force });
    const message = { to: email, ...invitationLetter({ from: caller.user, to, email, token, url: config.url }) };
    await recordDelivery(tx, secrets, invitationDelivery, { payload: { ...message, invitation: invitation.id }, ...mailLane(message) });
    return invitation;
  });
}

export const invitationDelivery = deliveryKind<Message & { invitation: string }>({
  kind: 'invitation',
  forgetsPayload: true,
  send: sendMail,
  onFailed: async (tx, { invitation }) => void (await finishInvitation(tx, invitation, 'fail')),
});

async function makeInvitation(
  tx: Tx,
  caller: Caller,
  asked: Omit<Asked, 'to' | 'force'>,
  { token, force }: { token: string; force: boolean },
) {
  const { organization_id, project_id, email } = asked;
  const organization = await lockOrganization(tx, organization_id);
  if (project_id !== null && !(await holdProject(tx, project_id))) throw new Problem('not-found', 'No such project.');
  const member = await memberByEmail(tx, organization_id, email);
  if (member) await refuseThoseInside(tx, member, project_id);
  await closeFormer(tx, asked, force);
  if (!member) await refuseWithoutRoom(tx, organization, email);
  const { id } = await insertInvitation(tx, { ...asked, owner_id: caller.id, token_fingerprint: fingerprint(token) }, daysValid);
  const invitation = await invitationById(tx, id);
  if (!invitation) throw new Error('The invitation just made is not there');
  return invitation;
}

async function refuseThoseInside(tx: Tx, member: { id: string; owner: boolean }, projectId: string | null) {
  if (projectId === null) throw new Problem('conflict', 'This person is already a member; change their permissions instead.');
  if (member.owner) throw new Problem('conflict', 'This person owns the organization and so already administers all its projects.');
  if (await hasAccess(tx, projectId, member.id)) {
    throw new Problem('conflict', 'This person already has access to the project; change that access instead.');
  }
}
