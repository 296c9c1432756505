/** Mail as a delivery: recorded with what it tells of, and sent until the mail server takes it or refuses the recipient. */
import type { Message } from '../../drivers/mail/mail.ts';
import { deliveryKind, type Sent } from '../../kernel/delivery.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordDelivery } from './record-delivery.ts';

export const mailDelivery = deliveryKind<Message>({ kind: 'mail', forgetsPayload: true, send: sendMail });

export const recordMail = (tx: Db | Tx, { secrets }: Pick<Platform, 'secrets'>, message: Message): Promise<string> =>
  recordDelivery(tx, secrets, mailDelivery, { payload: message, ...mailLane(message) });

/** Mail to one address arrives in the order of what it tells of. */
export const mailLane = ({ to }: Pick<Message, 'to'>) => ({ orderKey: `mail to ${to}`, party: 'mail' });

export async function sendMail({ mail }: Platform, message: Message): Promise<Sent> {
  try {
    await mail.send(message);
    return { outcome: 'delivered' };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { outcome: error.kind === 'unavailable' ? 'failed' : 'refused', trouble: error.message };
  }
}
