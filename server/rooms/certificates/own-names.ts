/** The installation's own names: those that its authority may sign for, and those of the certificate for the platform itself. */
import { isIP } from 'node:net';
import type { Config } from '../../config.ts';

export type NameConfig = Pick<Config, 'domain' | 'url' | 'host'>;

const loopbackName = 'localhost';
const loopbackAddresses = ['127.0.0.1', '::1'] as const;
/** Addresses to listen on, which nobody can visit. */
const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

interface OwnNames {
  /** Each stands for itself and all names below it. */
  names: [string, ...string[]];
  addresses: [string, ...string[]];
}

/** The names of this machine are left out: they differ where an installation comes back from its backup, and its authority must not. */
export function ownNames({ domain, url, host }: NameConfig): OwnNames {
  const visited = [hostIn(url), host.toLowerCase()].filter((each) => !everywhere.has(each));
  const names = [domain, loopbackName, ...visited.filter((each) => isIP(each) === 0)];
  const addresses = visited.filter((each) => isIP(each) !== 0);
  return { names: unique([domain, ...names]), addresses: unique([loopbackAddresses[0], ...loopbackAddresses, ...addresses]) };
}

export const hostIn = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

const unique = ([first, ...others]: [string, ...string[]]): [string, ...string[]] => [
  first,
  ...new Set(others.filter((each) => each !== first)),
];

/** Clients do not accept a wildcard directly below a name of one label, such as `*.localhost`. */
export const wildcardOf = (domain: string): string[] => (domain.includes('.') ? [`*.${domain}`] : []);

/** The names of the one certificate that environments and the platform share. */
export function platformNames(config: NameConfig): [string, ...string[]] {
  const { names, addresses } = ownNames(config);
  return unique([config.domain, ...wildcardOf(config.domain), ...names, ...addresses]);
}

/** Whether a public authority could know the name: addresses, single labels and names of this machine it cannot. */
export const isPublicName = (name: string): boolean => isIP(name) === 0 && name.includes('.') && !name.endsWith('.localhost');

/** Whether a certificate with this name is good for the host. A wildcard stands for one label. */
export const isFor = (name: string, host: string): boolean =>
  name === host || (name.startsWith('*.') && !host.startsWith('*.') && name.slice(1) === host.slice(host.indexOf('.')));
