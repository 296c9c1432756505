/**
 * What slows guessing down: attempts are counted in the database, so that every process counts alike, in windows that begin with the first
 * attempt. Whose attempts they are is kept as a hash.
 *
 * Nobody is shut out by somebody else. What can be guessed (passwords, passcodes) counts before it is looked at, so many at once win nothing;
 * a browser that its owner has signed in with before counts for itself (known-browser.ts). What cannot be guessed (tokens, mailed links, signatures) is looked
 * at first: a right one counts for itself, only wrong ones count for their address.
 */
import { isIPv6 } from 'node:net';
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';

const limits = {
  'sign-in to account from known browser': { attemptsMax: 10, seconds: 900 },
  'sign-in to account from address': { attemptsMax: 10, seconds: 900 },
  /** Beyond this limit many are guessing at the account, and each address has fewer attempts (`countPassword`). */
  'sign-in to account': { attemptsMax: 100, seconds: 900 },
  'sign-in from address': { attemptsMax: 100, seconds: 900 },
  'passcode from known browser': { attemptsMax: 6, seconds: 900 },
  'passcode of account': { attemptsMax: 6, seconds: 900 },
  'password change of account': { attemptsMax: 10, seconds: 900 },
  'use of mailed link': { attemptsMax: 30, seconds: 900 },
  'wrong link from address': { attemptsMax: 30, seconds: 900 },
  'reset from visitor': { attemptsMax: 30, seconds: 900 },
  'mail for account': { attemptsMax: 10, seconds: 3600 },
  'reset to address': { attemptsMax: 5, seconds: 3600 },
  'mail to address': { attemptsMax: 5, seconds: 3600 },
  'phone message for account': { attemptsMax: 5, seconds: 3600 },
  'phone message to number': { attemptsMax: 5, seconds: 3600 },
  'authorization from visitor': { attemptsMax: 300, seconds: 600 },
  'use of token': { attemptsMax: 1200, seconds: 60 },
  'wrong token from address': { attemptsMax: 30, seconds: 60 },
  'wrong signature from address': { attemptsMax: 30, seconds: 60 },
  'call of hook': { attemptsMax: 300, seconds: 60 },
  'unproven call of hook': { attemptsMax: 300, seconds: 60 },
  'voucher of account': { attemptsMax: 30, seconds: 3600 },
  'mail from user': { attemptsMax: 300, seconds: 3600 },
} as const;

type Limit = keyof typeof limits;

interface Attempt {
  limit: Limit;
  /** The account, the address, or whatever else the attempt counts for. */
  of: string;
}

interface Counted {
  limit: Limit;
  count: number;
  /** How many seconds remain until counting starts again. */
  seconds: number;
}

const countMax = 1_000_000;
const sweepEvery = 200;
const sweptMax = 1000;
let counted = 0;

/** Counts attempts, and refuses when one of them is past its limit. List them in the order of `limits`, so that statements do not deadlock. */
export async function countAttempts(db: Db, attempts: readonly Attempt[]): Promise<void> {
  refuseTooMany(await addAttempts(db, attempts));
}

/** Attempts that each address has on an account that many guess at. That is enough for its owner, and a guesser needs ever new addresses. */
const attemptsOnGuessedMax = 3;

/** Somebody who tries to sign in: to an account, from an address, and with a browser that may be known for that account. */
export interface Claimant {
  account: string;
  address: string;
  knownBrowser: string | undefined;
}

/** Counts a password that was typed. However many guess at the account, somebody who comes from another address is not refused. */
export async function countPassword(db: Db, { account, address, knownBrowser }: Claimant): Promise<void> {
  if (knownBrowser !== undefined) return countAttempts(db, [{ limit: 'sign-in to account from known browser', of: knownBrowser }]);
  const counted = await addAttempts(db, [
    { limit: 'sign-in to account from address', of: `${account} ${address}` },
    { limit: 'sign-in to account', of: account },
    { limit: 'sign-in from address', of: address },
  ]);
  const here = counted.filter(({ limit }) => limit !== 'sign-in to account');
  refuseTooMany(here, counted.some(isGuessedAt) ? { 'sign-in to account from address': attemptsOnGuessedMax } : {});
}

