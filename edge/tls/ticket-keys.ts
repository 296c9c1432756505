/**
 * The keys of session tickets, by which a client that comes back spares both sides a handshake. They are the same in all processes and outlive each of them,
 * but not the machine, and are changed often: whoever learns one can read what was said in the sessions that were resumed with it.
 */
import { hkdfSync } from 'node:crypto';

const ticketKeysBytes = 48;
/** A ticket is good for as long as the key that it was made with is the current one. */
export const ticketPeriodSeconds = 12 * 60 * 60;

/** The keys of that moment. Every process derives them from the secret that all of them share, so that a change need not be announced. */
export const ticketKeysAt = (secret: Buffer, milliseconds: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'session tickets', `period ${periodOf(milliseconds)}`, ticketKeysBytes));

export const periodOf = (milliseconds: number) => Math.floor(milliseconds / 1000 / ticketPeriodSeconds);
