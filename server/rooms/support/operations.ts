import { Type } from 'typebox';
import { one, operation, page, plain, updatedUnlessSame } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { inMilliseconds } from '../../kernel/schema.ts';
import { readKept } from './attached-files.ts';
import { Comment, commentOn, commentsMax, NewComment } from './answer-ticket.ts';
import { categories, priorities } from './categories.ts';
import { changeTicket, TicketChange } from './change-ticket.ts';
import { NewTicket, openTicket } from './open-ticket.ts';
import { attachmentById, attachmentsOf, commentsOf, ticketsPage } from './queries.ts';
import { findTicket, shownTicket, TicketEntity } from './ticket.ts';

export const listTickets = operation({
  summary: 'List the tickets that one is on; operators see all',
  endpoint: 'GET /tickets',
  permission: 'signed-in',
  query: Type.Object({
    search: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'In the subject or the description.' })),
  }),
  returns: page(TicketEntity, {
    key: 'tickets',
    sort: ['created', 'updated'],
    filter: {
      ticket_id: 'string',
      created: 'time',
      updated: 'time',
      type: 'string',
      priority: 'string',
      status: 'string',
      requester_id: 'string',
      submitter_id: 'string',
      assignee_id: 'string',
      has_incidents: 'string',
      due: 'time',
      organization_id: 'string',
      subscription_id: 'string',
      category: 'string',
    },
  }),
  handle: async ({ caller, list, query: { search } }, { db, config }) => {
    const found = await ticketsPage(db, list, { search, userId: caller.user.is_operator ? undefined : caller.id });
    return { ...found, rows: found.rows.map((row) => shownTicket(row, config, caller.id)) };
  },
});

export const createTicket = operation({
  summary: 'Open a ticket',
  endpoint: 'POST /tickets',
  permission: 'signed-in',
  body: NewTicket,
  example: {
    subject: 'The shop is slow',
    description: 'Since this morning, every page takes a second.',
    priority: 'high',
    category: 'bug_report',
  },
  returns: one(TicketEntity),
  handle: ({ caller, body }, platform) => openTicket(platform, caller, body),
});

export const getTicket = operation({
  summary: 'Show a ticket',
  endpoint: 'GET /tickets/{ticket_id}',
  on: TicketEntity,
  find: findTicket,
  permission: 'ticket:view',
  returns: one(TicketEntity),
  handle: async ({ target }) => target,
});

export const updateTicket = operation({
  summary: 'Change a ticket: solve it, open it again, let others in',
  endpoint: 'PATCH /tickets/{ticket_id}',
  on: TicketEntity,
  find: findTicket,
  rel: 'update',
  permission: 'ticket:change',
  body: TicketChange,
  example: { status: 'solved' },
  returns: updatedUnlessSame(TicketEntity),
  handle: ({ caller, target, body }, platform) => changeTicket(platform, caller, target, body),
});

const Choice = { id: Type.String(), label: Type.String() };
const Query = { subscription_id: Type.Optional(Type.String({ maxLength: 20 })) };

export const listTicketPriorities = operation({
  summary: 'List how urgent a ticket can be',
  endpoint: 'GET /tickets/priority',
  permission: 'signed-in',
  query: Type.Object({ ...Query, category: Type.Optional(Type.String({ maxLength: 100 })) }),
  returns: plain(Type.Array(Type.Object({ ...Choice, short_description: Type.String(), description: Type.String() }))),
  handle: async () => priorities,
});

export const listTicketCategories = operation({
  summary: 'List what a ticket can be about',
  endpoint: 'GET /tickets/category',
  permission: 'signed-in',
  query: Type.Object({ ...Query, organization_id: Type.Optional(Type.String({ maxLength: 100 })) }),
  returns: plain(Type.Array(Type.Object(Choice))),
  handle: async () => Object.entries(categories).map(([id, { label }]) => ({ id, label })),
});

/** The published API has no comments; without them, nobody could be answered. */
export const listTicketComments = operation({
  summary: 'List what was said about a ticket, in order',
  endpoint: 'GET /tickets/{ticket_id}/comments',
  on: TicketEntity,
  find: findTicket,
  rel: 'comments',
  permission: 'ticket:view',
  returns: plain(Type.Object({ count: Type.Integer(), comments: Type.Array(Comment) })),
  handle: async ({ target }, { db }) => {
    const comments = await commentsOf(db, target.ticket_id, commentsMax);
    return { count: comments.length, comments: comments.map((comment) => ({ ...comment, created: inMilliseconds(comment.created) })) };
  },
});

export const createTicketComment = operation({
  summary: 'Say something about a ticket: operators who are not on it answer it',
  endpoint: 'POST /tickets/{ticket_id}/comments',
  on: TicketEntity,
  find: findTicket,
  rel: 'comment',
  permission: 'ticket:change',
  body: NewComment,
  example: { text: 'It is fast again.' },
  returns: plain(Comment, 201),
  handle: async ({ caller, target, body }, platform) => {
    const comment = await commentOn(platform, caller, target, body);
    return { ...comment, created: inMilliseconds(comment.created) };
  },
});

const attachmentsMax = 1000;
const attachmentFields = { id: Type.Integer(), filename: Type.String(), size: Type.Integer({ description: 'Bytes' }) };

export const listTicketAttachments = operation({
  summary: 'List the files that came with a ticket and its comments',
  endpoint: 'GET /tickets/{ticket_id}/attachments',
  on: TicketEntity,
  find: findTicket,
  rel: 'attachments',
  permission: 'ticket:view',
  returns: plain(
    Type.Object({
      count: Type.Integer(),
      attachments: Type.Array(Type.Object({ ...attachmentFields, comment_id: Type.Union([Type.Integer(), Type.Null()]) })),
    }),
  ),
  handle: async ({ target }, { db }) => {
    const attachments = await attachmentsOf(db, target.ticket_id, attachmentsMax);
    return { count: attachments.length, attachments };
  },
});

export const getTicketAttachment = operation({
  summary: 'Get a file that came with a ticket',
  endpoint: 'GET /tickets/{ticket_id}/attachments/{attachment_id}',
  on: TicketEntity,
  find: findTicket,
  permission: 'ticket:view',
  returns: plain(Type.Object({ ...attachmentFields, data: Type.String({ description: 'The content, as base64.' }) })),
  handle: async ({ target, params: { attachment_id } }, { db, config }) => {
    const found = /^[1-9]\d{0,8}$/.test(attachment_id) ? await attachmentById(db, target.ticket_id, Number(attachment_id)) : undefined;
    if (!found) throw new Problem('not-found', 'No such attachment.');
    const { id, filename, size, file, content } = found;
    const read = file === null ? content : await readKept(config.data, file);
    return { id, filename, size, data: read?.toString('base64') ?? '' };
  },
});
