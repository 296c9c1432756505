/** `health.email`: one mail to each recipient. `#admins` and `#viewers` are whoever they are when the message is written down. */
import { sql } from 'kysely';
import type { Message } from '../../../drivers/mail/mail.ts';
import type { Tx } from '../../../kernel/sql.ts';
import { sendMail } from '../../deliveries/public.ts';
import { detailsOf, headingOf, type HealthMessage } from '../message.ts';
import { integrationDelivery, recordFor, type Receiver } from './receiver.ts';

interface EmailValues {
  recipients: string[];
  from_address: string | null;
}

const recipientsMax = 500;

const kind = integrationDelivery<Message>('integration.health.email', async (platform, { values }, content) => {
  const { from_address } = values as unknown as EmailValues;
  const sent = await sendMail(platform, { ...content, ...(from_address !== null && { from: from_address }) });
  return { ...sent, request: { method: 'MAIL', url: `mailto:${content.to}`, bytes: Buffer.byteLength(content.text) } };
});

export const email: Receiver = {
  kind,
  tell: async (tx, platform, integration, message) => {
    const { recipients } = integration.values as unknown as EmailValues;
    for (const to of await addressesFor(tx, integration.project_id, recipients))
      await recordFor(tx, platform, integration, kind, { to, subject: headingOf(message), text: letterOf(message) }, to);
  },
};

const letterOf = (message: HealthMessage) => `${message.alert.title}.

${message.alert.text}

${detailsOf(message)
  .map(([name, value]) => `${name}: ${value}`)
  .join('\n')}

Who is told of this is set in the integrations of the project: upsun integration:list --project ${message.project.id}
`;

/** Each address once, in the order in which they are locked (record-delivery.ts). The owner of the organization is admin of all its projects. */
export async function addressesFor(tx: Tx, projectId: string, recipients: readonly string[]): Promise<string[]> {
  const [hasAdmins, hasViewers] = [recipients.includes('#admins'), recipients.includes('#viewers')];
  const named = recipients.filter((each) => !each.startsWith('#')).map((each) => each.toLowerCase());
  const people = hasAdmins || hasViewers ? await peopleOf(tx, projectId, !hasViewers) : [];
  return [...new Set([...named, ...people])].slice(0, recipientsMax).toSorted();
}

async function peopleOf(tx: Tx, projectId: string, onlyAdmins: boolean): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select distinct users.email from projects join organizations on organizations.id = projects.organization_id
    join users on users.id = organizations.owner_id
      or users.id in (select user_id from user_access where project_id = projects.id and (${!onlyAdmins} or 'admin' = any(permissions)))
      or users.id in (
        select team_members.user_id from team_access join teams on teams.id = team_access.team_id
        join team_members on team_members.team_id = teams.id
        where team_access.project_id = projects.id and (${!onlyAdmins} or 'admin' = any(teams.project_permissions)))
    where projects.id = ${projectId} and not users.deactivated order by users.email limit ${recipientsMax}`.execute(tx);
  return rows.map(({ email: address }) => address);
}
