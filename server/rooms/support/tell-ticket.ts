/**
 * Has everybody told of what happened to a ticket, with the transaction in which it did: the people on it and support by mail, and a help desk by a webhook. Whoever
 * did it is not told, except for the one who asked: a new ticket is confirmed.
 */
import { sql } from 'kysely';
import { deliveryKind } from '../../kernel/delivery.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordDelivery, recordMail, sendRequest } from '../deliveries/public.ts';
import { webhookRequest } from '../integrations/public.ts';
import type { Ticket } from './ticket.ts';

export interface TicketNews {
  event: 'opened' | 'answered' | 'replied' | 'changed';
  /** Undefined: the operator at the machine. */
  by: { id: string; name: string } | undefined;
  /** What was said, or what is different now. */
  text: string;
}

export type Teller = Pick<Platform, 'config' | 'secrets'>;

const said: Record<TicketNews['event'], string> = {
  opened: 'opened the ticket',
  answered: 'answered',
  replied: 'replied',
  changed: 'changed the ticket',
};

export async function tellTicket(tx: Tx, platform: Teller, ticket: Ticket, news: TicketNews): Promise<void> {
  const { config, secrets } = platform;
  for (const to of await addressesFor(tx, platform, ticket, news))
    await recordMail(tx, platform, { to, ...letter(ticket, news, config.url) });
  if (!config.support.webhook) return;
  const { viewer: _viewer, ...shown } = ticket;
  const payload = JSON.stringify({ event: news.event, by: news.by ?? null, text: news.text, ticket: shown });
  await recordDelivery(tx, secrets, helpDeskDelivery, {
    payload,
    orderKey: 'support webhook',
    party: 'support',
    about: { ticket: ticket.ticket_id, event: news.event },
  });
}

/** In the order of the addresses, which is that of their lanes. Support is its own address where one is set, otherwise whoever takes care of the ticket, or all operators. */
async function addressesFor(tx: Tx, { config }: Teller, ticket: Ticket, { event, by }: TicketNews): Promise<string[]> {
  const people = [ticket.requester_id, ...ticket.collaborator_ids, ...(ticket.assignee_id === null ? [] : [ticket.assignee_id])];
  const isForOperators = config.support.email === undefined && ticket.assignee_id === null;
  const { rows } = await sql<{ id: string; email: string }>`
    select id::text, lower(email) as email from users
    where not deactivated and (id = any(${people}::uuid[]) or (${isForOperators} and is_operator))`.execute(tx);
  const isTold = (id: string) => id !== by?.id || (event === 'opened' && id === ticket.requester_id);
  const addresses = rows.filter(({ id }) => isTold(id)).map(({ email }) => email);
  return [...new Set([...addresses, ...(config.support.email === undefined ? [] : [config.support.email.toLowerCase()])])].sort();
}

function letter({ ticket_id, subject, status, priority }: Ticket, { event, by, text }: TicketNews, url: string) {
  return {
    subject: `[Ticket ${ticket_id}] ${subject}`,
    text: `${by?.name ?? 'Support'} ${said[event]}.

${text}

Ticket ${ticket_id} at ${url} is ${status}, its priority ${priority}.
`,
  };
}

/** Where it goes, and by which key it is signed, is what is set as it is sent. */
export const helpDeskDelivery = deliveryKind<string>({
  kind: 'support.webhook',
  send: async ({ config, outbound }, body, { id, signal }) => {
    const { webhook } = config.support;
    if (!webhook) return { outcome: 'refused', trouble: 'No webhook of a help desk is set any more.' };
    const { headers, ...request } = webhookRequest(webhook, body);
    return sendRequest(outbound, { ...request, headers: { ...headers, 'x-delivery-id': id }, signal });
  },
});
