/**
 * Which addresses of the network the platform visits on behalf of its users: those of the public internet, and others only where the operator says
 * so.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { blockListOf, isPublicAddress } from '../../../edge/upstream/public-address.ts';
import { Problem } from '../../kernel/problem.ts';

export type Lookup = (host: string) => Promise<{ address: string }[]>;

const resolve: Lookup = (host) => lookup(host, { all: true });

/** The addresses of a host, all of which may be visited. They are looked up once, and only these are connected to. Throws a Problem. */
export async function visitableAddresses(hostname: string, allowPrivate: readonly string[], look: Lookup = resolve): Promise<string[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : (await look(host).catch(() => [])).map(({ address }) => address);
  if (addresses.length === 0) throw new Problem('invalid-request', `There is no host ${host}; check the address.`);
  if (!addresses.every((address) => mayVisit(address, allowPrivate)))
    throw new Problem('invalid-request', `${host} is not a public address, and this installation connects to no others.`, {
      internal: addresses.join(),
    });
  return addresses;
}

export const mayVisit = (address: string, allowPrivate: readonly string[]): boolean =>
  isPublicAddress(address) || blockListOf(allowPrivate).check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
