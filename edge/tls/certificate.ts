/**
 * Certificates as the edge is told of them: which names each is for, and the key. The control plane decides who gets which; the edge presents to each client
 * the one that names what the client asked for.
 */
import { fieldsBut, flag, list, parserOf, text, textLike, wholeNumber } from '../routing/schema.ts';

export interface EdgeCertificate {
  /** Lower-case letters, digits, dashes. */
  id: string;
  /** A higher one replaces a lower one; the same or a lower one changes nothing. */
  version: number;
  /** Exact, or `*.` and a name for one label before it. Lower case, ASCII. */
  names: string[];
  /** The leaf certificate, as PEM. */
  certificate: string;
  /** The certificates above the leaf, as PEM, each signed by the next. */
  chain: string[];
  /** The private key, as PEM. */
  key: string;
  /** The issuer's OCSP response in base64, which is sent along to clients that ask for it. */
  stapled?: string;
  /** When that response ends, and is not sent any longer, whether or not somebody has told a newer one. */
  stapled_until?: string;
  /** Presented to whoever asks for no name, or for one that no certificate is for. */
  is_default?: boolean;
}

const idPattern = /^[a-z0-9][a-z0-9-]{0,127}$/;
const namesMax = 1000;
const chainMax = 10;
const pemCharactersMax = 64 * 1024;
const stapledCharactersMax = 16 * 1024;
const pem = textLike(/^-----BEGIN [A-Z0-9 ]+-----[\s\S]*-----END [A-Z0-9 ]+-----\s*$/, pemCharactersMax, 'PEM');
const name = textLike(/^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$|^[0-9a-f.:]+$/, 253, 'a host name in lower case');

export const isCertificateId = (id: string) => idPattern.test(id);

export const parseCertificate = parserOf(
  fieldsBut<EdgeCertificate>(
    {
      id: textLike(idPattern, 128, 'of lower-case letters, digits and dashes'),
      version: wholeNumber(0, Number.MAX_SAFE_INTEGER),
      names: list(name, namesMax),
      certificate: pem,
      chain: list(pem, chainMax),
      key: pem,
      stapled: text(stapledCharactersMax),
      stapled_until: textLike(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/, 40, 'a time in UTC'),
      is_default: flag,
    },
    ['stapled', 'stapled_until', 'is_default'],
  ),
  'The certificate',
);
