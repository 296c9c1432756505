/**
 * Tickets for terminals in browsers. A WebSocket cannot carry an access token as other requests do, and an address is no place for one; so whoever wants a
 * terminal asks for a ticket with their token first. It lets in once, within seconds, and to that one place.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Proof } from '../../identity.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Caller } from '../../platform.ts';
import { proofOf } from './terminal-proof.ts';

const validSeconds = 30;
const ticketBytes = 32;

export interface Ticket {
  ticket: string;
  expires_at: string;
}

export async function issueTicket(db: Db, caller: Caller, destination: string): Promise<Ticket> {
  const ticket = randomBytes(ticketBytes).toString('base64url');
  await sql`delete from terminal_tickets where expires_at < clock_timestamp()`.execute(db);
  const { rows } = await sql<{ expires_at: string }>`
    insert into terminal_tickets (fingerprint, proof, destination, expires_at)
    values (${fingerprint(ticket)}, ${JSON.stringify(proofOf(caller))}, ${destination}, clock_timestamp() + make_interval(secs => ${validSeconds}))
    returning expires_at`.execute(db);
  return { ticket, expires_at: rows[0]?.expires_at ?? '' };
}

/** Takes the ticket: a second time it is not there any more. */
export async function redeemTicket(db: Db, ticket: string): Promise<{ proof: Proof; destination: string } | undefined> {
  const { rows } = await sql<{ proof: Proof; destination: string }>`
    delete from terminal_tickets where fingerprint = ${fingerprint(ticket)} and expires_at > clock_timestamp()
    returning proof, destination`.execute(db);
  return rows[0];
}
