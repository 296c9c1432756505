/** Single values of the language. */
import { isIP } from 'node:net';
import { follow } from '../source-tree.ts';
import { label, scalar, type Shape, text } from '../shape.ts';

export const nameCharactersMax = 63;
/** Names of apps, services, workers, tasks and relationships become host names and environment variables. Two dashes separate an app from its worker. */
const nameShape = /^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/;

export const wrongName = (name: string): string | undefined =>
  nameShape.test(name) && name.length <= nameCharactersMax && !name.includes('--')
    ? undefined
    : `lower-case letters, digits, single - and _, ${nameCharactersMax} characters at most`;

const freeNameCharactersMax = 100;
/** What is wrong with the name of a cron or an operation. */
export const wrongFreeName = (name: string): string | undefined =>
  /^[\w][\w .:/-]*$/.test(name) && name.length <= freeNameCharactersMax
    ? undefined
    : `letters, digits, spaces and _ . : / -, ${freeNameCharactersMax} characters at most`;

export const command = text('a command', (value) => value.trim() !== '');
/** A script; an empty one does nothing. */
export const script: Shape<string> = scalar('a script', ({ value }) =>
  typeof value === 'string' && !value.includes('\0') ? value : undefined,
);

const units = 'ms, s, m, h, d, w, M, y';

/** A duration as the deployment document has it: `-1s`, `5m`. */
export const duration: Shape<string> = scalar(`a number with one of ${units}`, ({ value, text: written }) => {
  const match = value === null ? null : /^(-1|\d{1,9})(ms|[smhdwMy])?$/.exec(written.trim());
  return match ? `${match[1]}${match[2] ?? 's'}` : undefined;
});

export const byteSize: Shape<string> = label('a number of bytes with k, m or g', (value) => /^\d{1,9}[kmg]?$/i.test(value));

/** A path inside the app or the volume, without slashes around it. */
export const innerPath: Shape<string> = scalar('a path that stays inside', ({ value }) =>
  typeof value === 'string' && !value.includes('\0') ? pathInside(value) : undefined,
);

/** Undefined where the path leads outside, even if it comes back in. */
export const pathInside = (path: string): string | undefined => follow('', path);

export const timezone: Shape<string> = text('the name of a time zone such as Europe/Paris', (value) => {
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: value }));
  } catch {
    return false;
  }
});

const hostShape = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
export const isHostName = (value: string) => hostShape.test(value);

export const address: Shape<string> = text('an IP address', (value) => isIP(value) !== 0);

/** An address alone is a range of one. */
export const addressRange: Shape<string> = scalar('a range of addresses such as 10.0.0.0/8', ({ value }) => {
  if (typeof value !== 'string') return undefined;
  const [ip = '', bits, more] = value.split('/');
  const bitsMax = { 0: -1, 4: 32, 6: 128 }[isIP(ip)] ?? -1;
  if (bitsMax < 0 || more !== undefined) return undefined;
  return bits === undefined ? `${ip}/${bitsMax}` : /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax ? value : undefined;
});

const patternCharactersMax = 1000;

/** A regular expression in the syntax of JavaScript; undefined where JavaScript does not understand it. Other dialects begin with `(?i)` to ignore case. */
export function regularExpression(pattern: string): string | undefined {
  const ours = pattern.replace(/^(\^?)\(\?i\)(.*)$/s, '(?i:$1$2)');
  if (ours.length > patternCharactersMax) return undefined;
  try {
    return new RegExp(ours).source === '' ? undefined : ours;
  } catch {
    return undefined;
  }
}
