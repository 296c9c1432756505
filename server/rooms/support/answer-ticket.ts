/** What is said about a ticket: people on it reply, support answers. */
import { Type, type Static } from 'typebox';
import { Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { countAttempts } from '../sign-in/public.ts';
import { displayName } from '../users/public.ts';
import { attach, Attachments, withAttachments, type KeptFile } from './attachments.ts';
import { afterwards } from './change-ticket.ts';
import { ticketLife, type TicketStatus } from './life-cycle.ts';
import { Description } from './open-ticket.ts';
import { commentCount, happened, insertComment, ticketById } from './queries.ts';
import type { Teller, TicketNews } from './tell-ticket.ts';
import type { Ticket } from './ticket.ts';

export const commentsMax = 500;

export const NewComment = closed({ text: Description, attachments: Attachments });

/** Whoever is on the ticket replies, also an operator; other operators answer. */
export async function commentOn(platform: Platform, caller: Caller, ticket: Ticket, comment: Static<typeof NewComment>) {
  const isAnswer = ticket.viewer === undefined;
  if (!caller.user.is_operator) await countAttempts(platform.db, [{ limit: 'mail from user', of: caller.id }]);
  return sayAbout(platform, ticket.ticket_id, isAnswer, { id: caller.id, name: displayName(caller.user) }, comment);
}

export async function sayAbout(
  platform: Teller & { db: Db },
  ticketId: number,
  isAnswer: boolean,
  by: TicketNews['by'],
  { text, attachments }: Static<typeof NewComment>,
) {
  const say = async (tx: Tx, files: readonly KeptFile[]) => {
    const row = await ticketById(tx, String(ticketId));
    if (!row) throw new Problem('not-found', 'No such ticket.');
    const event = isAnswer ? 'answer' : 'reply';
    if (!(await happened(tx, ticketId, event))) throw new Problem('conflict', ticketLife.otherwise(row.status as TicketStatus, event));
    if ((await commentCount(tx, ticketId)) >= commentsMax)
      throw new Problem('conflict', `A ticket can have ${commentsMax} comments; open another one that follows it up (followup_tid).`);
    const { id, created_at } = await insertComment(tx, { ticket_id: ticketId, author_id: by?.id ?? null, is_answer: isAnswer, text });
    await attach(tx, ticketId, id, files);
    await afterwards(tx, platform, ticketId, by?.id, { event: isAnswer ? 'answered' : 'replied', by, text });
    return { id, author_id: by?.id ?? null, is_answer: isAnswer, text, created: created_at };
  };
  return withAttachments(platform.config, attachments, (files) => platform.db.transaction().execute((tx) => say(tx, files)));
}

/** For the operator at the machine. */
export const closeTicket = (platform: Teller & { db: Db }, ticketId: number): Promise<Ticket> =>
  platform.db.transaction().execute(async (tx) => {
    if (!(await happened(tx, ticketId, 'close'))) throw new Problem('not-found', `There is no ticket ${ticketId}.`);
    return afterwards(tx, platform, ticketId, undefined, { event: 'changed', by: undefined, text: 'Status: closed' });
  });

export const Comment = Type.Object({
  id: Type.Integer(),
  author_id: Type.Union([Type.String(), Type.Null()]),
  is_answer: Type.Boolean({ description: 'Whether support said it.' }),
  text: Type.String(),
  created: Type.String({ format: 'date-time' }),
});
