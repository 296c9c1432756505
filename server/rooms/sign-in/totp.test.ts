import { expect, test } from 'vitest';
import { base32, bytesOfBase32, newTotpSecret, passcodeAt, stepAt, stepOf } from './totp.ts';

const secret = Buffer.from('12345678901234567890');

/** RFC 6238, appendix B (SHA-1), of whose eight digits the last six are ours. */
test.for([
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
] as const)('at %i seconds the passcode is that of the RFC', ([seconds, digits]) => {
  expect(passcodeAt(stepAt(seconds * 1000), secret)).toBe(digits.slice(2));
});

/** RFC 4648, section 10. */
test.for([
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
] as const)('%s is %s in base32, and back', ([text, encoded]) => {
  expect(base32(Buffer.from(text))).toBe(encoded);
  expect(bytesOfBase32(encoded).toString()).toBe(text);
  expect(bytesOfBase32(encoded.toLowerCase()).toString()).toBe(text);
});

test('a passcode counts one step early and one step late, and no further', () => {
  const now = 1_700_000_000_000;
  const step = stepAt(now);
  for (const near of [step - 1, step, step + 1]) expect(stepOf(passcodeAt(near, secret), secret, now)).toBe(near);
  for (const far of [step - 2, step + 2]) expect(stepOf(passcodeAt(far, secret), secret, now)).toBeUndefined();
  for (const rubbish of ['', '12345', '1234567', 'abcdef', '١٢٣٤٥٦']) expect(stepOf(rubbish, secret, now)).toBeUndefined();
});

test('a new secret has 160 bits, and is never the same', () => {
  expect(bytesOfBase32(newTotpSecret())).toHaveLength(20);
  expect(newTotpSecret()).not.toBe(newTotpSecret());
});
