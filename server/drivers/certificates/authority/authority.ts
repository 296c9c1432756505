/**
 * An authority of our own, for installations without a public domain: one root, made once, that signs for the names of this installation and for nothing
 * else. Clients hold it to that by the constraints in its certificate, so trusting it gives away nothing but these names. There is no intermediate: it
 * would have to be kept in the same place as the root.
 */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { Problem } from '../../../kernel/problem.ts';
import type { Secrets } from '../../../kernel/secrets.ts';
import type { CertificateRequest, Issuance, IssuanceFault, Issuer } from '../certificates.ts';
import { renewalByLifetime } from '../renewal-by-lifetime.ts';
import * as extensions from '../x509/extensions.ts';
import { keyPem, newKey, writeCertificate } from '../x509/write-certificate.ts';

/** The authority as it is kept: plain data. */
export interface StoredAuthority {
  /** The root, as PEM, for people and machines to trust. */
  certificate: string;
  sealedKey: string;
  /** Host names, each of which stands for itself and all names below it. */
  names: readonly string[];
  addresses: readonly string[];
}

/** The authority of an installation, ready to sign. */
export interface OwnAuthority {
  id: string;
  /** The root, as PEM, for people and machines to trust. */
  certificate: string;
  issuer: Issuer;
  mayIssue(name: string): boolean;
}

export interface AuthorityOptions {
  /** The name of the authority, for people who look at a certificate. */
  title: string;
  names: readonly [string, ...string[]];
  addresses: readonly [string, ...string[]];
  now?: Date;
}

const sealedFor = 'certificates.authority_key';
const daySeconds = 86_400;
const rootDays = 3650;
/** Certificates are valid from a little earlier on, because the clocks of clients differ. */
const earlierSeconds = 3600;
const titleCharactersMax = 64;

export async function makeAuthority(
  { title, names, addresses, now = new Date() }: AuthorityOptions,
  secrets: Secrets,
): Promise<StoredAuthority> {
  const key = await newKey();
  const publicKey = createPublicKey(key);
  const commonName = title.slice(0, titleCharactersMax);
  const certificate = writeCertificate({
    subject: commonName,
    publicKey,
    issuer: commonName,
    signingKey: key,
    validFrom: later(now, -earlierSeconds),
    expiresAt: later(now, rootDays * daySeconds),
    extensions: [
      extensions.isAuthorityOfLeaves,
      extensions.keyUsage('certificatesAndLists'),
      extensions.onlyFor(names, addresses),
      extensions.ownKey(publicKey),
    ],
  });
  return { certificate, sealedKey: secrets.seal(sealedFor, keyPem(key)), names, addresses };
}

const later = (date: Date, seconds: number) => new Date(date.getTime() + seconds * 1000);

/** Whether the authority may sign for a name, as its own certificate says. */
export const isWithin = ({ names, addresses }: Pick<StoredAuthority, 'names' | 'addresses'>, name: string) =>
  isIP(name) ? addresses.includes(name) : names.some((own) => name === own || name.endsWith(`.${own}`));

const leafDaysUsual = 90;

export interface AuthorityIssuerOptions {
  /** The lifetime of certificates that it issues; 90 days unless said otherwise. */
  lifetimeDays?: number;
  now?: () => Date;
}

export function openAuthority(
  stored: StoredAuthority,
  secrets: Secrets,
  { lifetimeDays = leafDaysUsual, now = () => new Date() }: AuthorityIssuerOptions = {},
): Issuer {
  const root = new X509Certificate(stored.certificate);
  const rootKey = createPrivateKey(secrets.open(sealedFor, stored.sealedKey));

  const issue = (request: CertificateRequest, keyText: string): Issuance => {
    const [first, ...others] = request.names.filter((name) => !isWithin(stored, name)).map((name) => outside(name, stored));
    if (first) return { status: 'refused', faults: [first, ...others] };
    const certificate = writeLeaf(request.names, createPublicKey(createPrivateKey(keyText)), root, rootKey, now(), lifetimeDays);
    return {
      status: 'issued', // The chain is empty, because clients that trust the root have it already.
      issued: { certificate, key: keyText, chain: [] },
    };
  };

  return {
    begin: async (request) => ({ status: 'ongoing', request, next: 'sign', data: { key: keyPem(await newKey(request.keyType)) } }),
    advance: ({ request, data }) => Promise.resolve(issue(request, (data as { key: string }).key)),
    abandon: () => Promise.resolve(),
    renewal: (certificate) => Promise.resolve(renewalByLifetime(certificate, now())),
    revoke: () =>
      Promise.reject(
        new Problem(
          'conflict',
          'The authority of this installation keeps no list of revoked certificates; replace the certificate instead.',
        ),
      ),
  };
}

const outside = (name: string, { names }: StoredAuthority): IssuanceFault => ({
  name,
  cause: 'name',
  sentence: `The authority of this installation makes certificates for ${names.join(', ')} only, not for ${name}. Connect a public authority, or upload a certificate.`,
});

function writeLeaf(
  names: readonly string[],
  publicKey: KeyObject,
  root: X509Certificate,
  rootKey: KeyObject,
  now: Date,
  days: number,
): string {
  const expiresAt = new Date(Math.min(later(now, days * daySeconds).getTime(), Date.parse(root.validTo)));
  return writeCertificate({
    subject: undefined,
    publicKey,
    issuer: root.subject.replace(/^CN=/, ''),
    signingKey: rootKey,
    validFrom: later(now, -earlierSeconds),
    expiresAt,
    extensions: [
      extensions.isNoAuthority,
      extensions.keyUsage('signature'),
      extensions.forServers,
      extensions.alternativeNames(names, true),
      extensions.ownKey(publicKey),
      extensions.signersKey(root.publicKey),
    ],
  });
}
