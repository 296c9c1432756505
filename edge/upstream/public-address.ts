/**
 * Which addresses belong to the public internet. Others are this machine, the operator's own network or the cloud's metadata, which users have no
 * business with unless the operator says so. The control plane asks here too.
 */
import { BlockList, isIP } from 'node:net';

/** Networks of IPv4 that are not public: private, shared and link-local ones, this machine, multicast, and what is reserved. */
export const privateNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
] as const;
/** Networks for examples in documentation: no machine has these addresses. */
const documentationNetworks = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'] as const;

const notPublic = blockListOf([...privateNetworks, ...documentationNetworks]);

/** The only part of IPv6 that is given out to the public, and not all of it is; all else stands for something local, or for an IPv4 address. */
const global6 = blockListOf(['2000::/3']);
const reserved6 = blockListOf(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !notPublic.check(address, 'ipv4');
  return version === 6 && global6.check(address, 'ipv6') && !reserved6.check(address, 'ipv6');
}

/** A list of addresses and of networks such as `10.1.2.0/24`, of IPv4 and IPv6. Throws where one is neither. */
export function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
