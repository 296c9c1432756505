/** Certificates and requests for them, signed. What they say is in their extensions; names of people and places are not certified here. */
import { generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { KeyType } from '../certificates.ts';
import { bits, explicit, integer, nothing, oid, sequence, set, time, utf8 } from './der.ts';
import { alternativeNames } from './extensions.ts';

const serialBytes = 16;
const generate = promisify(generateKeyPair);

export async function newKey(type: KeyType = 'ecdsa'): Promise<KeyObject> {
  const pair = type === 'rsa' ? await generate('rsa', { modulusLength: 2048 }) : await generate('ec', { namedCurve: 'prime256v1' });
  return pair.privateKey;
}

export const keyPem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export interface CertificatePlan {
  /** The common name; undefined where the certificate has only alternative names. */
  subject: string | undefined;
  publicKey: KeyObject;
  issuer: string;
  /** The private key of the issuer. */
  signingKey: KeyObject;
  validFrom: Date;
  expiresAt: Date;
  extensions: readonly Buffer[];
}

/** Answers with PEM. */
export function writeCertificate(plan: CertificatePlan): string {
  const version3 = explicit(0, integer(2));
  const body = sequence(
    version3,
    integer(newSerial()),
    algorithmOf(plan.signingKey),
    distinguishedName(plan.issuer),
    sequence(time(plan.validFrom), time(plan.expiresAt)),
    distinguishedName(plan.subject),
    plan.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...plan.extensions)),
  );
  return pem('CERTIFICATE', signed(body, plan.signingKey));
}

/** Answers with DER. The names are in the extension alone: a common name is too short for some of them. */
export function writeRequest(names: readonly string[], key: KeyObject, publicKey: KeyObject): Buffer {
  const extensionRequest = sequence(oid('1.2.840.113549.1.9.14'), set(sequence(alternativeNames(names))));
  const body = sequence(
    integer(0),
    distinguishedName(undefined),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(0, extensionRequest),
  );
  return signed(body, key);
}

const signed = (body: Buffer, key: KeyObject) => sequence(body, algorithmOf(key), bits(sign('sha256', body, key)));

/** The signature algorithm for the key, with SHA-256. */
const algorithmOf = (key: KeyObject) =>
  key.asymmetricKeyType === 'rsa' ? sequence(oid('1.2.840.113549.1.1.11'), nothing) : sequence(oid('1.2.840.10045.4.3.2'));

const distinguishedName = (commonName: string | undefined) =>
  sequence(...(commonName === undefined ? [] : [set(sequence(oid('2.5.4.3'), utf8(commonName)))]));

/** A serial number that is positive and never starts with a zero, so that it is equally long in all notations. */
function newSerial(): Buffer {
  const serial = randomBytes(serialBytes);
  serial[0] = ((serial[0] as number) & 0x3f) | 0x40;
  return serial;
}

export const pem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;
