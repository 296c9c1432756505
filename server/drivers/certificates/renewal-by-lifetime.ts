/** When a certificate is to be replaced of which nobody says anything: when a third of its life is left, however long that is. */
import { createHash, X509Certificate } from 'node:crypto';
import type { Renewal } from './certificates.ts';

const askAgainSeconds = 6 * 3600;

/** Renewals are spread over a hundredth of the lifetime, so that certificates issued together are not renewed together. */
export function renewalByLifetime(pem: string, now = new Date()): Renewal {
  const { validFrom, validTo } = new X509Certificate(pem);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  const lifetime = to - from;
  const renewAt = to - lifetime / 3 - (lifetime / 100) * chanceOf(pem);
  return {
    renewAt: new Date(renewAt).toISOString(),
    askAgainAt: new Date(now.getTime() + askAgainSeconds * 1000).toISOString(),
    by: 'lifetime',
  };
}

/** A number from 0 to 1 that is as good as random, but always the same for one certificate. */
export const chanceOf = (pem: string) => createHash('sha256').update(new X509Certificate(pem).raw).digest().readUInt32BE() / 2 ** 32;
