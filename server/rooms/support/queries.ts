import { sql, type Insertable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { ticketLife, type TicketEvent } from './life-cycle.ts';

/** A ticket in the words of the API; ids and flags are texts, as filters compare them. */
export interface TicketRow {
  ticket_id: string;
  created: string;
  updated: string;
  type: string;
  category: string;
  priority: string;
  status: string;
  subject: string;
  description: string;
  requester_id: string;
  submitter_id: string | null;
  assignee_id: string | null;
  collaborator_ids: string[];
  organization_id: string | null;
  project_id: string | null;
  subscription_id: string | null;
  region: string | null;
  followup_tid: string | null;
  affected_url: string;
  has_incidents: string;
  due: string | null;
  response_time: string | null;
  resolution_time: string | null;
  zd_ticket_url: string;
}

const tickets = (db: Db | Tx) =>
  db
    .selectFrom(
      sql<TicketRow>`(
        select tickets.id::text as ticket_id, tickets.created_at as created, tickets.updated_at as updated, tickets.type, category, priority,
          tickets.status, subject, tickets.description, requester_id::text, submitter_id::text, assignee_id::text,
          array(select user_id::text from ticket_collaborators where ticket_id = tickets.id order by 1) as collaborator_ids,
          tickets.organization_id, tickets.project_id, projects.subscription_id::text, projects.region, followup_id::text as followup_tid,
          affected_url, has_incidents::text, due, responded_at as response_time, resolved_at as resolution_time, help_desk_url as zd_ticket_url,
          tickets.id as number
        from tickets left join projects on projects.id = tickets.project_id)`.as('tickets'),
    )
    .selectAll();

export const ticketById = (db: Db | Tx, id: string): Promise<TicketRow | undefined> =>
  tickets(db)
    .where(sql<boolean>`number = ${id}::integer`)
    .executeTakeFirst();

export interface TicketsAsked {
  /** Only those that this person is on. */
  userId?: string | undefined;
  /** Only those with this in the subject or the description. */
  search?: string | undefined;
}

export function ticketsPage(db: Db, list: ListRequest, { userId, search }: TicketsAsked): Promise<Page<TicketRow>> {
  let asked = tickets(db);
  if (userId !== undefined)
    asked = asked.where(sql<boolean>`${userId} in (requester_id, submitter_id) or ${userId} = any(collaborator_ids)`);
  if (search !== undefined) asked = asked.where(sql<boolean>`strpos(lower(subject || ' ' || description), lower(${search})) > 0`);
  return paged(asked, list, 'ticket_id');
}

const shownMax = 1000;

/** For the operator at the machine: what waits for somebody, the oldest first. */
export const remainingTickets = (db: Db): Promise<TicketRow[]> =>
  tickets(db).where(ticketLife.sqlPossible('status', 'remain')).orderBy('created').limit(shownMax).execute();

export const remainingCount = async (tx: Tx, requesterId: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from tickets where requester_id = ${requesterId} and ${ticketLife.sqlPossible('status', 'remain')}`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
};

export const insertTicket = (tx: Tx, ticket: Insertable<Database['tickets']>): Promise<{ id: number }> =>
  tx.insertInto('tickets').values(ticket).returning('id').executeTakeFirstOrThrow();

/** Notes that something happened to a ticket, and what follows for its status. False: it cannot happen any more. */
export async function happened(tx: Tx, id: number, event: TicketEvent, changes: Updateable<Database['tickets']> = {}): Promise<boolean> {
  const changed = await tx
    .updateTable('tickets')
    .set({
      ...changes,
      status: ticketLife.sqlAfter('status', event),
      updated_at: sql<string>`clock_timestamp()`,
      ...(event === 'answer' && { responded_at: sql<string>`coalesce(responded_at, clock_timestamp())` }),
      ...((event === 'solve' || event === 'close') && { resolved_at: sql<string>`coalesce(resolved_at, clock_timestamp())` }),
      ...((event === 'reopen' || event === 'reply') && { resolved_at: null }),
    })
    .where('id', '=', id)
    .where(ticketLife.sqlPossible('status', event))
    .returning('id')
    .executeTakeFirst();
  return changed !== undefined;
}

export async function addCollaborators(tx: Tx, ticketId: number, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  await tx
    .insertInto('ticket_collaborators')
    .values(userIds.map((user_id) => ({ ticket_id: ticketId, user_id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export const removeCollaborators = (tx: Tx, ticketId: number) =>
  tx.deleteFrom('ticket_collaborators').where('ticket_id', '=', ticketId).execute();

/** Those of the people who are active and in the organization or, where none is named, in one with the person who names them. */
export async function fellowsAmong(db: Db | Tx, userId: string, organizationId: string | null, userIds: readonly string[]) {
  const { rows } = await sql<{ id: string }>`
    select users.id from users where users.id = any(${userIds}::uuid[]) and not users.deactivated and exists (
      select from organization_members as theirs join organization_members as mine on mine.organization_id = theirs.organization_id
      where theirs.user_id = users.id and mine.user_id = ${userId} and theirs.organization_id = coalesce(${organizationId}, theirs.organization_id))`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

export const activeAmong = async (db: Db | Tx, userIds: readonly string[]): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from users where id = any(${userIds}::uuid[]) and not deactivated`.execute(db);
  return rows.map(({ id }) => id);
};

export interface Comment {
  id: number;
  author_id: string | null;
  author: string | null;
  is_answer: boolean;
  text: string;
  created: string;
}

/** What was said about a ticket, in order. */
export const commentsOf = async (db: Db | Tx, ticketId: number, most: number): Promise<Comment[]> => {
  const { rows } = await sql<Comment>`
    select comments.id, author_id::text, users.email as author, is_answer, text, comments.created_at as created
    from ticket_comments as comments left join users on users.id = author_id
    where ticket_id = ${ticketId} order by comments.id limit ${most}`.execute(db);
  return rows;
};

export const commentCount = async (tx: Tx, ticketId: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from ticket_comments where ticket_id = ${ticketId}`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
};

export const insertComment = (tx: Tx, comment: Insertable<Database['ticket_comments']>): Promise<{ id: number; created_at: string }> =>
  tx.insertInto('ticket_comments').values(comment).returning(['id', 'created_at']).executeTakeFirstOrThrow();

export interface AttachmentRow {
  id: number;
  comment_id: number | null;
  filename: string;
  size: number;
  created: string;
}

export const attachmentsOf = async (db: Db | Tx, ticketId: number, most: number): Promise<AttachmentRow[]> => {
  const { rows } = await sql<AttachmentRow>`
    select id, comment_id, filename, size, created_at as created from ticket_attachments
    where ticket_id = ${ticketId} order by id limit ${most}`.execute(db);
  return rows;
};

export const attachmentById = (db: Db, ticketId: number, id: number) =>
  db.selectFrom('ticket_attachments').selectAll().where('ticket_id', '=', ticketId).where('id', '=', id).executeTakeFirst();

export const attachedBytes = async (tx: Tx, ticketId: number): Promise<number> => {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(size), 0)::int as bytes from ticket_attachments where ticket_id = ${ticketId}`.execute(tx);
  return rows[0]?.bytes ?? 0;
};

export const insertAttachments = async (tx: Tx, attachments: Insertable<Database['ticket_attachments']>[]): Promise<void> => {
  if (attachments.length > 0) await tx.insertInto('ticket_attachments').values(attachments).execute();
};

/** Those of the files that a row names. */
export const namedFiles = async (db: Db, files: readonly string[]): Promise<Set<string>> => {
  const { rows } = await sql<{ file: string }>`select file::text from ticket_attachments where file = any(${files}::uuid[])`.execute(db);
  return new Set(rows.map(({ file }) => file));
};
