/** Certificates as they are written down, with their keys sealed. */
import { X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import type { KeyedCertificate, Renewal } from '../../drivers/certificates/certificates.ts';
import { factsOf } from '../../drivers/certificates/x509/facts.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Candidate, ClaimedHost } from './choose-certificates.ts';

export const certificatePurpose = (id: string) => `certificate ${id}`;

export const claimedHosts = (db: Db | Tx): Promise<ClaimedHost[]> =>
  db.selectFrom('hosts').select(['host', 'project_id']).orderBy('host').execute();

export interface KnownCertificate extends Candidate {
  serves: string[];
  renew_at: string | null;
}

/** All of them, or the one with this id, without the certificates themselves. */
export async function knownCertificates(db: Db | Tx, id: string | null = null): Promise<KnownCertificate[]> {
  const { rows } = await sql<KnownCertificate>`
    select id, project_id, names, expires_at, issued_by, is_invalid, serves, renew_at, revoked_at is not null as is_revoked,
      must_staple and coalesce(stapled_until <= clock_timestamp(), true) as lacks_answer
    from certificates where ${id}::text is null or id = ${id} order by id`.execute(db);
  return rows;
}

export interface IssuedCertificate {
  id: string;
  /** Null: it is the installation's own. */
  project_id: string | null;
  keyed: KeyedCertificate;
  issued_by: string;
  renewal: Renewal;
}

/** Takes the place of the one with the same id. Those who are shown the earlier one stay connected. */
export async function keepIssued(db: Db | Tx, secrets: Secrets, { id, project_id, keyed, issued_by, renewal }: IssuedCertificate) {
  const { names, expiresAt, mustStaple } = factsOf(new X509Certificate(keyed.certificate));
  await sql`
    insert into certificates (id, project_id, certificate, chain, key_sealed, names, expires_at, is_provisioned, issued_by, renew_at, ask_again_at, must_staple)
    values (${id}, ${project_id}, ${keyed.certificate}, ${keyed.chain}, ${secrets.seal(certificatePurpose(id), keyed.key)}, ${names}, ${expiresAt},
      true, ${issued_by}, ${renewal.renewAt}, ${renewal.askAgainAt}, ${mustStaple})
    on conflict (id) do update set certificate = excluded.certificate, chain = excluded.chain, key_sealed = excluded.key_sealed, names = excluded.names,
      expires_at = excluded.expires_at, issued_by = excluded.issued_by, renew_at = excluded.renew_at, ask_again_at = excluded.ask_again_at,
      must_staple = excluded.must_staple, ask_status_at = clock_timestamp(), status_failures = 0, stapled = null, stapled_until = null, revoked_at = null, status_trouble = null,
      version = nextval('certificate_versions'), updated_at = clock_timestamp()`.execute(db);
}

/** Writes down what the certificate is presented for: to the edge that is a new version of it. */
export const setServes = (db: Db | Tx, id: string, serves: readonly string[]) =>
  sql`update certificates set serves = ${serves}::text[], version = nextval('certificate_versions'), updated_at = clock_timestamp() where id = ${id}`.execute(
    db,
  );

/** The version of each certificate that the edge is to present, by id. */
export async function presentedVersions(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; version: string }>`
    select id, version::text from certificates where serves <> '{}' order by id`.execute(db);
  return new Map(rows.map(({ id, version }) => [id, Number(version)]));
}

export interface PresentedCertificate extends KeyedCertificate {
  id: string;
  version: number;
  serves: string[];
  /** The issuer's answer that it is good, where there is one; and when it ends. */
  stapled: string | null;
  stapled_until: string | null;
}

/** With its key. Undefined: it is gone, or presented for nothing any more. */
export async function presentedCertificate(db: Db, secrets: Secrets, id: string): Promise<PresentedCertificate | undefined> {
  const { rows } = await sql<Omit<PresentedCertificate, 'key' | 'version'> & { key_sealed: string; version: string }>`
    select id, version::text, certificate, chain, key_sealed, serves, stapled, stapled_until from certificates where id = ${id} and serves <> '{}'`.execute(
    db,
  );
  const [row] = rows;
  if (!row) return undefined;
  const { key_sealed, version, ...rest } = row;
  return { ...rest, version: Number(version), key: secrets.open(certificatePurpose(id), key_sealed) };
}

interface AskedCertificate {
  id: string;
  project_id: string | null;
  names: [string, ...string[]];
  issued_by: string;
  certificate: string;
}

const askedMax = 50;

/** Those that authorities which speak ACME gave, and whose renewal is to be asked for again. */
export async function renewalsToAsk(db: Db): Promise<AskedCertificate[]> {
  const { rows } = await sql<AskedCertificate>`
    select id, project_id, names, issued_by, certificate from certificates
    where issued_by like 'https://%' and ask_again_at <= clock_timestamp() and renew_at > clock_timestamp()
    order by ask_again_at limit ${askedMax}`.execute(db);
  return rows;
}

export const setRenewal = (db: Db, id: string, { renewAt, askAgainAt }: Renewal) =>
  sql`update certificates set renew_at = ${renewAt}, ask_again_at = ${askAgainAt} where id = ${id}`.execute(db);

/** The certificate as PEM, where this authority issued it; undefined where there is none. */
export async function certificatePem(db: Db, id: string, issuedBy: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('certificates')
    .select('certificate')
    .where('id', '=', id)
    .where('issued_by', '=', issuedBy)
    .executeTakeFirst();
  return row?.certificate;
}

const unusedDays = 7;

/** Removes those that came by themselves and that nothing was served with for a week: a host that comes back meanwhile finds its own again. */
export const collectUnused = (db: Db) =>
  sql`delete from certificates where is_provisioned and project_id is not null and serves = '{}'
    and (updated_at < now() - make_interval(days => ${unusedDays}) or expires_at < now())`.execute(db);
