/** Whether a delivery comes from the host. Comparisons take the same time whatever is compared, so that nobody can guess a secret piece by piece. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Delivery } from './code-host.ts';

/** `sha256=<hex>` of the body. */
export const isSignedWithPrefix = (delivery: Delivery, header: string, secret: string): boolean =>
  isSame(headerOf(delivery, header), `sha256=${digestOf(delivery, secret)}`, secret);

/** The digest alone, in hex. */
export const isSignedPlainly = (delivery: Delivery, header: string, secret: string): boolean =>
  isSame(headerOf(delivery, header), digestOf(delivery, secret), secret);

/** The secret itself, as GitLab sends it. */
export const hasToken = (delivery: Delivery, header: string, secret: string): boolean => isSame(headerOf(delivery, header), secret, secret);

export function headerOf({ headers }: Delivery, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

const digestOf = ({ body }: Delivery, secret: string) => createHmac('sha256', secret).update(body).digest('hex');

/** An empty secret proves nothing: anybody has it. */
const isSame = (given: string, expected: string, secret: string) => secret !== '' && timingSafeEqual(hashOf(given), hashOf(expected));

/** Of the same length for all texts, as `timingSafeEqual` wants it. */
const hashOf = (text: string) => createHash('sha256').update(text).digest();
