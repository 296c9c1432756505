/**
 * Secrets at rest and signatures. A sealed value carries the id of its key, so keys can be rotated: the first key of the list seals,
 * every key opens. What a value is for is authenticated with it, so a sealed column cannot be moved to another place.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Secrets {
  seal(purpose: string, plaintext: string): string;
  open(purpose: string, sealed: string): string;
  sign(text: string): string;
  isSigned(text: string, signature: string): boolean;
  /** Secrets for one purpose, which are stored nowhere: the same keys give them again. There is one for each key, the newest first, as what an older key has sealed must still be opened. */
  derived(purpose: string): [string, ...string[]];
}

const ivBytes = 12;
const tagBytes = 16;

export function openSecrets(keys: readonly Buffer[]): Secrets {
  const rings = keys.map((key) => ({
    id: createHash('sha256').update(key).digest('hex').slice(0, 8),
    sealing: derive(key, 'seal'),
    signing: derive(key, 'sign'),
  }));
  const [newest] = rings;
  if (!newest) throw new Error('At least one secret key is needed');
  const signatureOf = (ring: typeof newest, text: string) => createHmac('sha256', ring.signing).update(text).digest('base64url');

  return {
    seal(purpose, plaintext) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', newest.sealing, iv).setAAD(Buffer.from(purpose));
      const sealed = Buffer.concat([iv, cipher.update(plaintext, 'utf8'), cipher.final()]);
      return `${newest.id}.${Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')}`;
    },
    open(purpose, sealed) {
      const [id, text = ''] = sealed.split('.');
      const ring = rings.find((candidate) => candidate.id === id);
      if (!ring) throw new Error(`This was sealed with the secret key ${id}, which this installation does not have`);
      const bytes = Buffer.from(text, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', ring.sealing, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]).toString('utf8');
    },
    sign: (text) => signatureOf(newest, text),
    isSigned: (text, signature) => rings.some((ring) => isSame(signatureOf(ring, text), signature)),
    derived(purpose) {
      const [first = '', ...others] = keys.map((key) => derive(key, `derived ${purpose}`).toString('base64url'));
      return [first, ...others];
    },
  };
}

const derive = (key: Buffer, use: string) => Buffer.from(hkdfSync('sha256', key, '', `offshoot ${use}`, 32));

export const isSame = (a: string, b: string) => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** How a secret with enough randomness of its own (a token we made) is stored: found by its hash, useless to whoever reads the table. */
export const fingerprint = (secret: string) => createHash('sha256').update(secret).digest('base64url');

export const randomSecret = (bytes = 32) => randomBytes(bytes).toString('base64url');
