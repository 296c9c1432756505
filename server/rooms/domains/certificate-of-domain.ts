/** A certificate that comes along with a domain: taken apart, checked, and kept for the project. Blank or absent, one is had automatically. */
import { Type, type Static } from 'typebox';
import { readCertificate } from '../../drivers/certificates/x509/read-certificate.ts';
import { closed } from '../../kernel/schema.ts';
import { isFor } from '../certificates/public.ts';
import type { GivenCertificate } from '../certificates/work.ts';
import { refusedFields } from './refusals.ts';

const pemCharactersMax = 65_536;
const chainMax = 20;
const Pem = Type.String({ maxLength: pemCharactersMax });

/** Clients send null, an empty text or an empty list where there is none. */
export const Ssl = Type.Union([
  closed({ certificate: Type.Optional(Pem), key: Type.Optional(Pem), chain: Type.Optional(Type.Array(Pem, { maxItems: chainMax })) }),
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
  const read = readCertificate({ certificate, key, chain: separated(chain) });
  if (!read.isGood)
    throw refusedFields(Object.fromEntries(read.faults.map(({ field, sentence }) => [`ssl.${field}`, asMessage(field, sentence)])));
  if (!read.facts.names.some((host) => isFor(host, name)))
    throw refusedFields({ 'ssl.certificate': `is for ${read.facts.names.join(', ')} and not for ${name}; give one that names it` });
  return read;
}

/** The field is put before it, and the full stop after it. */
const asMessage = (field: string, sentence: string) =>
  (sentence.startsWith(`${field} `) ? sentence.slice(field.length + 1) : `is wrong: ${sentence}`).replace(/\.$/, '');

const beginning = '-----BEGIN CERTIFICATE-----';

/** One certificate each: clients send files with several as one text, or cut them up and leave an empty piece before the first. */
const separated = (chain: readonly string[]): string[] =>
  chain
    .flatMap((text) => {
      const [before = '', ...pieces] = text.split(beginning);
      return before.trim() === '' ? pieces.map((piece) => `${beginning}${piece}`) : [text];
    })
    .filter((text) => text.trim() !== beginning);
