/** How much mail is taken: of each environment by the operator's settings, and of all by what the machine can hold. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import type { RelayLimits } from '../../setting-values.ts';
import { Refusal } from './refusal.ts';
import type { MailSender, Standing } from './senders.ts';

const megabyte = 2 ** 20;

export const relayBounds = {
  /** Connections: all, those of one organization, and of one environment. A program needs few, as each can send many messages. */
  connections: 2000,
  connectionsOfOrganization: 200,
  connectionsOfEnvironment: 50,
  idleSeconds: 60,
  /** Bytes of messages that are being received: all, and those of one organization. */
  bytesInAll: 256 * megabyte,
  bytesOfOrganization: 64 * megabyte,
  /** How many messages are sealed and stored at once, for which each is copied a few times. */
  takenAtOnce: 4,
  /** Bytes of messages that wait to be sent, as all of them do while the mail server is away: all, and those of one organization. */
  waitingInAll: 4096 * megabyte,
  waitingOfOrganization: 512 * megabyte,
  /** How many servers a message may have passed; more is a circle. */
  hops: 50,
};
export type RelayBounds = typeof relayBounds;

export const messageBytesMax = ({ megabytes }: RelayLimits) => megabytes * megabyte;

const nextHour = (now: Date) => new Date(Math.ceil((now.getTime() + 1) / 3_600_000) * 3_600_000).toISOString().slice(11, 16);

/** `more`: recipients of the message that is to be sent. */
export function refuseBeyondLimits(
  { hour, day }: Pick<Standing, 'hour' | 'day'>,
  limits: RelayLimits,
  more: number,
  now = new Date(),
): void {
  if (hour + more > limits.hour)
    throw new Refusal(
      'limit',
      `An environment may send to ${limits.hour} recipients in an hour; the next hour begins at ${nextHour(now)} UTC.`,
    );
  if (day + more > limits.day)
    throw new Refusal('limit', `An environment may send to ${limits.day} recipients within 24 hours; try again later.`);
}

export async function refuseWithoutRoom(db: Db, { organizationId }: MailSender, bounds: RelayBounds): Promise<void> {
  const { rows } = await sql<{ ofOne: number; inAll: number }>`
    select coalesce(sum(bytes) filter (where organization_id = ${organizationId}), 0)::float8 as "ofOne", coalesce(sum(bytes), 0)::float8 as "inAll"
    from app_mails join projects on projects.id = project_id`.execute(db);
  const { ofOne = 0, inAll = 0 } = rows[0] ?? {};
  if (ofOne > bounds.waitingOfOrganization)
    throw new Refusal('room', 'Too much mail of this organization waits to be sent; try again later.');
  if (inAll > bounds.waitingInAll) throw new Refusal('room', 'Too much mail waits to be sent; try again later.');
}
