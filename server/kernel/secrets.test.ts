import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { openLog } from './log.ts';
import { openSecrets } from './secrets.ts';

const [older, newer] = [randomBytes(32), randomBytes(32)];

test('what an older key sealed or signed is still good after the key was rotated; new things use the new key', () => {
  const sealed = openSecrets([older]).seal('column', 'hunter2');
  const rotated = openSecrets([newer, older]);
  expect(rotated.open('column', sealed)).toBe('hunter2');
  expect(openSecrets([newer]).open('column', rotated.seal('column', 'x'))).toBe('x');
  expect(rotated.isSigned('text', openSecrets([older]).sign('text'))).toBe(true);
  expect(() => openSecrets([newer]).open('column', sealed)).toThrow('does not have');
});

test('a sealed value cannot be read, changed or moved', () => {
  const secrets = openSecrets([older]);
  const sealed = secrets.seal('users.phone', 'hunter2');
  expect(sealed).not.toContain('hunter2');
  expect(() => secrets.open('users.email', sealed)).toThrow('authenticate');
  const [id = '', text = ''] = sealed.split('.');
  const bytes = Buffer.from(text, 'base64url');
  bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
  expect(() => secrets.open('users.phone', `${id}.${bytes.toString('base64url')}`)).toThrow('authenticate');
});

test('whatever is logged under the name of a secret is hidden', () => {
  const lines: string[] = [];
  const log = openLog('info', { write: (line) => void lines.push(line) });
  log.info(
    { password: 'hunter2', request: { headers: { authorization: 'hunter2', cookie: 'hunter2' }, body: { api_token: 'hunter2' } } },
    'careless',
  );
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('')).toContain('careless');
});

test('a derived secret is the same again for its purpose and key, and tells nothing of another', () => {
  const [mine, old] = openSecrets([newer, older]).derived('one');
  expect([mine, old]).toEqual([openSecrets([newer]).derived('one')[0], openSecrets([older]).derived('one')[0]]);
  expect(new Set([mine, old, openSecrets([newer]).derived('two')[0]]).size).toBe(3);
});
