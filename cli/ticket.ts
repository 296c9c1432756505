/** Support, for the operator at the machine: tickets that wait, what was said about them, and an answer. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import {
  attachmentsOf,
  closeTicket,
  commentsMax,
  commentsOf,
  remainingTickets,
  sayAbout,
  ticketById,
} from '../server/rooms/support/work.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
import { operate } from './database.ts';
import { say } from './say.ts';
import { withSecrets } from './with-secrets.ts';

const attachmentsMax = 1000;

export const listTickets = () =>
  operate(async (db) => {
    for (const { ticket_id, status, priority, created, subject } of await remainingTickets(db))
      say([ticket_id, status, priority, created.slice(0, 19), subject].join('  '));
  });

export const showTicket = ([id = '']: string[]) =>
  operate(async (db) => {
    const { subject, status, priority, category, requester_id, description, created } = await known(db, id);
    const { email } = await db.selectFrom('users').select('email').where('id', '=', requester_id).executeTakeFirstOrThrow();
    say(`${subject}\n${status}, ${priority}, ${category}; ${email}, ${created.slice(0, 19)}\n\n${description}`);
    for (const { author, is_answer, text, created: at } of await commentsOf(db, Number(id), commentsMax))
      say(`\n${author ?? (is_answer ? 'Support' : 'somebody who is gone')}, ${at.slice(0, 19)}\n${text}`);
    for (const { filename, size } of await attachmentsOf(db, Number(id), attachmentsMax)) say(`\nAttached: ${filename}, ${size} bytes`);
  });

export const answerTicket = ([id = '']: string[], input: () => string) =>
  withSecrets(async (platform) => {
    const ticket = await known(platform.db, id);
    const text = input().trim();
    if (text === '') throw new Problem('invalid-request', 'Give the answer on standard input.');
    await recordedFor(platform.db, ticket, 'ticket answer', 'Answer a ticket', () =>
      sayAbout(platform, Number(id), true, undefined, { text }),
    );
    console.log(`Ticket ${id} is answered; the people on it are told by mail.`);
  });

export const closeTicketAt = ([id = '']: string[]) =>
  withSecrets(async (platform) => {
    const ticket = await known(platform.db, id);
    await recordedFor(platform.db, ticket, 'ticket close', 'Close a ticket', () => closeTicket(platform, Number(id)));
    console.log(`Ticket ${id} is closed; the people on it are told by mail.`);
  });

/** A ticket of nobody's organization is recorded for none. */
const recordedFor = (
  db: Db,
  { organization_id }: Awaited<ReturnType<typeof known>>,
  command: string,
  summary: string,
  work: () => Promise<unknown>,
) => (organization_id ? asOperator(db, organization_id, { command, kind: 'ticket', summary }, work) : work());

async function known(db: Db, id: string) {
  const ticket = /^[1-9]\d{0,8}$/.test(id) ? await ticketById(db, id) : undefined;
  if (!ticket) throw new Problem('not-found', `There is no ticket ${id}; ./offshoot ticket list names those that wait.`);
  return ticket;
}
