/**
 * The names of hosts, and which of them an environment may ask for. Its own are `{default}` and whatever is below that. Of the rest, no environment gets a
 * name of the platform, or one that stands for names of people who do not know each other; a name that is left is whoever's claimed it first
 * (claim-hosts.ts).
 */
import { isIP } from 'node:net';
import type { Config } from '../../../config.ts';
import type { Stack } from './stack.ts';

/** A host that an environment wants, and the route, as configured, that it wants it for. */
export interface WantedHost {
  host: string;
  route: string;
}

/** The host of an address as the edge compares it: lower case, ASCII, without port and without the dot at the end. Undefined where the address has none. */
export function hostOf(url: string): string | undefined {
  const host = URL.parse(url)?.hostname.replace(/\.$/, '');
  return host === undefined || host === '' ? undefined : host;
}

/** All hosts of the routes, each once. */
export function wantedHosts(routes: Stack['routes']): WantedHost[] {
  const found = new Map<string, string>();
  for (const [url, { original_url }] of Object.entries(routes)) {
    const host = hostOf(url) ?? '';
    if (!found.has(host)) found.set(host, original_url);
  }
  return [...found].map(([host, route]) => ({ host, route }));
}

const domainOf = (host: string) => host.replace(/^\*\./, '');
const isWildcard = (host: string) => host.startsWith('*.');
/** Whether the host is the domain or below it; for a wildcard, whether all that it stands for is. */
export const isIn = (domain: string, host: string): boolean => domainOf(host) === domain || domainOf(host).endsWith(`.${domain}`);

/** Whether a claim includes the host, as `names_of` in the database says: a wildcard includes its domain itself, and all names below it. */
export const covers = (claim: string, host: string): boolean => claim === host || (isWildcard(claim) && isIn(domainOf(claim), host));

export const haveNamesInCommon = (one: string, other: string): boolean => covers(one, other) || covers(other, one);

/** The hosts without those that a wildcard among them covers. */
export const withoutCovered = (hosts: readonly string[]): string[] => {
  const all = [...new Set(hosts)];
  const wildcards = all.filter(isWildcard);
  return all.filter((host) => !wildcards.some((wildcard) => wildcard !== host && covers(wildcard, host))).toSorted();
};

export type HostConfig = Pick<Config, 'domain' | 'url' | 'host'>;

/** What `{default}` stands for. */
export const generatedHost = (
  { machine_name, project_id }: { machine_name: string; project_id: string },
  { domain }: Pick<Config, 'domain'>,
) => `${machine_name}-${project_id}.${domain}`;

interface Question {
  host: string;
  /** What `{default}` stands for in the environment. */
  own: string;
  config: HostConfig;
}

const hostCharactersMax = 253;
const labels = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const addressOf = (host: string) => host.replace(/^\[|\]$/g, '');

/** The first rule that applies decides. Its reason says why the host is refused; null: the environment may have the host. */
const rules: { applies(question: Question): boolean; reason: ((question: Question) => string) | null }[] = [
  { applies: ({ host }) => host === '', reason: () => 'has no host name; give it one.' },
  { applies: ({ host }) => isIP(addressOf(host)) !== 0, reason: ({ host }) => `is at ${host}, an address; give it a name.` },
  {
    applies: ({ host }) => host.length > hostCharactersMax || !labels.test(host),
    reason: ({ host }) => `is at ${host}, which is not a valid host name; choose another.`,
  },
  { applies: ({ host, own }) => isIn(own, host), reason: null },
  {
    applies: ({ host, config }) => isPlatforms(host, config),
    reason: ({ host, config }) =>
      `is at ${host}, a name of the platform; under ${config.domain} an environment can have {default} and the names below it.`,
  },
  {
    applies: ({ host }) => !domainOf(host).includes('.'),
    reason: ({ host }) => `is at ${host}, which is too wide to belong to one project; name a domain below it.`,
  },
];

/** Whether the host is a name of the platform, or a wildcard that covers one. */
export const isPlatforms = (host: string, { domain, url, host: listensAt }: HostConfig): boolean =>
  isIn(domain, host) || covers(host, domain) || [hostOf(url) ?? '', listensAt.toLowerCase()].some((name) => haveNamesInCommon(host, name));

/** Why the environment may not have the host: the rest of a sentence that begins with the route. */
export function refusalOf(question: Question): string | undefined {
  return rules.find(({ applies }) => applies(question))?.reason?.(question);
}
