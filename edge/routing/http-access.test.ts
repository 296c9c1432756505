import { expect, test } from 'vitest';
import { countedAs } from '../client/addresses.ts';
import { mayEnter, refusal } from './http-access.ts';
import type { HttpAccess } from './table.ts';

const access = (addresses: string[] = [], basic_auth: Record<string, string> = {}, is_enabled = true): HttpAccess => ({
  is_enabled,
  basic_auth,
  addresses: addresses.map((text) => {
    const [permission, address = ''] = text.split(' ');
    return { permission: permission === 'allow' ? 'allow' : 'deny', address };
  }),
});
const from = (address: string, credentials?: string) => ({
  address,
  headers: credentials === undefined ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
});
const users = { anna: 'secret-1', bert: 'pässwörd: with colon' };

test('without rules, or with control switched off, everybody gets in', () => {
  expect(mayEnter(access(), from('192.0.2.1'))).toBe(true);
  expect(mayEnter(access(['deny 0.0.0.0/0'], users, false), from('192.0.2.1'))).toBe(true);
});

test('the first address that matches decides; with none matching one gets in', () => {
  const office = access(['allow 192.0.2.0/24', 'deny 192.0.2.7', 'deny 198.51.100.0/25']);
  expect(mayEnter(office, from('192.0.2.7'))).toBe(true);
  expect(mayEnter(office, from('198.51.100.127'))).toBe(false);
  expect(mayEnter(office, from('198.51.100.128'))).toBe(true);
  expect(mayEnter(access(['deny 192.0.2.7', 'allow 192.0.2.0/24']), from('192.0.2.7'))).toBe(false);
});

test.each([
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1/32', '192.0.2.2', false],
  ['10.0.0.0/8', '10.255.255.255', true],
  ['10.0.0.0/8', '11.0.0.0', false],
  ['255.255.255.254/31', '255.255.255.255', true],
  ['192.0.2.1', '::ffff:192.0.2.1', true],
  ['::ffff:192.0.2.0/120', '192.0.2.99', true],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['2001:db8::1', '2001:0DB8:0:0:0:0:0:1', true],
  ['2001:db8:0:0:8000::/65', '2001:db8::7fff:0:0:1', false],
  ['2001:db8:0:0:8000::/65', '2001:db8::ffff:0:0:1', true],
  ['fe80::1', 'fe80::1%eth0', true],
  ['::/0', '192.0.2.1', true],
  ['0.0.0.0/0', '2001:db8::1', true],
  ['any', '2001:db8::1', true],
])('%s is for %s: %s', (network, address, isWithin) => {
  expect(mayEnter(access([`deny ${network}`]), from(address))).toBe(!isWithin);
});

test('a rule that cannot be read is for nobody; a client without a readable address is only among all', () => {
  for (const network of ['', 'localhost', '192.0.2.1/33', '192.0.2.1/', '192.0.2.1/8/8', '2001:db8::/129', '192.0.2', '192.0.2.1/-1'])
    expect(mayEnter(access([`allow ${network}`, 'deny any']), from('192.0.2.1'))).toBe(false);
  expect(mayEnter(access(['deny 192.0.2.0/24']), from('unknown'))).toBe(true);
  expect(mayEnter(access(['allow 192.0.2.0/24', 'deny any']), from('unknown'))).toBe(false);
});

test('valid credentials get in whatever the addresses say', () => {
  const both = access(['deny 0.0.0.0/0'], users);
  expect(mayEnter(both, from('192.0.2.1', 'anna:secret-1'))).toBe(true);
  expect(mayEnter(both, from('192.0.2.1', 'bert:pässwörd: with colon'))).toBe(true);
  for (const wrong of ['anna:secret-2', 'anna:', 'anna', ':', 'bert:secret-1', 'Anna:secret-1', 'anna:secret-1 '])
    expect(mayEnter(both, from('192.0.2.1', wrong))).toBe(false);
});

test('where there are users, an address that is allowed gets in without, and all others are asked', () => {
  const both = access(['allow 192.0.2.0/24'], users);
  expect(mayEnter(both, from('192.0.2.1'))).toBe(true);
  expect(mayEnter(both, from('192.0.2.1', 'anna:wrong'))).toBe(true);
  expect(mayEnter(both, from('198.51.100.1'))).toBe(false);
  expect(mayEnter(access([], users), from('198.51.100.1'))).toBe(false);
});

test('other ways to write credentials are read or refused, never misread', () => {
  const only = access([], users);
  const encoded = Buffer.from('anna:secret-1').toString('base64');
  const enters = (authorization: string) => mayEnter(only, { address: '192.0.2.1', headers: { authorization } });
  expect(enters(`basic ${encoded}`)).toBe(true);
  expect(enters(`BASIC   ${encoded.replace(/=+$/, '')} `)).toBe(true);
  for (const text of ['', 'Basic', `Bearer ${encoded}`, `Basic ${encoded}, Basic x`, `Basic ${encoded}\u0000`, encoded, `Basic${encoded}`])
    expect(enters(text)).toBe(false);
});

test('whoever is refused is asked for credentials where these would help', () => {
  const asked = refusal(access([], users), { headers: {} });
  expect([asked.status, Object.fromEntries(asked.headers)['WWW-Authenticate']]).toEqual([
    401,
    'Basic realm="This site is protected", charset="UTF-8"',
  ]);
  const refused = refusal(access(['deny any']), { headers: {} });
  expect([refused.status, Object.fromEntries(refused.headers)['WWW-Authenticate']]).toEqual([403, undefined]);
});

test('those who share a network of IPv6 are counted as one; of IPv4 each is one', () => {
  expect(countedAs('2001:db8:1:2::1')).toBe(countedAs('2001:db8:1:2:ffff::9'));
  expect(countedAs('2001:db8:1:2::1')).not.toBe(countedAs('2001:db8:1:3::1'));
  expect(countedAs('::ffff:192.0.2.1')).not.toBe(countedAs('::ffff:192.0.2.2'));
  expect(countedAs('192.0.2.1')).toBe('192.0.2.1');
});