const isGuessedAt = ({ limit, count }: Counted) => limit === 'sign-in to account' && count > limits[limit].attemptsMax;

/** After the right password, the wrong ones that were typed before it no longer count. */
export async function forgetPasswords(db: Db, { account, address, knownBrowser }: Claimant): Promise<void> {
  if (knownBrowser !== undefined) return forgetAttempts(db, 'sign-in to account from known browser', knownBrowser);
  await forgetAttempts(db, 'sign-in to account from address', `${account} ${address}`);
  await forgetAttempts(db, 'sign-in to account', account);
}

/** Counts a passcode that was typed. Passcodes are short, so unknown browsers share a few attempts, wherever they are. */
export const countPasscode = (db: Db, { account, address, knownBrowser }: Claimant): Promise<void> =>
  countAttempts(
    db,
    knownBrowser === undefined
      ? [
          { limit: 'sign-in from address', of: address },
          { limit: 'passcode of account', of: account },
        ]
      : [{ limit: 'passcode from known browser', of: knownBrowser }],
  );

/** After the right passcode in a known browser, only that browser's attempts are forgotten: those of strangers still count. */
export const forgetPasscodes = (db: Db, { account, knownBrowser }: Claimant): Promise<void> =>
  knownBrowser === undefined
    ? forgetAttempts(db, 'passcode of account', account)
    : forgetAttempts(db, 'passcode from known browser', knownBrowser);

/** Counts the use of a token that was looked up: a valid token counts for itself, an invalid one for the address that it came from. */
export const countToken = (db: Db, rightToken: string | undefined, address: string): Promise<void> =>
  countAttempts(db, [
    rightToken === undefined ? { limit: 'wrong token from address', of: networkOf(address) } : { limit: 'use of token', of: rightToken },
  ]);

/** Counts the use of a mailed link that was looked up: a valid link counts for itself, an invalid one for the address that it came from. */
export const countLink = (db: Db, rightLink: string | undefined, address: string): Promise<void> =>
  countAttempts(db, [
    rightLink === undefined ? { limit: 'wrong link from address', of: networkOf(address) } : { limit: 'use of mailed link', of: rightLink },
  ]);

/** Counts all attempts in one statement. */
async function addAttempts(db: Db, attempts: readonly Attempt[]): Promise<Counted[]> {
  const rows = attempts.map(({ limit, of }) => sql`(${keyOf(limit, of)}, 1, now() + make_interval(secs => ${limits[limit].seconds}))`);
  const counts = await sql<{ key: string; count: number; seconds: number }>`
    insert into attempts (key, count, window_ends_at) values ${sql.join(rows)}
    on conflict (key) do update set
      count = case when attempts.window_ends_at > now() then least(attempts.count + excluded.count, ${countMax}) else excluded.count end,
      window_ends_at = case when attempts.window_ends_at > now() then attempts.window_ends_at else excluded.window_ends_at end
    returning key, count, ceil(extract(epoch from window_ends_at - now()))::integer as seconds`.execute(db);
  counted += 1;
  if (counted % sweepEvery === 0) await removeExpiredAttempts(db);
  return attempts.flatMap(({ limit, of }) => {
    const row = counts.rows.find(({ key }) => key === keyOf(limit, of));
    return row ? [{ limit, count: row.count, seconds: row.seconds }] : [];
  });
}

function refuseTooMany(counts: readonly Counted[], fewer: Partial<Record<Limit, number>> = {}): void {
  const over = counts.filter(({ limit, count }) => count > (fewer[limit] ?? limits[limit].attemptsMax));
  if (over.length > 0) throw tooMany(Math.max(...over.map(({ seconds }) => seconds), 1));
}

export async function forgetAttempts(db: Db, limit: Limit, of: string): Promise<void> {
  await db.deleteFrom('attempts').where('key', '=', keyOf(limit, of)).execute();
}

/** The network that an address counts for. In IPv6 that is the /64, because one household or machine can send from all of it. */
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
