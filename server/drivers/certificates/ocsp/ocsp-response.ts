/**
 * The answer of an issuer whether a certificate of its own is still good (RFC 6960, 4.2), taken apart and checked. It counts where it is about this very
 * certificate, is of now, and is signed by the issuer or by whom the issuer has certified for that.
 */
import { type KeyObject, verify, X509Certificate } from 'node:crypto';
import { type Der, readAll, readOid, readOne } from '../x509/der.ts';
import { keyIdentifier, useIds } from '../x509/extensions.ts';
import { partsOf } from '../x509/facts.ts';
import { type CertificateId, certificateIdOf } from './ocsp-request.ts';

export interface OcspAnswer {
  /** Undefined: the certificate is good. */
  revoked: { at: Date; reason: string | undefined } | undefined;
  /** Until when clients believe it; undefined where the issuer does not say, and no client could keep it. */
  until: Date | undefined;
}

export interface Questioned {
  certificate: X509Certificate;
  issuer: X509Certificate;
  now: Date;
}

/** Why an answer does not count, in words that go after “the responder”. */
export class OcspFault extends Error {}

const fault = (words: string): never => {
  throw new OcspFault(words);
};

/** Throws an OcspFault. */
export function readOcspResponse(bytes: Buffer, questioned: Questioned): OcspAnswer {
  try {
    const [status, holder] = readAll(readOne(bytes).content);
    const code = status?.content[0] ?? malformed();
    if (code !== 0) fault(refusals[code] ?? `refused with the unknown status ${code}`);
    const [type, response] = readAll(readOne(inside(holder)).content);
    if (readOid(inside(type)) !== basicResponse) fault('answered in a form that is not known here');
    return readBasic(inside(response), questioned);
  } catch (error) {
    if (error instanceof RangeError) throw new OcspFault('answered with something malformed', { cause: error });
    throw error;
  }
}

const malformed = (): never => {
  throw new RangeError('A part is missing');
};
const inside = (part: Der | undefined): Buffer => part?.content ?? malformed();

const basicResponse = '1.3.6.1.5.5.7.48.1.1';
const refusals: Readonly<Record<number, string>> = {
  1: 'found the question malformed',
  2: 'failed inside',
  3: 'asked to be tried later',
  5: 'wants questions to be signed',
  6: 'does not answer for this certificate',
};

function readBasic(bytes: Buffer, questioned: Questioned): OcspAnswer {
  const [body = malformed(), algorithm, signature, certificates] = readAll(readOne(bytes).content);
  const [responder = malformed(), , responses] = readAll(body.content).filter(({ tag }) => tag !== tagged.version);
  const signers = certificates ? readAll(readOne(certificates.content).content).map(certificateIn) : [];
  const signer = [questioned.issuer, ...signers.filter((each) => mayAnswer(each, questioned))].find((each) => isNamed(responder, each));
  const hash = hashes[readOid(inside(readAll(inside(algorithm))[0]))] ?? fault('signs in a way that is not accepted here');
  // The first byte of a bit string tells how many bits at its end do not count.
  if (!signer || !isSigned(hash, body.whole, signer.publicKey, inside(signature).subarray(1)))
    return fault('signed neither as the issuer nor by the issuer’s leave');
  const wanted = certificateIdOf(questioned.certificate, questioned.issuer);
  const single = readAll(inside(responses)).find(({ content }) => isAbout(readAll(content)[0], wanted));
  const answer = readSingle(readAll(inside(single ?? fault('answered about another certificate'))), questioned.now);
  return { ...answer, until: earlier(answer.until, new Date(signer.validTo)) };
}

function certificateIn({ whole }: Der): X509Certificate {
  try {
    return new X509Certificate(whole);
  } catch {
    return malformed();
  }
}

/** Tags of a context, in the places where they are looked for. */
const tagged = { version: 0xa0, byName: 0xa1, byKey: 0xa2, good: 0x80, revoked: 0xa1, nextUpdate: 0xa0, reason: 0xa0 } as const;

const ocspSigning = Object.entries(useIds).find(([, name]) => name === 'OCSPSigning')?.[0] ?? malformed();

/** Whether the issuer has certified this key to answer in its place. */
const mayAnswer = (certificate: X509Certificate, { issuer, now }: Questioned): boolean =>
  (certificate.keyUsage ?? []).includes(ocspSigning) &&
  certificate.checkIssued(issuer) &&
  certificate.verify(issuer.publicKey) &&
  new Date(certificate.validFrom) <= now &&
  new Date(certificate.validTo) > now;

function isNamed({ tag, content }: Der, certificate: X509Certificate): boolean {
  if (tag === tagged.byName) return content.equals(partsOf(certificate).subject.whole);
  return tag === tagged.byKey && readOne(content).content.equals(keyIdentifier(certificate.publicKey));
}

/** The hash of each signature algorithm that is accepted: RSA and ECDSA, without SHA-1, which can be forged. */
const hashes: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
};

function isSigned(hash: string, bytes: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(hash, bytes, key, signature);
  } catch {
    // The key is of a kind that signs without a hash.
    return false;
  }
}

function isAbout(id: Der | undefined, { issuerName, issuerKey, serial }: CertificateId): boolean {
  const [, ...told] = readAll(inside(id));
  return [issuerName, issuerKey, serial].every((part, index) => told[index]?.content.equals(part));
}

/** Clocks differ a little. */
const skewMilliseconds = 300_000;

function readSingle([, status = malformed(), thisUpdate, ...others]: readonly Der[], now: Date): OcspAnswer {
  const [from, next] = [timeOf(inside(thisUpdate)), others.find(({ tag }) => tag === tagged.nextUpdate)];
  const until = next && timeOf(readOne(next.content).content);
  if (from.getTime() > now.getTime() + skewMilliseconds) fault('answered with what holds only later; is the clock right?');
  if (until && until <= now) fault('answered with what holds no longer');
  if (status.tag === tagged.good) return { revoked: undefined, until };
  if (status.tag !== tagged.revoked) return fault('does not know the certificate');
  const [at, reason] = readAll(status.content);
  const number = reason?.tag === tagged.reason ? readOne(reason.content).content[0] : undefined;
  return { revoked: { at: timeOf(inside(at)), reason: number === undefined ? undefined : reasons[number] }, until };
}

/** The reasons of RFC 5280 (5.3.1), for people. */
const reasons: Readonly<Record<number, string>> = {
  1: 'its key is known to others',
  2: 'the key of the authority is known to others',
  3: 'who it was given to has changed',
  4: 'another has taken its place',
  5: 'it is not needed any more',
  6: 'it is on hold',
  9: 'the right to it was withdrawn',
};

function timeOf(content: Buffer): Date {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(content.toString('latin1')) ?? malformed();
  const [year = 0, month = 0, day, hour, minute, second] = parts.map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
}

const earlier = (one: Date | undefined, other: Date) => (one === undefined || one < other ? one : other);
