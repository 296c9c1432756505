/** The issuers of this installation: its own authority, and those that speak ACME, of the settings and of projects. */
import { sql } from 'kysely';
import { openAcmeIssuer, type AcmeIssuer, type AcmeOptions } from '../../drivers/certificates/acme/acme.ts';
import type { AccountStore, AcmeAccount, ExternalAccount } from '../../drivers/certificates/acme/account.ts';
import type { Solver } from '../../drivers/certificates/acme/proofs.ts';
import type { Issuer } from '../../drivers/certificates/certificates.ts';
import { openDnsCommand } from '../../drivers/certificates/dns/command.ts';
import type { DnsRecords } from '../../drivers/certificates/dns/dns-records.ts';
import { openDnsSolver, openStandingDnsSolver } from '../../drivers/certificates/dns/dns-solver.ts';
import { openDynamicUpdate } from '../../drivers/certificates/dns/dynamic-update.ts';
import type { Edge } from '../../drivers/edge/edge.ts';
import { mayVisit } from '../../drivers/outbound/addresses.ts';
import { openOutbound } from '../../drivers/outbound/outbound.ts';
import type { DnsSettings } from '../../setting-values.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { edgeSolvers } from './edge-proofs.ts';
import { issuedByAuthority } from './platform-certificate.ts';
import { provisionerPurpose } from './provisioners.ts';
import type { Source } from './wanted-certificates.ts';

export interface Issuers {
  /** The same one for the same source, for as long as these are open: issuances share its connection and its account. */
  of(source: Source): Promise<Issuer>;
}

export function openIssuers(platform: Platform, edge: Edge): Issuers {
  const opened = new Map<string, Promise<Issuer>>();
  const solvers = solversOf(platform, edge);
  const open = async (source: Source): Promise<Issuer> =>
    source.issued_by === issuedByAuthority(platform) ? platform.authority.issuer : openAcme(platform, source, solvers);
  return {
    of: (source) => {
      const key = `${source.owner} ${source.issued_by}`;
      const known = opened.get(key) ?? open(source);
      opened.set(key, known);
      return known;
    },
  };
}

type AcmePlatform = Pick<Platform, 'db' | 'secrets' | 'config'>;

/** Without solvers nothing can be proven: that is enough for whoever is concerned with the account. */
export const openAcme = async (platform: AcmePlatform, source: Source, solvers: readonly Solver[] = []): Promise<AcmeIssuer> =>
  openAcmeIssuer({ ...(await accountOf(platform, source)), ...common(platform, source, solvers) });

/** DNS where it may be changed, because it needs nobody to reach this machine; then the edge; then what owners of domains have set for good. */
function solversOf({ db, secrets, config }: Platform, edge: Edge): Solver[] {
  const mayAsk = (address: string) => mayVisit(address, config.allowPrivateAddresses);
  const dns = config.acme?.dns;
  // The zones that the operator has set are the operator's own, wherever their name servers are.
  return [
    ...(dns ? [openDnsSolver({ records: recordsBy(dns), mayAsk: () => true, ...(dns.servers && { servers: dns.servers }) })] : []),
    ...edgeSolvers({ db, secrets, edge }),
    openStandingDnsSolver({ mayAsk }),
  ];
}

function recordsBy(dns: DnsSettings): DnsRecords {
  const { domains } = dns;
  if (dns.kind === 'command') return openDnsCommand({ command: dns.command, domains });
  const { host, port, key } = dns;
  return openDynamicUpdate({ server: { host, ...(port !== undefined && { port }) }, domains, key });
}

function common(
  { db, secrets, config }: AcmePlatform,
  source: Source,
  solvers: readonly Solver[],
): Pick<AcmeOptions, 'directoryUrl' | 'store' | 'solvers' | 'profile' | 'pointTo' | 'outbound'> {
  return {
    directoryUrl: source.issued_by,
    store: accountStore(db, secrets, source),
    solvers,
    pointTo: `a CNAME record with ${config.domain}, or an A or AAAA record with the address of this platform`,
    // Profiles are those of the authority that the operator has chosen.
    ...(source.owner === '' && config.acme?.profile !== undefined && { profile: config.acme.profile }),
    // What the operator has set may be anywhere; what users choose, only where they could go themselves.
    ...(source.owner !== '' && { outbound: openOutbound(config) }),
  };
}

async function accountOf(
  { db, secrets, config }: AcmePlatform,
  { owner }: Source,
): Promise<Pick<AcmeOptions, 'email' | 'externalAccount'>> {
  if (owner === '') return known(config.acme?.email, config.acme?.externalAccount);
  const row = await db.selectFrom('certificate_provisioners').selectAll().where('project_id', '=', owner).executeTakeFirst();
  const { email = '', eab_kid = null, eab_hmac_key_sealed = null } = row ?? {};
  const externalAccount =
    eab_kid === null || eab_hmac_key_sealed === null
      ? undefined
      : { keyId: eab_kid, hmacKey: secrets.open(provisionerPurpose(owner), eab_hmac_key_sealed) };
  return known(email === '' ? undefined : email, externalAccount);
}

const known = (email: string | undefined, externalAccount: ExternalAccount | undefined) => ({
  ...(email !== undefined && { email }),
  ...(externalAccount && { externalAccount }),
});

function accountStore(db: Db, secrets: Secrets, { owner, issued_by }: Source): AccountStore {
  const purpose = `acme_accounts ${owner} ${issued_by}`;
  return {
    read: async () => {
      const row = await db
        .selectFrom('acme_accounts')
        .select('sealed')
        .where('owner', '=', owner)
        .where('directory_url', '=', issued_by)
        .executeTakeFirst();
      return row && (JSON.parse(secrets.open(purpose, row.sealed)) as AcmeAccount);
    },
    write: async (account) => {
      const sealed = secrets.seal(purpose, JSON.stringify(account));
      await sql`insert into acme_accounts (owner, directory_url, sealed) values (${owner}, ${issued_by}, ${sealed})
        on conflict (owner, directory_url) do update set sealed = excluded.sealed, updated_at = clock_timestamp()`.execute(db);
    },
  };
}
