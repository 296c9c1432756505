/** Takes a message: once this has answered, the message is on disk, and is sent whatever happens to the platform. */
import { sql } from 'kysely';
import type { Envelope } from '../../drivers/mail/relayed-mail.ts';
import { ulid } from '../../kernel/id.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordDelivery } from '../deliveries/public.ts';
import { refuseBeyondLimits } from './limits.ts';
import { laneOf, mailOfApp } from './send-mail.ts';
import { sealedEnvelope, sealedMessage } from './sealed-mail.ts';
import { thisHour, type MailSender } from './senders.ts';

type Parts = Pick<Platform, 'db' | 'secrets' | 'config'>;

/** Answers the id under which the message is found in logs. Throws a Refusal where the environment has sent too much. */
export async function takeMail({ db, secrets, config }: Parts, sender: MailSender, envelope: Envelope, message: Buffer): Promise<string> {
  const id = ulid();
  const stamped = Buffer.concat([Buffer.from(receivedHeader(config.domain, id)), message]);
  const { projectId, organizationId, environmentId, machineName, app } = sender;
  await db.transaction().execute(async (tx) => {
    const spent = await countRecipients(tx, sender, envelope.to.length);
    refuseBeyondLimits(spent, config.relay.limits, 0);
    await tx
      .insertInto('app_mails')
      .values({
        id,
        project_id: projectId,
        environment_id: environmentId,
        machine_name: machineName,
        app,
        bytes: stamped.length,
        envelope_sealed: sealedEnvelope(secrets, id, envelope),
        message_sealed: sealedMessage(secrets, id, stamped),
      })
      .execute();
    await recordDelivery(tx, secrets, mailOfApp, {
      payload: { mail: id, isDeferred: false },
      orderKey: laneOf(projectId, environmentId),
      party: organizationId,
      organizationId,
      projectId,
    });
  });
  return id;
}

/** Every server that a message passes says so in it. This line leads from a complaint to the log, and tells nobody else anything. */
const receivedHeader = (domain: string, id: string) =>
  `Received: by ${domain} with ESMTP id ${id};\r\n ${new Date().toUTCString().replace('GMT', '+0000')}\r\n`;

/** Until the transaction ends, other messages of the environment wait: together they cannot be more than is allowed. */
async function countRecipients(tx: Tx, { projectId, environmentId }: MailSender, more: number): Promise<{ hour: number; day: number }> {
  await sql`
    insert into app_mail_hours (project_id, environment_id, hour, recipients) values (${projectId}, ${environmentId}, ${thisHour}, ${more})
    on conflict (project_id, environment_id, hour) do update set recipients = app_mail_hours.recipients + excluded.recipients`.execute(tx);
  const { rows } = await sql<{ hour: number; day: number }>`
    select coalesce(sum(recipients) filter (where hour = ${thisHour}), 0)::integer as hour, coalesce(sum(recipients), 0)::integer as day
    from app_mail_hours where project_id = ${projectId} and environment_id = ${environmentId} and hour > now() - interval '24 hours'`.execute(
    tx,
  );
  return rows[0] ?? { hour: more, day: more };
}
