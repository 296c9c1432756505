/** A certificate that comes along with a domain: taken apart, checked, and kept for the project. Blank or absent, one is had automatically. */
import { Type, type Static } from 'typebox';
import { closed } from '../../kernel/schema.ts';
import { Chain, checkedCertificate, isFor, Pem, refusedFields, type GivenCertificate } from '../certificates/public.ts';

/** Clients send null, an empty text or an empty list where there is none. */
export const Ssl = Type.Union([
  closed({ certificate: Type.Optional(Pem), key: Type.Optional(Pem), chain: Type.Optional(Chain) }),
  Type.Null(),
  Type.Literal(''),
  Type.Array(Type.Never(), { maxItems: 0 }),
]);
export type Ssl = Static<typeof Ssl>;

/** Undefined where it is blank. A Problem names each field that is wrong. */
export function certificateFor(name: string, ssl: Ssl | undefined): GivenCertificate | undefined {
  if (!ssl || Array.isArray(ssl)) return undefined;
  const { certificate = '', key = '', chain = [] } = ssl;
  if ([certificate, key, ...chain].every((text) => text.trim() === '')) return undefined;
  const read = checkedCertificate({ certificate, key, chain }, 'ssl.');
  if (!read.facts.names.some((host) => isFor(host, name)))
    throw refusedFields({ 'ssl.certificate': `is for ${read.facts.names.join(', ')} and not for ${name}; give one that names it` });
  return read;
}
