/** IP addresses as certificates and reverse DNS write them. */
import { isIP } from 'node:net';

export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The URL parser brings an IPv6 address into one form, and also accepts those that end like an IPv4 address.
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [before = '', after] = plain.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [head, tail] = [groups(before), groups(after)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

export function addressText(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return undefined;
  const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

/** The name for reverse lookups, such as `4.3.2.1.in-addr.arpa`. */
export function reverseName(address: string): string {
  const bytes = addressBytes(address);
  return bytes.length === 4
    ? `${bytes.toReversed().join('.')}.in-addr.arpa`
    : `${bytes.toString('hex').split('').toReversed().join('.')}.ip6.arpa`;
}
