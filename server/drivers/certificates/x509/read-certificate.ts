/** A certificate that somebody gave us, with its key and its chain: taken apart and checked. Every fault is told, by field, with what to do about it. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import type { CertificateFault, KeyedCertificate, KeyFacts, ReadCertificate } from '../certificates.ts';
import { chainFaults } from './chain.ts';
import { factsOf, keyFacts, partsOf } from './facts.ts';
import { parseCertificate, parseKey, PemFault } from './pem.ts';
import { keyPem } from './write-certificate.ts';

export interface ReadOptions {
  now?: Date;
  /** Roots, as PEM, that count as known beside the public ones. */
  authorities?: readonly string[];
}

const chainMax = 10;

export function readCertificate(given: KeyedCertificate, { now = new Date(), authorities = [] }: ReadOptions = {}): ReadCertificate {
  const faults: CertificateFault[] = [];
  const attempt = <T>(field: string, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      faults.push({ field, sentence: sentenceOf(field, error) });
      return undefined;
    }
  };
  if (given.chain.length > chainMax)
    faults.push({
      field: 'chain',
      sentence: `chain holds ${given.chain.length} certificates, where ${chainMax} are the most; give those between the certificate and its root.`,
    });
  const certificate = attempt('certificate', () => readable(parseCertificate(given.certificate)));
  const key = attempt('key', () => parseKey(given.key));
  const chain = given.chain.slice(0, chainMax).map((text, index) => attempt(`chain[${index}]`, () => readable(parseCertificate(text))));
  const isWhole = faults.length === 0;
  if (certificate) faults.push(...leafFaults(certificate, now));
  if (certificate && key) faults.push(...keyFaults(certificate, key));
  const above = chain.filter((each) => each !== undefined);
  faults.push(
    ...above.flatMap((each, index) => [...timeFaults(`chain[${index}]`, each, now), ...signatureFaults(`chain[${index}]`, each)]),
  );
  if (certificate && isWhole)
    faults.push(
      ...chainFaults(
        certificate,
        above,
        authorities.map((text) => new X509Certificate(text)),
      ),
    );
  const [first, ...others] = faults;
  if (first || !certificate || !key) return { isGood: false, faults: [first as CertificateFault, ...others] };
  const keyed = { certificate: certificate.toString(), key: keyPem(key), chain: above.map((each) => each.toString()) };
  return { isGood: true, keyed, facts: factsOf(certificate) };
}

const sentenceOf = (field: string, error: unknown) => {
  if (error instanceof PemFault) return `${field} ${error.message}`;
  if (error instanceof RangeError) return `${field} is malformed; export it again from where it came from.`;
  throw error;
};

/** Refuses certificates that Node accepts although they are malformed inside. */
function readable(certificate: X509Certificate): X509Certificate {
  factsOf(certificate);
  return certificate;
}

function leafFaults(certificate: X509Certificate, now: Date): CertificateFault[] {
  const { names, uses, isAuthority, isSelfSigned, keyType } = factsOf(certificate);
  const faults = [...timeFaults('certificate', certificate, now), ...signatureFaults('certificate', certificate)];
  const say = (sentence: string) => faults.push({ field: 'certificate', sentence });
  if (names.length === 0) say('certificate names no host; ask for one with the domain as a subject alternative name.');
  if (uses.length > 0 && !uses.includes('serverAuth') && !uses.includes('anyExtendedKeyUsage'))
    say(`certificate is not for servers but for ${uses.join(', ')}; ask for one for TLS servers.`);
  if (isAuthority && !isSelfSigned) say('certificate is that of an authority; give the one for the domain here, and this one in chain.');
  const weakness = weaknessOf(keyType);
  if (weakness)
    say(`certificate has ${weakness}; ask for one with an RSA key of 2048 to 8192 bits, or an ECDSA key on P-256, P-384 or P-521.`);
  return faults;
}

const curves = new Set(['P-256', 'P-384', 'P-521']);

function weaknessOf(key: KeyFacts): string | undefined {
  if (key.algorithm === 'rsa') return key.bits < 2048 || key.bits > 8192 ? `an RSA key of ${key.bits} bits` : undefined;
  if (key.algorithm === 'ecdsa') return curves.has(key.curve) ? undefined : `an ECDSA key on ${key.curve}`;
  return `a key of the kind ${key.name}`;
}

function keyFaults(certificate: X509Certificate, key: KeyObject): CertificateFault[] {
  if (certificate.checkPrivateKey(key)) return [];
  const kindOf = (facts: KeyFacts) => (facts.algorithm === 'other' ? facts.name : facts.algorithm.toUpperCase());
  const [wanted, given] = [kindOf(factsOf(certificate).keyType), kindOf(keyFacts(key))];
  const difference = wanted === given ? 'it is of another certificate' : `the certificate has an ${wanted} key, and this is ${given}`;
  return [
    {
      field: 'key',
      sentence: `key does not belong to the certificate: ${difference}. Give the key that the certificate was asked for with.`,
    },
  ];
}

function timeFaults(field: string, certificate: X509Certificate, now: Date): CertificateFault[] {
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  if (to <= now) return [{ field, sentence: `${field} expired on ${dayOf(to)}; renew it where it came from.` }];
  if (from > now)
    return [{ field, sentence: `${field} is valid only from ${dayOf(from)} on; wait until then, or ask for one that is valid now.` }];
  return [];
}

const dayOf = (date: Date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** Signature algorithms with MD5 or SHA-1, which can be forged. */
const forgeable: ReadonlySet<string> = new Set(['1.2.840.113549.1.1.4', '1.2.840.113549.1.1.5', '1.2.840.10045.4.1', '1.2.840.10040.4.3']);

/** Nobody checks the signature of a root. */
function signatureFaults(field: string, certificate: X509Certificate): CertificateFault[] {
  const isRoot = certificate.ca && certificate.checkIssued(certificate);
  if (isRoot || !forgeable.has(partsOf(certificate).signatureAlgorithm)) return [];
  return [{ field, sentence: `${field} is signed with MD5 or SHA-1, which clients no longer accept; ask for a new one.` }];
}
