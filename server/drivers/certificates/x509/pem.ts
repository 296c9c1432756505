/** Text in the form of PEM, taken strictly: one block, its label, and nothing else. What is wrong is said in words. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

const charactersMax = 65_536;

/** Why a text is not valid. The name of the field is put before the message. */
export class PemFault extends Error {}

const fault = (sentence: string): never => {
  throw new PemFault(sentence);
};

const block = /^-----BEGIN ([A-Z0-9 ]+)-----\n(?:[A-Za-z0-9+/=]+\n)+-----END \1-----\n?$/;
const oneBlock = /-----BEGIN [A-Z0-9 ]+-----/g;

/** Makes all line ends plain line feeds, and removes blanks at both ends of each line. */
const tidy = (text: string) =>
  `${text
    .replaceAll('\r', '')
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim()}\n`;

function labelOf(text: string, what: string): string {
  if (text.length > charactersMax) fault(`is longer than ${charactersMax} characters; give ${what} alone.`);
  if (text.trim() === '') fault(`is empty; give ${what} in the form of PEM.`);
  const count = text.match(oneBlock)?.length ?? 0;
  if (count === 0)
    fault(`is not in the form of PEM; it should begin with -----BEGIN. Files in the form of DER or PKCS #12 are to be converted first.`);
  if (count > 1) fault(`holds ${count} parts, where one is expected; give ${what} alone.`);
  const label = block.exec(text)?.[1];
  return label ?? fault('is damaged, or has text beside it; give it from the line -----BEGIN to the line -----END, and nothing else.');
}

export function parseCertificate(text: string): X509Certificate {
  const plain = tidy(text);
  const label = labelOf(plain, 'one certificate');
  if (label.endsWith('PRIVATE KEY'))
    fault('holds a private key, where a certificate is expected; make a new key and certificate if others saw this.');
  if (label !== 'CERTIFICATE') fault(`holds a ${label}, where a CERTIFICATE is expected.`);
  try {
    return new X509Certificate(plain);
  } catch {
    return fault('cannot be read as a certificate; export it again from where it came from.');
  }
}

/** `openssl ecparam` writes this before the key, which says it all again. */
const parameters = /^-----BEGIN EC PARAMETERS-----\n[^-]*-----END EC PARAMETERS-----\n/;
const keyLabels = new Set(['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY']);

export function parseKey(text: string): KeyObject {
  const plain = tidy(text).replace(parameters, '');
  if (plain.includes('ENCRYPTED'))
    fault('is protected by a passphrase, which nobody could type in at night; take it off with `openssl pkey -in key.pem`.');
  const label = labelOf(plain, 'one private key');
  if (label === 'CERTIFICATE') fault('holds a certificate, where its private key is expected.');
  if (!keyLabels.has(label)) fault(`holds a ${label}, where a PRIVATE KEY is expected.`);
  try {
    return createPrivateKey(plain);
  } catch {
    return fault('cannot be read as a private key; export it again from where it came from.');
  }
}
