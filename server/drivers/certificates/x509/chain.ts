/** Whether what follows a certificate leads, one by one, from who signed it to an authority that clients know. */
import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';
import type { CertificateFault } from '../certificates.ts';
import { factsOf, isSelfSigned } from './facts.ts';

const signs = (signer: X509Certificate, certificate: X509Certificate) =>
  certificate.checkIssued(signer) && signer.ca && certificate.verify(signer.publicKey);

/** The first fault of the chain, if there is one: what comes after it cannot be judged. `authorities` are roots beside the public ones. */
export function chainFaults(
  certificate: X509Certificate,
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): CertificateFault[] {
  const whole = [certificate, ...chain];
  for (const [place, signed] of whole.entries()) {
    const next = chain[place];
    if (!next) return endFaults(signed, place, authorities);
    if (!signs(next, signed)) return [brokenAt(place, whole)];
    // A certificate that signed itself has nobody above it.
    if (isSelfSigned(signed)) return [{ field: `chain[${place}]`, sentence: `chain[${place}] comes after a root; leave it out.` }];
  }
  return [];
}

function brokenAt(place: number, whole: readonly X509Certificate[]): CertificateFault {
  const [signed, next] = [whole[place] as X509Certificate, whole[place + 1] as X509Certificate];
  const field = `chain[${place}]`;
  if (whole.slice(0, place + 1).some((other) => other.fingerprint256 === next.fingerprint256))
    return { field, sentence: `${field} is the same as one before it; leave it out.` };
  const right = whole.findIndex((other) => other !== signed && signs(other, signed));
  if (right > 0)
    return {
      field,
      sentence: `The chain is out of order: chain[${right - 1}] signed ${nameOf(place)} and belongs in the place of ${field}.`,
    };
  return { field, sentence: `${field} did not sign ${nameOf(place)}; in its place belongs the certificate of ${signerOf(signed)}.` };
}

function endFaults(last: X509Certificate, place: number, authorities: readonly X509Certificate[]): CertificateFault[] {
  const isKnown = isSelfSigned(last) || [...authorities, ...publicRoots(last.issuer)].some((root) => signs(root, last));
  if (isKnown) return [];
  const sentence = `The chain is not complete: the certificate of ${signerOf(last)}, which signed ${nameOf(place)}, is missing. Add it as chain[${place}].`;
  return [{ field: 'chain', sentence }];
}

const nameOf = (place: number) => (place === 0 ? 'the certificate' : `chain[${place - 1}]`);

function signerOf(certificate: X509Certificate): string {
  const { issuer } = factsOf(certificate);
  const part = (alias: string) => issuer.find((each) => each.alias === alias)?.value;
  return `“${part('commonName') ?? part('organizationName') ?? certificate.issuer.replaceAll('\n', ', ')}”`;
}

let rootsBySubject: Map<string, X509Certificate[]> | undefined;

/** The roots that this machine trusts, read once. */
function publicRoots(subject: string): X509Certificate[] {
  rootsBySubject ??= Map.groupBy(
    getCACertificates('default').map((text) => new X509Certificate(text)),
    (root) => root.subject,
  );
  return rootsBySubject.get(subject) ?? [];
}
