/**
 * OpenSSH user certificates, as OpenSSH's PROTOCOL.certkeys describes them: the person's own public key, with their id as key id and only
 * principal, signed by the installation's authority. They last an hour, hold the usual permissions of a terminal session, and say what the access
 * token said that they were asked for with: what ends that token's credential ends the certificate too.
 */
import { createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Proof } from '../../identity.ts';
import { readCertificate } from '../../drivers/ssh/certificate.ts';
import { publicKeyLine, type PublicKey } from '../../drivers/ssh/public-key.ts';
import { string, uint32, uint64 } from '../../drivers/ssh/wire.ts';

const validSeconds = 3600;
/** A certificate is valid from a little before now, because clocks differ. */
const skewSeconds = 60;
const userCertificate = 1;

const permissions = ['permit-X11-forwarding', 'permit-agent-forwarding', 'permit-port-forwarding', 'permit-pty', 'permit-user-rc'];

/** The extension that holds the proof, which we read; and the extension in which clients look for claims, to compare them with their token. */
const proofName = 'proof@offshoot';
const claimsName = 'token-claims@platform.sh';
const Proven = Type.Object({
  sub: Type.String(),
  via: Type.String(),
  generation: Type.Integer(),
  amr: Type.Optional(Type.Array(Type.String())),
});

/** The extensions, sorted by name as the format demands. */
const extensionsOf = (proof: Proof): [string, string][] =>
  [
    ...permissions.map((name): [string, string] => [name, '']),
    [proofName, JSON.stringify(proof)] satisfies [string, string],
    ...(proof.amr ? [[claimsName, JSON.stringify({ amr: proof.amr })] satisfies [string, string]] : []),
  ].toSorted(([a], [b]) => (a < b ? -1 : 1));

/** What a certificate proves; undefined unless we signed it, it is valid now, and its key id and principal are the user whom it proves. */
export function proofOfCertificate(blob: Buffer, authority: KeyObject, now = Math.floor(Date.now() / 1000)) {
  const certificate = readCertificate(blob, createPublicKey(authority), authorityBlob(authority));
  if (!certificate || certificate.kind !== userCertificate || now < certificate.validAfter || now >= certificate.validBefore)
    return undefined;
  const proof = parseProof(certificate.extensions.get(proofName));
  const isTheirs = proof?.sub === certificate.keyId && certificate.principals.includes(certificate.keyId);
  return isTheirs && certificate.criticalOptions.size === 0 ? { proof, key: certificate.key } : undefined;
}

function parseProof(text = ''): Proof | undefined {
  try {
    return Value.Parse(Proven, JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function certify({ type, blob }: PublicKey, proof: Proof, authority: KeyObject, now = Math.floor(Date.now() / 1000)): string {
  const userId = proof.sub;
  const certificateType = `${type}-cert-v01@openssh.com`;
  const keyFields = blob.subarray(4 + type.length);
  const signed = Buffer.concat([
    string(certificateType),
    string(randomBytes(32)),
    keyFields,
    uint64(randomBytes(8).readBigUInt64BE()),
    uint32(userCertificate),
    string(userId),
    string(string(userId)),
    uint64(BigInt(now - skewSeconds)),
    uint64(BigInt(now + validSeconds)),
    string(''),
    string(Buffer.concat(extensionsOf(proof).flatMap(([name, value]) => [string(name), string(value === '' ? '' : string(value))]))),
    string(''),
    string(authorityBlob(authority)),
  ]);
  const signature = Buffer.concat([string(authorityType), string(sign(null, signed, authority))]);
  return `${certificateType} ${Buffer.concat([signed, string(signature)]).toString('base64')}`;
}

const authorityType = 'ssh-ed25519';

/** The authority as a line for `TrustedUserCAKeys`. */
export const authorityLine = (authority: KeyObject) => publicKeyLine({ type: authorityType, blob: authorityBlob(authority) });

function authorityBlob(authority: KeyObject): Buffer {
  const { x = '' } = createPublicKey(authority).export({ format: 'jwk' });
  return Buffer.concat([string(authorityType), string(Buffer.from(x, 'base64url'))]);
}
