/**
 * The authority of this installation, which signs for the installation's own names and for nothing else. It is made with the first start and lies in the database, so
 * that it comes back with a backup and nobody has to trust another one. Its constraints cannot be changed: where the settings have come to name other hosts,
 * an earlier authority that fits them is used, and a new one is made where none does.
 */
import { X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import {
  isWithin,
  makeAuthority,
  openAuthority,
  type OwnAuthority,
  type StoredAuthority,
} from '../../drivers/certificates/authority/authority.ts';
import type { Log } from '../../kernel/log.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { ownNames, type NameConfig } from './own-names.ts';

interface KeptAuthority extends StoredAuthority {
  id: string;
}

/** People get a year to trust the next authority before the one that they trust ends. */
const leftDaysMin = 365;

interface Parts {
  db: Db;
  secrets: Secrets;
  config: NameConfig & Pick<Config, 'region'>;
  log: Log;
}

export async function openOwnAuthority({ db, secrets, config, log }: Parts): Promise<OwnAuthority> {
  const stored = (await fittingAuthority(db, config)) ?? (await makeFitting({ db, secrets, config, log }));
  return {
    id: stored.id,
    certificate: stored.certificate,
    issuer: openAuthority(stored, secrets),
    mayIssue: (name) => isWithin(stored, name),
  };
}

/** The root of the authority that is in use, as PEM; undefined before the first start with these settings. */
export const authorityCertificate = async (db: Db, config: NameConfig): Promise<string | undefined> =>
  (await fittingAuthority(db, config))?.certificate;

async function fittingAuthority(db: Db | Tx, config: NameConfig): Promise<KeptAuthority | undefined> {
  const { rows } = await sql<KeptAuthority>`
    select id::text, certificate, key_sealed as "sealedKey", names, addresses from authorities
    where expires_at > now() + make_interval(days => ${leftDaysMin}) order by authorities.id desc`.execute(db);
  const { names, addresses } = ownNames(config);
  const wanted = [...names, ...addresses];
  const fitting = rows.filter((authority) => wanted.every((name) => isWithin(authority, name)));
  // One that was made for exactly these names is the one that people trusted when the settings were last as they are now.
  const isMadeFor = ({ names: its, addresses: also }: StoredAuthority) => [...its, ...also].toSorted().join() === wanted.toSorted().join();
  return fitting.find(isMadeFor) ?? fitting[0];
}

/** Processes that start at the same time make one together. */
const makeFitting = ({ db, secrets, config, log }: Parts): Promise<KeptAuthority> =>
  db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('authorities', 0))`.execute(tx);
    const known = await fittingAuthority(tx, config);
    if (known) return known;
    const made = await makeAuthority({ title: `Offshoot ${config.domain}`, ...ownNames(config) }, secrets);
    const { rows } = await sql<{ id: string; is_first: boolean }>`
      insert into authorities (certificate, key_sealed, names, addresses, expires_at)
      values (${made.certificate}, ${made.sealedKey}, ${made.names}, ${made.addresses}, ${expiryOf(made)})
      returning id::text, not exists (select from authorities) as is_first`.execute(tx);
    const [row] = rows;
    if (!row) throw new Error('The authority was not written down');
    if (!row.is_first)
      log.warn(
        { names: made.names, addresses: made.addresses },
        'the authority of this installation could not sign for its names any longer; a new one was made, which has to be trusted anew',
      );
    return { ...made, id: row.id };
  });

const expiryOf = ({ certificate }: StoredAuthority) => new Date(new X509Certificate(certificate).validTo).toISOString();
