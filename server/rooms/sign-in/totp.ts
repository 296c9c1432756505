/**
 * Passcodes that an authenticator app shows: RFC 6238, in the one form that every app knows (HMAC-SHA-1, six digits, a new one every thirty
 * seconds). A code of the step before or after counts too, for clocks that differ and people who type slowly.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { isSame } from '../../kernel/secrets.ts';

export const stepSeconds = 30;
export const passcodeDigits = 6;
const secretBytes = 20;
const driftSteps = 1;

export const stepAt = (milliseconds: number) => Math.floor(milliseconds / 1000 / stepSeconds);

export function passcodeAt(step: number, secret: Buffer): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 0x0f) & 0x7fff_ffff;
  return String(number % 10 ** passcodeDigits).padStart(passcodeDigits, '0');
}

/** The time step that a passcode belongs to; undefined when the passcode is not current. */
export function stepOf(passcode: string, secret: Buffer, now = Date.now()): number | undefined {
  const current = stepAt(now);
  const possible = Array.from({ length: 2 * driftSteps + 1 }, (_, index) => current - driftSteps + index);
  return possible.find((step) => isSame(passcodeAt(step, secret), passcode));
}

/** A new secret in base32, the encoding that authenticator apps accept. */
export const newTotpSecret = () => base32(randomBytes(secretBytes));

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

/** Decodes base32 without padding; the schema of the request has checked the alphabet. */
export function bytesOfBase32(text: string): Buffer {
  const bits = Array.from(text.toUpperCase(), (character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
