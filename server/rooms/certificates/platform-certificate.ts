/** The certificate for the installation's own names, signed by its own authority: the platform, and environments directly below its domain, share it. */
import type { Issuance } from '../../drivers/certificates/certificates.ts';
import type { Platform } from '../../platform.ts';
import { platformNames } from './own-names.ts';
import { keepIssued, type KnownCertificate } from './queries.ts';

export const platformCertificateId = 'platform';

export const issuedByAuthority = ({ authority }: Pick<Platform, 'authority'>) => `authority ${authority.id}`;

/** Has it signed anew where two thirds of its life are over, or where it is not for the names of now or not of the authority of now. */
export async function keepPlatformCertificate(platform: Platform, known: readonly KnownCertificate[]): Promise<void> {
  const { db, secrets, config, authority } = platform;
  const names = platformNames(config);
  const issued_by = issuedByAuthority(platform);
  const own = known.find(({ id }) => id === platformCertificateId);
  if (own && own.issued_by === issued_by && isSame(own.names, names) && !isDue(own)) return;
  const issuance: Issuance = await authority.issuer.advance(await authority.issuer.begin({ names }));
  if (issuance.status !== 'issued')
    throw new Error(`The authority of this installation does not sign for its own names: ${names.join(', ')}`);
  const renewal = await authority.issuer.renewal(issuance.issued.certificate);
  await keepIssued(db, secrets, { id: platformCertificateId, project_id: null, keyed: issuance.issued, issued_by, renewal });
}

const isSame = (one: readonly string[], other: readonly string[]) => one.toSorted().join() === other.toSorted().join();

const isDue = ({ renew_at }: Pick<KnownCertificate, 'renew_at'>) => renew_at !== null && Date.parse(renew_at) <= Date.now();
