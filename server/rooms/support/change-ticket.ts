/** Changing a ticket. People on it solve it, open it again and let others in; operators also say how urgent it is, what it is and who takes care of it. */
import { Type, type Static } from 'typebox';
import { invalidField, Problem } from '../../kernel/problem.ts';
import { closed, Time, Uuid } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { displayName, profile as userFields, userById } from '../users/public.ts';
import { eventFor, statusesOfPeople, ticketLife, type AskedStatus, type TicketStatus } from './life-cycle.ts';
import { CollaboratorIds, collaboratorsOf } from './open-ticket.ts';
import { addCollaborators, happened, removeCollaborators, ticketById, type TicketRow } from './queries.ts';
import { tellTicket, type Teller, type TicketNews } from './tell-ticket.ts';
import { Priority, shownTicket, TicketType, type Ticket } from './ticket.ts';

const forOperators = {
  priority: Priority,
  type: TicketType,
  assignee_id: Uuid,
  has_incidents: Type.Boolean(),
  due: Time,
  zd_ticket_url: userFields.website,
};

export const TicketChange = Type.Partial(
  closed({
    status: Type.Unsafe<AskedStatus>({
      type: 'string',
      enum: Object.keys(eventFor),
      description: `${statusesOfPeople.join(' or ')}; the others are for operators.`,
    }),
    collaborator_ids: CollaboratorIds,
    collaborators_replace: Type.Boolean({ description: 'Whether those who are not named lose the ticket; otherwise the named are added.' }),
    ...forOperators,
  }),
);

type Change = Static<typeof TicketChange>;

/** Answers undefined where the ticket is so already. */
export async function changeTicket(platform: Platform, caller: Caller, ticket: Ticket, change: Change): Promise<Ticket | undefined> {
  const { db } = platform;
  if (!caller.user.is_operator) refuseOperatorsPart(change);
  const { collaborator_ids, collaborators_replace = false } = change;
  const collaborators = collaborator_ids && (await collaboratorsOf(db, caller, ticket.organization_id, collaborator_ids));
  if (change.assignee_id !== undefined) await refuseUnlessOperator(db, change.assignee_id);
  const by = { id: caller.id, name: displayName(caller.user) };
  return db.transaction().execute(async (tx) => {
    const row = await ticketById(tx, String(ticket.ticket_id));
    if (!row) throw new Problem('not-found', 'No such ticket.');
    const event = change.status === undefined || change.status === row.status ? 'change' : eventFor[change.status];
    const columns = changedColumns(change, row);
    const isPeopleChange = collaborators !== undefined && isOtherThan(row.collaborator_ids, collaborators, collaborators_replace);
    if (event === 'change' && Object.keys(columns).length === 0 && !isPeopleChange) return undefined;
    if (!(await happened(tx, ticket.ticket_id, event, columns)))
      throw new Problem('conflict', ticketLife.otherwise(row.status as TicketStatus, event));
    if (isPeopleChange && collaborators_replace) await removeCollaborators(tx, ticket.ticket_id);
    if (isPeopleChange) await addCollaborators(tx, ticket.ticket_id, collaborators);
    return afterwards(tx, platform, ticket.ticket_id, caller.id, { event: 'changed', by, text: sayings(change).join('\n') });
  });
}

/** Reads the ticket as it is now, and has everybody told. */
export async function afterwards(tx: Tx, platform: Teller, id: number, viewerId: string | undefined, news: TicketNews): Promise<Ticket> {
  const row = await ticketById(tx, String(id));
  if (!row) throw new Problem('not-found', 'No such ticket.');
  const ticket = shownTicket(row, platform.config, viewerId);
  await tellTicket(tx, platform, ticket, news);
  return ticket;
}

function refuseOperatorsPart(change: Change) {
  const field = Object.keys(forOperators).find((name) => Object.hasOwn(change, name));
  if (field !== undefined) throw new Problem('forbidden', `Only operators can change ${field} of a ticket.`);
  if (change.status !== undefined && !statusesOfPeople.includes(change.status))
    throw new Problem('forbidden', `You can make a ticket ${statusesOfPeople.join(' or ')}; only operators can make it ${change.status}.`);
}

async function refuseUnlessOperator(db: Db, userId: string) {
  const assignee = await userById(db, userId);
  if (!assignee?.is_operator || assignee.deactivated) throw invalidField('assignee_id', 'must be an operator of this installation');
}

const isOtherThan = (present: readonly string[], wanted: readonly string[], replaces: boolean) =>
  wanted.some((id) => !present.includes(id)) || (replaces && present.some((id) => !wanted.includes(id)));

/** The columns behind what operators set; those that are so already are left out, as are those that were not named. */
const columnOf = {
  priority: 'priority',
  type: 'type',
  assignee_id: 'assignee_id',
  has_incidents: 'has_incidents',
  due: 'due',
  zd_ticket_url: 'help_desk_url',
} as const satisfies Record<keyof typeof forOperators, string>;

const changedColumns = (change: Change, row: TicketRow) =>
  Object.fromEntries(
    (Object.keys(columnOf) as (keyof typeof columnOf)[])
      .filter((field) => change[field] !== undefined && String(change[field]) !== row[field])
      .map((field) => [columnOf[field], change[field]]),
  );

const words: Record<string, string> = {
  status: 'Status',
  priority: 'Priority',
  type: 'Type',
  due: 'Due',
  zd_ticket_url: 'At the help desk',
};

function sayings(change: Change): string[] {
  const values = Object.entries(change).flatMap(([name, value]) => (words[name] === undefined ? [] : [`${words[name]}: ${String(value)}`]));
  return [
    ...values,
    ...(change.assignee_id === undefined ? [] : ['Somebody takes care of it now.']),
    ...(change.collaborator_ids === undefined ? [] : ['Other people are on it now.']),
  ];
}
