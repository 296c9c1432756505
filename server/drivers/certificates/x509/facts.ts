/** What a certificate says, read from its bytes where Node has only text for people. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { CertificateFacts, KeyFacts, NamePart } from '../certificates.ts';
import { addressText } from './addresses.ts';
import { type Der, readAll, readOid, readOne, tags } from './der.ts';
import { extensionIds, useIds } from './extensions.ts';

const aliases: Readonly<Record<string, string>> = {
  '2.5.4.3': 'commonName',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'countryName',
  '2.5.4.7': 'localityName',
  '2.5.4.8': 'stateOrProvinceName',
  '2.5.4.9': 'streetAddress',
  '2.5.4.10': 'organizationName',
  '2.5.4.11': 'organizationalUnitName',
  '2.5.4.17': 'postalCode',
  '2.5.4.97': 'organizationIdentifier',
  '1.2.840.113549.1.9.1': 'emailAddress',
  '0.9.2342.19200300.100.1.25': 'domainComponent',
};

/** The facts of a certificate that Node could read. Throws a RangeError where it is malformed all the same. */
export function factsOf(certificate: X509Certificate): CertificateFacts {
  const { issuer, subject, extensions } = partsOf(certificate);
  const subjectParts = nameParts(subject);
  const alternatives = alternativeNames(extensions);
  const commonNames = subjectParts.filter(({ alias }) => alias === 'commonName').map(({ value }) => value.toLowerCase());
  return {
    names: alternatives.length > 0 ? alternatives : commonNames.filter(isHostName),
    keyType: keyFacts(certificate.publicKey),
    issuer: nameParts(issuer),
    subject: subjectParts,
    serial: certificate.serialNumber.toLowerCase(),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    validFrom: new Date(certificate.validFrom).toISOString(),
    expiresAt: new Date(certificate.validTo).toISOString(),
    uses: (certificate.keyUsage ?? []).map((id) => useIds[id] ?? id),
    isSelfSigned: isSelfSigned(certificate),
    isAuthority: certificate.ca,
    ocspUrl: /^OCSP - URI:(http\S+)$/m.exec(certificate.infoAccess ?? '')?.[1],
    mustStaple: mustStaple(extensions),
  };
}

/** The feature of TLS by which servers send the issuer's answer along (`status_request`). */
const statusRequest = 5;

function mustStaple(extensions: ReadonlyMap<string, Buffer>): boolean {
  const content = extensions.get(extensionIds.tlsFeatures);
  return content !== undefined && readAll(readOne(content).content).some((feature) => feature.content.equals(Buffer.from([statusRequest])));
}

export const isSelfSigned = (certificate: X509Certificate) =>
  certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);

interface Parts {
  /** The bytes as in DER, where a zero byte may come first. */
  serial: Buffer;
  signatureAlgorithm: string;
  issuer: Der;
  subject: Der;
  /** The content of each extension, by OID. */
  extensions: ReadonlyMap<string, Buffer>;
}

export function partsOf(certificate: X509Certificate): Parts {
  const [body] = readAll(readOne(certificate.raw).content);
  const fields = readAll(body?.content ?? Buffer.alloc(0)).filter(({ tag }) => tag !== 0xa0);
  const [serial, algorithm, issuer, , subject] = fields;
  if (!serial || !algorithm || !issuer || !subject) throw new RangeError('The certificate lacks some of its parts');
  const [signature] = readAll(algorithm.content);
  return {
    serial: serial.content,
    signatureAlgorithm: readOid(signature?.content ?? Buffer.alloc(0)),
    issuer,
    subject,
    extensions: extensionsOf(fields.find(({ tag }) => tag === 0xa3)),
  };
}

function extensionsOf(field: Der | undefined): Map<string, Buffer> {
  if (!field) return new Map();
  return new Map(
    readAll(readOne(field.content).content).map((entry) => {
      const parts = readAll(entry.content);
      return [readOid(parts[0]?.content ?? Buffer.alloc(0)), parts.at(-1)?.content ?? Buffer.alloc(0)];
    }),
  );
}

const nameParts = (name: Der): NamePart[] =>
  readAll(name.content).flatMap((set) =>
    readAll(set.content).map((pair) => {
      const [id, text] = readAll(pair.content);
      const oid = readOid(id?.content ?? Buffer.alloc(0));
      return { oid, alias: aliases[oid] ?? null, value: text ? textOf(text) : '' };
    }),
  );

const wideText = 0x1e;
const textOf = ({ tag, content }: Der) =>
  tag === tags.utf8
    ? content.toString('utf8')
    : tag === wideText
      ? Buffer.from(content).swap16().toString('utf16le')
      : content.toString('latin1');

const dnsName = 0x82;
const address = 0x87;

function alternativeNames(extensions: ReadonlyMap<string, Buffer>): string[] {
  const content = extensions.get(extensionIds.subjectAlternativeName);
  if (!content) return [];
  const names = readAll(readOne(content).content).flatMap(({ tag, content: name }) => {
    if (tag === dnsName) return [name.toString('latin1').toLowerCase()];
    return tag === address ? [addressText(name) ?? []].flat() : [];
  });
  return [...new Set(names)];
}

const isHostName = (text: string) => /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(text);

export function keyFacts(key: KeyObject): KeyFacts {
  const { asymmetricKeyType: type = 'unknown', asymmetricKeyDetails: details } = key;
  if (type === 'rsa') return { algorithm: 'rsa', bits: details?.modulusLength ?? 0 };
  if (type === 'ec') return { algorithm: 'ecdsa', curve: curveNames[details?.namedCurve ?? ''] ?? details?.namedCurve ?? 'unnamed' };
  return { algorithm: 'other', name: type };
}

/** The usual names of the curves. */
const curveNames: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };
