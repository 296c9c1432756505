/** When the authority wants a certificate replaced (RFC 9773). */
import { X509Certificate } from 'node:crypto';
import type { Renewal } from '../certificates.ts';
import { chanceOf } from '../renewal-by-lifetime.ts';
import { readAll, readOne } from '../x509/der.ts';
import { extensionIds } from '../x509/extensions.ts';
import { partsOf } from '../x509/facts.ts';
import type { Reply } from './connection.ts';
import type { RenewalInformation } from './messages.ts';

/** The identifier that RFC 9773 gives a certificate: the key that signed it, and its serial number. */
export function certificateId(pem: string): string {
  const { extensions, serial } = partsOf(new X509Certificate(pem));
  const signer = extensions.get(extensionIds.authorityKeyIdentifier);
  const key = signer && readAll(readOne(signer).content).find(({ tag }) => tag === 0x80)?.content;
  return `${(key ?? Buffer.alloc(0)).toString('base64url')}.${serial.toString('base64url')}`;
}

const daySeconds = 86_400;
const askAgainSeconds = 6 * 3600;
/** The bounds within which an authority may choose when it is asked again. */
const askAgainBounds = { min: 60, max: daySeconds };

/** A moment in the window that is chosen by chance, but is always the same for one certificate. */
export function renewalByAuthority(pem: string, { body, retryAt }: Reply<RenewalInformation>, now = new Date()): Renewal | undefined {
  const [start, end] = [Date.parse(body?.suggestedWindow?.start), Date.parse(body?.suggestedWindow?.end)];
  if (Number.isNaN(start) || Number.isNaN(end) || end < start) return undefined;
  const seconds = retryAt ? (retryAt.getTime() - now.getTime()) / 1000 : askAgainSeconds;
  return {
    renewAt: new Date(start + (end - start) * chanceOf(pem)).toISOString(),
    askAgainAt: after(now, Math.min(Math.max(seconds, askAgainBounds.min), askAgainBounds.max)),
    by: 'issuer',
    ...(body.explanationURL !== undefined && { explanation: body.explanationURL }),
  };
}

const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
