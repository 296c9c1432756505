/** Certificates of all kinds, good and bad, for tests. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { alternativeNames, forServers, isAuthorityOfLeaves, isNoAuthority, ownKey, signersKey } from './extensions.ts';
import { keyPem, newKey, writeCertificate } from './write-certificate.ts';

const day = 86_400_000;

export interface TestCertificate {
  title: string;
  pem: string;
  key: KeyObject;
  keyPem: string;
}

interface Wish {
  names?: readonly string[];
  /** The signer; undefined where the certificate signs itself. */
  by?: TestCertificate;
  isAuthority?: boolean;
  days?: { from: number; to: number };
  key?: KeyObject;
  subject?: string;
  /** Those of a server unless said otherwise. */
  use?: Buffer;
  /** Beside the usual ones. */
  extensions?: readonly Buffer[];
}

export async function testCertificate(title: string, wish: Wish = {}): Promise<TestCertificate> {
  const { names = [], by, isAuthority = false, days = { from: -1, to: 30 }, key = await newKey(), subject = title } = wish;
  const { use = forServers, extensions = [] } = wish;
  const publicKey = createPublicKey(key);
  const signer = by ?? { title: subject, key };
  const pem = writeCertificate({
    subject,
    publicKey,
    issuer: signer.title,
    signingKey: signer.key,
    validFrom: new Date(Date.now() + days.from * day),
    expiresAt: new Date(Date.now() + days.to * day),
    extensions: [
      isAuthority ? isAuthorityOfLeaves : isNoAuthority,
      ...(names.length > 0 ? [alternativeNames(names)] : []),
      ...(isAuthority ? [] : [use]),
      ownKey(publicKey),
      signersKey(createPublicKey(signer.key)),
      ...extensions,
    ],
  });
  return { title: subject, pem, key, keyPem: keyPem(key) };
}
