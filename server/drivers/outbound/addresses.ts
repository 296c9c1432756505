/**
 * Which addresses of the network the platform visits on behalf of its users: those of the public internet, and others only where the operator says
 * so. What is public is one table, which the edge reads too (edge/upstream/public-address.ts).
 */
import { isIP } from 'node:net';
import { blockListOf, isPublicAddress } from '../../../edge/upstream/public-address.ts';
import { OutboundFault } from './faults.ts';
import { lookUpHost, type Lookup } from './look-up-host.ts';

/** The addresses of a host, all of which may be visited. They are looked up once, and only these are connected to. Throws an OutboundFault. */
export async function visitableAddresses(
  hostname: string,
  allowPrivate: readonly string[],
  look: Lookup = lookUpHost(),
): Promise<string[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : (await look(host).catch(() => [])).map(({ address }) => address);
  if (addresses.length === 0) throw new OutboundFault('unresolved', `There is no host ${host}; check the address.`);
  if (!addresses.every((address) => mayVisit(address, allowPrivate)))
    throw new OutboundFault('forbidden', `${host} is not a public address, and this installation connects to no others.`, {
      internal: addresses.join(),
    });
  return addresses;
}

export const mayVisit = (address: string, allowPrivate: readonly string[]): boolean =>
  isPublicAddress(address) || blockListOf(allowPrivate).check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** The host as it is connected to: `127.0.0.1` of `0177.1`, `2130706433` or `0x7f000001`. Undefined where the text is no host. */
export function plainHost(text: string): string | undefined {
  if (isIP(text) === 0 && !/^[^\s/?#@:\\]+$/.test(text)) return undefined;
  return URL.parse(`http://${isIP(text) === 6 ? `[${text}]` : text}/`)?.hostname.replace(/^\[|\]$/g, '');
}
