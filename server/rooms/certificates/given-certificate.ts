/** A certificate that somebody gives, with its key and chain: taken apart and checked. A Problem names each field that is wrong. */
import { Type } from 'typebox';
import type { CertificateFacts, KeyedCertificate } from '../../drivers/certificates/certificates.ts';
import { readCertificate } from '../../drivers/certificates/x509/read-certificate.ts';
import { refusedFields } from './refusals.ts';

const pemCharactersMax = 65_536;
const chainMax = 20;
export const Pem = Type.String({ maxLength: pemCharactersMax });
export const Chain = Type.Array(Pem, { maxItems: chainMax });

export interface GivenCertificate {
  keyed: KeyedCertificate;
  facts: CertificateFacts;
}

/** `within` is what stands before the names of fields: `ssl.`, where the certificate comes along with something else. */
export function checkedCertificate({ certificate, key, chain }: KeyedCertificate, within = ''): GivenCertificate {
  const read = readCertificate({ certificate, key, chain: separated(chain) });
  if (read.isGood) return read;
  throw refusedFields(Object.fromEntries(read.faults.map(({ field, sentence }) => [`${within}${field}`, asMessage(field, sentence)])));
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
