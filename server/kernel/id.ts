/** Identifiers in the published API's formats. */
import { randomBytes, randomFillSync } from 'node:crypto';

const lowerAlphanumeric = 'abcdefghijklmnopqrstuvwxyz234567';
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const shortIdCharacters = 13;

/** For projects, activities and integrations: 13 lower-case characters, 65 random bits. */
export const shortId = () => Array.from(randomBytes(shortIdCharacters), (byte) => lowerAlphanumeric[byte & 31]).join('');

const ulidCharacters = { time: 10, random: 16 };
const ulidText = Buffer.alloc(ulidCharacters.time + ulidCharacters.random);

/** Random bytes are drawn for many ULIDs at once: every request has one, and asking for sixteen bytes takes longer than all the rest of making it. */
const drawn = Buffer.alloc(ulidCharacters.random * 256);
let drawnUsed = drawn.length;

/** The same 128 bits as a UUID, where the published API has one of something that is known by a ULID. */
export function uuidOfUlid(text: string): string {
  const bits = Array.from(text).reduce((sum, character) => sum * 32n + BigInt(crockford.indexOf(character)), 0n);
  return bits
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** For organizations, teams, backups and requests: 48 bits of milliseconds, then 80 random bits, so that ids sort by age. */
export function ulid(now = Date.now()): string {
  if (drawnUsed === drawn.length) {
    randomFillSync(drawn);
    drawnUsed = 0;
  }
  for (let at = ulidCharacters.time - 1, rest = now; at >= 0; at -= 1, rest = Math.floor(rest / 32))
    ulidText[at] = crockford.charCodeAt(rest % 32);
  for (let at = ulidCharacters.time; at < ulidText.length; at += 1, drawnUsed += 1)
    ulidText[at] = crockford.charCodeAt((drawn[drawnUsed] ?? 0) & 31);
  return ulidText.toString('latin1');
}
