/** Identifiers in the published API's formats. */
import { randomBytes } from 'node:crypto';

const lowerAlphanumeric = 'abcdefghijklmnopqrstuvwxyz234567';
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const shortIdCharacters = 13;

/** Projects, activities, integrations: 13 lower-case characters, 65 random bits. */
export const shortId = () => Array.from(randomBytes(shortIdCharacters), (byte) => lowerAlphanumeric[byte & 31]).join('');

/** Organizations, teams and backups: 48 bits of milliseconds, then 80 random bits, so that ids sort by age. */
export function ulid(now = Date.now()): string {
  let time = '';
  for (let rest = now, i = 0; i < 10; i += 1, rest = Math.floor(rest / 32)) time = crockford.charAt(rest % 32) + time;
  return time + Array.from(randomBytes(16), (byte) => crockford[byte & 31]).join('');
}
