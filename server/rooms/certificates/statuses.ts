/** What issuers said of certificates, as it is written down. All of it is about one certificate, and not about the next one in its place. */
import { sql } from 'kysely';
import type { StapledAnswer } from '../../drivers/certificates/ocsp/ocsp.ts';
import type { Db } from '../../kernel/sql.ts';

export interface AskedStatus {
  id: string;
  certificate: string;
  chain: string[];
  serves: string[];
  must_staple: boolean;
  status_failures: number;
}

const askedMax = 50;

/** Those whose issuers are to be asked now; those that serve nothing may be waiting for the answer to do so. */
export async function statusesToAsk(db: Db): Promise<AskedStatus[]> {
  const { rows } = await sql<AskedStatus>`
    select id, certificate, chain, serves, must_staple, status_failures from certificates
    where ask_status_at <= clock_timestamp() and not is_invalid and expires_at > clock_timestamp()
    order by ask_status_at limit ${askedMax}`.execute(db);
  return rows;
}

export const setNobodyToAsk = (db: Db, { id, certificate }: AskedStatus, trouble: string | null) =>
  sql`update certificates set ask_status_at = null, status_trouble = ${trouble} where id = ${id} and certificate = ${certificate}`.execute(
    db,
  );

export interface ToldStatus {
  stapled: StapledAnswer | undefined;
  revokedAt: string | null;
  trouble: string | null;
  askAgainAt: string;
}

/** To the edge, another answer is a new version of the certificate. */
export const storeTold = (db: Db, { id, certificate }: AskedStatus, { stapled, revokedAt, trouble, askAgainAt }: ToldStatus) =>
  sql`update certificates set stapled = ${stapled?.response ?? null}, stapled_until = ${stapled?.until ?? null}::timestamptz,
      version = case when stapled is distinct from ${stapled?.response ?? null} then nextval('certificate_versions') else version end,
      revoked_at = ${revokedAt}::timestamptz, status_trouble = ${trouble}, status_failures = 0, ask_status_at = ${askAgainAt}
    where id = ${id} and certificate = ${certificate}`.execute(db);

/** What was said before holds until its end, and so does the trouble of one that is revoked. */
export const storeUntold = (db: Db, { id, certificate }: AskedStatus, trouble: string | null, pauseSeconds: number) =>
  sql`update certificates set status_failures = status_failures + 1, ask_status_at = clock_timestamp() + make_interval(secs => ${pauseSeconds}),
      status_trouble = case when revoked_at is not null or stapled_until > clock_timestamp() then status_trouble else ${trouble} end
    where id = ${id} and certificate = ${certificate}`.execute(db);

/** Answers whether there were any. */
export async function dropEndedAnswers(db: Db): Promise<boolean> {
  const { rows } = await sql`
    update certificates set stapled = null, stapled_until = null, version = nextval('certificate_versions')
    where stapled_until <= clock_timestamp() returning id`.execute(db);
  return rows.length > 0;
}
