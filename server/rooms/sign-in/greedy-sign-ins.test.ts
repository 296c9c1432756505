import { scryptSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { isPassword } from './public.ts';

const flood = 50;
const password = 'the one and only passphrase';

/** As those of today, but cheap, so that many can be checked. */
const salt = Buffer.alloc(16, 7);
const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
const hash = `$scrypt$ln=10,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 }))}`;

test('whoever signs in from elsewhere does not wait for all who guess from one address, or from two', async () => {
  let answered = 0;
  const guess = (address: string) => isPassword('wrong', hash, address).finally(() => (answered += 1));
  const guesses = ['192.0.2.1', '192.0.2.2'].flatMap((address) => Array.from({ length: flood }, () => guess(address)));
  await expect(isPassword('wrong', hash, '192.0.2.1')).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining('try again'),
  });
  expect(await isPassword(password, hash, '198.51.100.7')).toBe(true);
  // Those that had begun are answered beside it, and perhaps a few after them; all the others wait on.
  expect(answered).toBeLessThan(flood / 2);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]));
});
