/** The question to an issuer whether a certificate of its own is still good (RFC 6960, 4.1). */
import { createHash, type X509Certificate } from 'node:crypto';
import { nothing, octets, oid, sequence, tags, value } from '../x509/der.ts';
import { keyIdentifier } from '../x509/extensions.ts';
import { partsOf } from '../x509/facts.ts';

/** The certificate that a question or an answer is about, as bytes that are compared. */
export interface CertificateId {
  issuerName: Buffer;
  issuerKey: Buffer;
  serial: Buffer;
}

const sha1 = '1.3.14.3.2.26';

/** SHA-1 because every responder knows it: it tells certificates apart, and protects nothing. */
export function certificateIdOf(certificate: X509Certificate, issuer: X509Certificate): CertificateId {
  const parts = partsOf(certificate);
  return {
    issuerName: createHash('sha1').update(parts.issuer.whole).digest(),
    issuerKey: keyIdentifier(issuer.publicKey),
    serial: parts.serial,
  };
}

/** Answers with DER. It has no nonce, because the answer is for clients to whom it is shown later, and most responders sign ahead of questions. */
export function writeOcspRequest({ issuerName, issuerKey, serial }: CertificateId): Buffer {
  const certificateId = sequence(sequence(oid(sha1), nothing), octets(issuerName), octets(issuerKey), value(tags.integer, serial));
  const requests = sequence(sequence(certificateId));
  return sequence(sequence(requests));
}
