/** A ticket is seen by the people on it (who asked, who wrote it down, who was let in) and by operators, and by nobody else. */
import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { entity } from '../../kernel/operation.ts';
import { Time, unlessEmpty, Uuid } from '../../kernel/schema.ts';
import type { Caller, Platform } from '../../platform.ts';
import { categories, priorities, ticketTypes } from './categories.ts';
import { ticketLife } from './life-cycle.ts';
import { ticketById, type TicketRow } from './queries.ts';

const ticketIdPattern = '^[1-9][0-9]{0,8}$';

export const Priority = Type.String({ enum: priorities.map(({ id }) => id) });
export const Category = Type.String({ enum: Object.keys(categories) });
export const TicketType = Type.String({ enum: ticketTypes });

export type Ticket = ReturnType<typeof shownTicket>;

export const TicketEntity = entity({
  name: 'ticket',
  path: '/tickets/{ticket_id}',
  params: { ticket_id: Type.String({ pattern: ticketIdPattern }) },
  schema: Type.Object({
    ticket_id: Type.Integer(),
    created: Time,
    updated: Time,
    type: TicketType,
    subject: Type.String(),
    description: Type.String(),
    priority: Priority,
    status: Type.String({ enum: [...ticketLife.states] }),
    category: Category,
    followup_tid: unlessEmpty(Type.String()),
    recipient: Type.String({ description: 'The address that mail about it comes from.' }),
    requester_id: Uuid,
    submitter_id: unlessEmpty(Uuid),
    assignee_id: unlessEmpty(Uuid),
    collaborator_ids: Type.Array(Uuid),
    organization_id: unlessEmpty(Type.String()),
    subscription_id: unlessEmpty(Type.String()),
    project_url: unlessEmpty(Type.String()),
    region: unlessEmpty(Type.String()),
    affected_url: unlessEmpty(Type.String()),
    has_incidents: Type.Boolean(),
    due: unlessEmpty(Time),
    tags: Type.Array(Type.String()),
    response_time: unlessEmpty(Type.String({ format: 'date-time', description: 'When support answered first.' })),
    resolution_time: unlessEmpty(Type.String({ format: 'date-time', description: 'When it was solved.' })),
    zd_ticket_url: unlessEmpty(Type.String({ description: 'Where a help desk has it.' })),
  }),
  address: ({ ticket_id }: Ticket) => ({ ticket_id: String(ticket_id) }),
  scope: ({ viewer }) => (viewer === undefined ? {} : { user: viewer }),
  view: 'ticket:view',
  load: async ({ ticket_id }, { db, config }) => {
    const row = await ticketById(db, ticket_id);
    return row && shownTicket(row, config);
  },
});

/** `viewer`: the one whom it is shown to, if they are on it. */
export const shownTicket = (row: TicketRow, { url, mail }: Pick<Config, 'url' | 'mail'>, viewerId?: string) => ({
  ...row,
  ticket_id: Number(row.ticket_id),
  has_incidents: row.has_incidents === 'true',
  recipient: mail.from,
  project_url: row.project_id === null ? null : `${url}/projects/${row.project_id}`,
  tags: [] as string[],
  viewer: isOn(row, viewerId) ? viewerId : undefined,
});

const isOn = ({ requester_id, submitter_id, collaborator_ids }: TicketRow, userId: string | undefined) =>
  userId !== undefined && [requester_id, submitter_id, ...collaborator_ids].includes(userId);

/** The ticket as the caller sees it; others than operators find only those that they are on. */
export async function findTicket({ ticket_id }: { ticket_id: string }, caller: Caller, { db, config }: Platform) {
  const row = new RegExp(ticketIdPattern).test(ticket_id) ? await ticketById(db, ticket_id) : undefined;
  return row && shownTicket(row, config, caller.id);
}
