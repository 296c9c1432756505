import fc from 'fast-check';
import { expect, test } from 'vitest';
import { covers, haveNamesInCommon, hostOf, refusalOf, withoutCovered } from './host-names.ts';

const own = 'main-aaaaaaa-shopshopshop2.apps.example.net';
const config = { domain: 'apps.example.net', url: 'https://console.example.net', host: '192.0.2.1' };
const reasonFor = (url: string) => refusalOf({ host: hostOf(url) ?? '', own, config });

test.for([
  `https://${own}/`,
  `https://${own.toUpperCase()}./`,
  `https://www.${own}/`,
  `https://*.${own}/`,
  `https://*.a.b.${own}/`,
  'https://www.example.org/',
  'https://example.org./',
  'https://*.example.org/',
  'https://xn--mnchen-3ya.example/',
  'https://_acme.example.org/',
  'https://example.net/',
  'https://other.example.net/',
  `https://${own}.example.org/`,
  'https://notapps.example.net/',
])('an environment may ask for %s', (url) => {
  expect(reasonFor(url)).toBeUndefined();
});

const [platforms, tooWide, address, impossible, none] = [
  /a name of the platform/,
  /too wide/,
  /an address/,
  /not a valid host name/,
  /no host name/,
];

test.for([
  ['https://apps.example.net/', platforms],
  ['https://APPS.Example.NET./', platforms],
  ['https://*.apps.example.net/', platforms],
  ['https://staging-aaaaaaa-othersothers2.apps.example.net/', platforms],
  ['https://www.main-aaaaaaa-othersothers2.apps.example.net/', platforms],
  [`https://x${own}/`, platforms],
  ['https://*.example.net/', platforms],
  ['https://ssh.apps.example.net/', platforms],
  ['https://console.example.net/', platforms],
  ['https://*.console.example.net/', platforms],
  ['https://*.net/', platforms],
  ['https://localhost/', tooWide],
  ['https://*.localhost/', tooWide],
  ['https://intranet/', tooWide],
  ['https://*.org/', tooWide],
  ['https://192.0.2.1/', address],
  ['https://127.1/', address],
  ['https://0x7f.1/', address],
  ['https://[::1]/', address],
  ['https://*/', impossible],
  ['https://a..example.org/', impossible],
  ['https://-a.example.org/', impossible],
  [`https://${'a'.repeat(64)}.example.org/`, impossible],
  [`https://${'a.'.repeat(130)}example.org/`, impossible],
  ['https://xn--/', impossible],
  ['https://*.192.0.2.1/', none],
] as const)('%s is nobody’s to ask for', ([url, reason]) => {
  expect(reasonFor(url)).toMatch(reason);
});

test('names that are spelled otherwise and mean the same are the same', () => {
  const spellings = [
    'https://München.example/',
    'https://XN--MNCHEN-3YA.example./',
    'https://m%C3%BCnchen.example:443/',
    'http://mu\u0308nchen.example/',
  ];
  expect(new Set(spellings.map(hostOf))).toEqual(new Set(['xn--mnchen-3ya.example']));
});

const label = fc.constantFrom('a', 'b', 'ab', 'a-b');
const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => `${labels.join('.')}.org`);
const host = fc.oneof(
  name,
  name.map((domain) => `*.${domain}`),
);

test('two hosts have names in common exactly where some name is meant by both', () => {
  fc.assert(
    fc.property(host, host, name, (one, other, asked) => {
      expect(haveNamesInCommon(one, other)).toBe(haveNamesInCommon(other, one));
      expect(haveNamesInCommon(one, other) || !(covers(one, asked) && covers(other, asked))).toBe(true);
    }),
  );
});

test('a wildcard in the place of what it stands for means neither more nor less, and nothing is left twice', () => {
  fc.assert(
    fc.property(fc.array(host), name, (hosts, asked) => {
      const left = withoutCovered(hosts);
      expect(left.some((one) => covers(one, asked))).toBe(hosts.some((one) => covers(one, asked)));
      expect(left.flatMap((one, at) => left.slice(at + 1).filter((other) => haveNamesInCommon(one, other)))).toEqual([]);
    }),
  );
});
