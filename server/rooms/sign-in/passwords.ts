/**
 * Passwords at rest: scrypt, with its parameters in the stored text so that they can be raised without breaking older hashes.
 * Checking takes as long for someone who does not exist, and few are checked at once: the threads that do it also sign and verify tokens. Whoever asks says on
 * whose behalf (kernel/fair-limit.ts): an address, a browser or an account.
 */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { fairLimit } from '../../kernel/fair-limit.ts';
import { tally } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';

interface Cost {
  /** The binary logarithm of N. */
  ln: number;
  r: number;
  p: number;
}

const cost: Cost = { ln: 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const operator = 'the operator';

/** Returns `$scrypt$ln=15,r=8,p=3$salt$hash`, the format that other tools use, too. */
export async function hashPassword(password: string, by = operator): Promise<string> {
  const salt = randomBytes(saltBytes);
  return written(cost, salt, await derive(password, salt, cost, by));
}

/** Whether the password is right; `hash` is null for people without a password and for people who do not exist. */
export async function isPassword(password: string, hash: string | null, by: string): Promise<boolean> {
  const { salt, expected, ...its } = parsed(hash ?? nobodysHash);
  return timingSafeEqual(await derive(password, salt, its, by), expected) && hash !== null;
}

const written = ({ ln, r, p }: Cost, salt: Buffer, hash: Buffer) => `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;

function parsed(hash: string) {
  const match = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(hash);
  if (!match) throw new Error('A stored password hash is not readable');
  const [, ln, r, p, salt = '', expected = ''] = match;
  return { ln: Number(ln), r: Number(r), p: Number(p), salt: Buffer.from(salt, 'base64'), expected: Buffer.from(expected, 'base64') };
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

const nobodysHash = written(cost, randomBytes(saltBytes), randomBytes(hashBytes));

/** One thread is reserved for newcomers, so that many sign-ins from one address, or from a few, keep nobody else from signing in. */
const derivations = fairLimit({ total: 2, most: [2], newcomers: 1 });
const waitingMax = { total: 200, ofOne: 50 };
const waiting = tally();
const inAll = 'in all';

/** Keyboards encode the same letter in different ways; NFKC gives all of them one encoding. */
async function derive(password: string, salt: Buffer, { ln, r, p }: Cost, by: string): Promise<Buffer> {
  const leaveLine = joinLine(by);
  const options = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r };
  return derivations.within({ parties: [by] }, () => deriveNow(password.normalize('NFKC'), salt, options)).finally(leaveLine);
}

function joinLine(by: string): () => void {
  if (waiting.of(`by ${by}`) >= waitingMax.ofOne || waiting.of(inAll) >= waitingMax.total)
    throw new Problem('unavailable', 'Many people are signing in at the moment; try again shortly.', { headers: { 'retry-after': '5' } });
  return waiting.add(`by ${by}`, inAll);
}

const deriveNow = (password: string, salt: Buffer, options: ScryptOptions) =>
  new Promise<Buffer>((resolve, reject) =>
    scrypt(password, salt, hashBytes, options, (error, key) => (error ? reject(error) : resolve(key))),
  );
