/**
 * What slows guessing down: attempts are counted in the database, so that every process counts alike, in windows that begin with the first
 * attempt. Whose attempts they are is kept as a hash. An attempt counts before it is looked at, so many at once win nothing.
 */
import { isIPv6 } from 'node:net';
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';

const limits = {
  /** One guesser is slowed down without shutting the owner out; many together meet the second limit. */
  'sign-in to account from address': { attemptsMax: 10, seconds: 900 },
  'sign-in to account': { attemptsMax: 100, seconds: 900 },
  'sign-in from address': { attemptsMax: 100, seconds: 900 },
  'passcode of account': { attemptsMax: 6, seconds: 900 },
  'password change of account': { attemptsMax: 10, seconds: 900 },
  'reset from address': { attemptsMax: 30, seconds: 900 },
  'mail for account': { attemptsMax: 10, seconds: 3600 },
  'reset to address': { attemptsMax: 5, seconds: 3600 },
  'mail to address': { attemptsMax: 5, seconds: 3600 },
  'phone message for account': { attemptsMax: 5, seconds: 3600 },
  'phone message to number': { attemptsMax: 5, seconds: 3600 },
  'authorization from address': { attemptsMax: 300, seconds: 600 },
  'token exchange from address': { attemptsMax: 1200, seconds: 60 },
  'mail from user': { attemptsMax: 300, seconds: 3600 },
} as const;

type Limit = keyof typeof limits;

/** A failed token exchange weighs as much as this many that succeed: build machines exchange all day, guessers fail all day. */
export const failedExchangeWeight = 40;

interface Attempt {
  limit: Limit;
  /** The account or the address. */
  of: string;
  weight?: number;
}

const countMax = 1_000_000;
const sweepEvery = 200;
const sweptMax = 1000;
let counted = 0;

/** Counts them, and refuses when one of them is past its limit. List them in the order of `limits`: that keeps statements from deadlocking. */
export async function countAttempts(db: Db, attempts: readonly Attempt[]): Promise<void> {
  const counts = await addAttempts(db, attempts);
  const attemptsMax = new Map(attempts.map(({ limit, of }) => [keyOf(limit, of), limits[limit].attemptsMax]));
  const over = counts.filter(({ key, count }) => count > (attemptsMax.get(key) ?? 0));
  if (over.length > 0) throw tooMany(Math.max(...over.map(({ seconds }) => seconds), 1));
}

/** Counts them in one statement, and leaves it to the next attempt to be refused. */
export async function addAttempts(db: Db, attempts: readonly Attempt[]) {
  const rows = attempts.map(
    ({ limit, of, weight = 1 }) => sql`(${keyOf(limit, of)}, ${weight}::integer, now() + make_interval(secs => ${limits[limit].seconds}))`,
  );
  const counts = await sql<{ key: string; count: number; seconds: number }>`
    insert into attempts (key, count, window_ends_at) values ${sql.join(rows)}
    on conflict (key) do update set
      count = case when attempts.window_ends_at > now() then least(attempts.count + excluded.count, ${countMax}) else excluded.count end,
      window_ends_at = case when attempts.window_ends_at > now() then attempts.window_ends_at else excluded.window_ends_at end
    returning key, count, ceil(extract(epoch from window_ends_at - now()))::integer as seconds`.execute(db);
  counted += 1;
  if (counted % sweepEvery === 0) await removeExpiredAttempts(db);
  return counts.rows;
}

export const forgetAttempts = (db: Db, limit: Limit, of: string) => db.deleteFrom('attempts').where('key', '=', keyOf(limit, of)).execute();

/** One household or machine counts as one: an IPv6 customer has a whole /64 to send from. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1] ?? address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const missing = tail === undefined ? 0 : 8 - groups.flat().length;
  const all = [...(groups[0] ?? []), ...Array<string>(Math.max(missing, 0)).fill('0'), ...(groups[1] ?? [])];
  return `${all.slice(0, 4).join(':')}::/64`;
}

const keyOf = (limit: Limit, of: string) => `${limit} ${fingerprint(of.toLowerCase())}`;

const tooMany = (seconds: number) =>
  new Problem(
    'too-many-requests',
    `Too many attempts. Try again in ${seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}.`,
    {
      headers: { 'retry-after': String(seconds) },
    },
  );

const removeExpiredAttempts = (db: Db) =>
  sql`delete from attempts where key in (select key from attempts where window_ends_at <= now() limit ${sweptMax})`.execute(db);
