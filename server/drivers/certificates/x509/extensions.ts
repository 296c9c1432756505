/** Extensions of certificates, as they are written. */
import { createHash, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { addressBytes } from './addresses.ts';
import { bits, explicit, implicit, integer, isTrue, octets, oid, readAll, readOne, sequence } from './der.ts';

export const extensionIds = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  authorityInformation: '1.3.6.1.5.5.7.1.1',
  tlsFeatures: '1.3.6.1.5.5.7.1.24',
  acmeIdentifier: '1.3.6.1.5.5.7.1.31',
} as const;

const extension = (id: keyof typeof extensionIds, isCritical: boolean, content: Buffer) =>
  sequence(oid(extensionIds[id]), ...(isCritical ? [isTrue] : []), octets(content));

/** A host name, or an address, as a GeneralName. */
const generalName = (name: string) => (isIP(name) ? implicit(7, addressBytes(name)) : implicit(2, Buffer.from(name, 'ascii')));

/** The extension is critical where the certificate has no other name (RFC 5280, 4.2.1.6). */
export const alternativeNames = (names: readonly string[], isCritical = false) =>
  extension('subjectAlternativeName', isCritical, sequence(...names.map(generalName)));

export const isNoAuthority = extension('basicConstraints', true, sequence());
/** An authority that may sign leaves only: nothing below it may sign. */
export const isAuthorityOfLeaves = extension('basicConstraints', true, sequence(isTrue, integer(0)));

/** The first byte of each bit string, and how many of its low bits are unused. */
const usageBits = { signature: [0x80, 7], certificatesAndLists: [0x06, 1] } as const;

export function keyUsage(usage: keyof typeof usageBits): Buffer {
  const [byte, unused] = usageBits[usage];
  return extension('keyUsage', true, bits(Buffer.from([byte]), unused));
}

export const useIds: Readonly<Record<string, string>> = {
  '1.3.6.1.5.5.7.3.1': 'serverAuth',
  '1.3.6.1.5.5.7.3.2': 'clientAuth',
  '1.3.6.1.5.5.7.3.3': 'codeSigning',
  '1.3.6.1.5.5.7.3.4': 'emailProtection',
  '1.3.6.1.5.5.7.3.8': 'timeStamping',
  '1.3.6.1.5.5.7.3.9': 'OCSPSigning',
  '2.5.29.37.0': 'anyExtendedKeyUsage',
};

const forUse = (id: string) => extension('extendedKeyUsage', false, sequence(oid(id)));
export const forServers = forUse('1.3.6.1.5.5.7.3.1');
export const forOcsp = forUse('1.3.6.1.5.5.7.3.9');

/** The SHA-1 of the key's bits, as RFC 5280 suggests: it identifies the key, and protects nothing. */
export function keyIdentifier(publicKey: KeyObject): Buffer {
  const [, bitString] = readAll(readOne(publicKey.export({ type: 'spki', format: 'der' })).content);
  return createHash('sha1')
    .update(bitString?.content.subarray(1) ?? Buffer.alloc(0))
    .digest();
}

export const ownKey = (publicKey: KeyObject) => extension('subjectKeyIdentifier', false, octets(keyIdentifier(publicKey)));
export const signersKey = (publicKey: KeyObject) =>
  extension('authorityKeyIdentifier', false, sequence(implicit(0, keyIdentifier(publicKey))));

/**
 * The authority may sign only for what is below the names, and for these addresses. A kind of name without a constraint would be free, so there is always one
 * for addresses, at least for this machine's own.
 */
export function onlyFor(names: readonly string[], addresses: readonly [string, ...string[]]): Buffer {
  const hosts = names.map((name) => sequence(implicit(2, Buffer.from(name, 'ascii'))));
  const machines = addresses.map((address) => {
    const bytes = addressBytes(address);
    return sequence(implicit(7, Buffer.concat([bytes, Buffer.alloc(bytes.length, 0xff)])));
  });
  return extension('nameConstraints', true, sequence(explicit(0, ...hosts, ...machines)));
}

/** What the certificate for TLS-ALPN-01 shows (RFC 8737). */
export const acmeIdentifier = (digest: Buffer) => extension('acmeIdentifier', true, octets(digest));

/** Where the issuer tells, by OCSP, whether the certificate is revoked. */
export const statusAt = (url: string) =>
  extension('authorityInformation', false, sequence(sequence(oid('1.3.6.1.5.5.7.48.1'), implicit(6, Buffer.from(url, 'ascii')))));

/** Clients refuse the certificate where the issuer's answer is not sent along (RFC 7633). */
export const mustBeStapled = extension('tlsFeatures', false, sequence(integer(5)));
