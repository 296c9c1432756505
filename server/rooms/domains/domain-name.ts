/** What people call a domain, as the platform keeps it, and the registered name that it lies in by the public suffix list. */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { getDomain } from 'tldts';
import type { Config } from '../../config.ts';
import { isPlatforms } from '../deployments/public.ts';
import { refusedField } from './refusals.ts';

/** Lower case, ASCII, without the dot at the end: names that are written otherwise and lead to the same place are the same here. */
export function spelledAs(given: string): string {
  const isWildcard = given.startsWith('*.');
  const bare = given.slice(isWildcard ? '*.'.length : 0).replace(/\.$/, '');
  // Node would read `a.example/b` as a name with something after it.
  const ascii = /[\s/?#@:\\%[\]]/.test(bare) ? '' : domainToASCII(bare);
  return isWildcard && ascii !== '' ? `*.${ascii}` : ascii;
}

const domainOf = (name: string) => name.replace(/^\*\./, '');

/** `example.co.uk` of `www.example.co.uk`; undefined of what is a public suffix itself, under which people register names. */
export const registeredName = (name: string): string | undefined =>
  getDomain(domainOf(name), { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? undefined;

/** The name with one label more of the domain than the one that is given; undefined where it has no more. */
export function oneLabelMore(domain: string, above: string): string | undefined {
  const labels = domainOf(domain).split('.');
  const more = labels.slice(-(above.split('.').length + 1)).join('.');
  return more === above ? undefined : more;
}

const nameCharactersMax = 253;
const labels = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

type Names = Pick<Config, 'domain' | 'url' | 'host'>;

/** The first that applies is told. */
const rules: { applies(name: string, config: Names): boolean; sentence(config: Names): string }[] = [
  { applies: (name) => isIP(name) !== 0, sentence: () => 'must be a name, not an address; people reach addresses without a domain' },
  {
    applies: (name) => name.length > nameCharactersMax || !labels.test(name),
    sentence: () => 'must be a domain name of letters, digits and dashes such as www.example.org, or *.example.org for all names below it',
  },
  {
    applies: isPlatforms,
    sentence: ({ domain }) =>
      `must not be a name of this platform: under ${domain} environments have their own names, and nobody else has any`,
  },
  {
    applies: (name) => registeredName(name) === undefined,
    sentence: () => 'must be below a public suffix: names such as com or co.uk are nobody’s, so add one that is registered there',
  },
];

/** As it is kept. A Problem says what is wrong with it. */
export function checkedName(given: string, config: Names, field = 'name'): string {
  const address = given.replace(/^\[|\]$/g, '');
  const name = isIP(address) === 0 ? spelledAs(given.trim()) : address;
  const broken = rules.find(({ applies }) => applies(name, config));
  if (broken) throw refusedField(field, broken.sentence(config));
  return name;
}
