/** Addresses of the internet as four numbers of 32 bits. One of IPv4 is its mapped form, `::ffff:a.b.c.d`, so that both are compared alike. */
import { isIPv4, isIPv6 } from 'node:net';

export type Words = readonly [number, number, number, number];
export interface Network {
  words: Words;
  mask: Words;
}

const mappedPrefix = 0xffff;
const everyAddress: Network = { words: [0, 0, 0, 0], mask: [0, 0, 0, 0] };

/** `192.0.2.1`, `2001:db8::1`, `::ffff:192.0.2.1`, also with a zone (`fe80::1%eth0`), which is left aside. */
export function readAddress(address: string): Words | undefined {
  if (isIPv4(address)) return [0, 0, mappedPrefix, readFourBytes(address)];
  const zone = address.indexOf('%');
  const plain = zone === -1 ? address : address.slice(0, zone);
  return isIPv6(plain) ? readSixteenBytes(plain) : undefined;
}

/** Whom an address is counted for: whoever has one address of IPv6 has 2^64 of them. */
export function countedAs(address: string): string {
  if (!address.includes(':')) return address;
  const [a, b, c] = readAddress(address) ?? [0, 0, mappedPrefix];
  return a === 0 && b === 0 && c === mappedPrefix ? address : `${a}:${b}`;
}

export const isWithin = ([a, b, c, d]: Words, { words, mask }: Network) =>
  ((a ^ words[0]) & mask[0]) === 0 &&
  ((b ^ words[1]) & mask[1]) === 0 &&
  ((c ^ words[2]) & mask[2]) === 0 &&
  ((d ^ words[3]) & mask[3]) === 0;

/** An address, or one with the number of bits that count; `any` and `0.0.0.0/0` are all addresses of both kinds. */
export function readNetwork(text: string): Network | undefined {
  const trimmed = text.trim();
  if (trimmed === 'any') return everyAddress;
  const [address = '', bits, ...rest] = trimmed.split('/');
  const words = readAddress(address);
  if (!words || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined;
  const bitsOfKind = isIPv4(address) ? 32 : 128;
  const length = bits === undefined ? bitsOfKind : Number(bits);
  if (length > bitsOfKind) return undefined;
  return length === 0 ? everyAddress : { words, mask: maskOf(length + 128 - bitsOfKind) };
}

const maskOf = (bits: number): Words => [wordMask(bits), wordMask(bits - 32), wordMask(bits - 64), wordMask(bits - 96)];
const wordMask = (bits: number) => (bits <= 0 ? 0 : bits >= 32 ? -1 : -1 << (32 - bits));

const readFourBytes = (address: string) => address.split('.').reduce((word, byte) => (word << 8) | Number(byte), 0);

function readSixteenBytes(address: string): Words {
  const lastColon = address.lastIndexOf(':');
  const tail = address.slice(lastColon + 1);
  const word = tail.includes('.') ? readFourBytes(tail) >>> 0 : undefined;
  const hexadecimal =
    word === undefined ? address : `${address.slice(0, lastColon)}:${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`;
  const [before = '', after] = hexadecimal.split('::');
  const left = groupsOf(before);
  const right = groupsOf(after ?? '');
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  const wordAt = (index: number) => ((groups[index] ?? 0) << 16) | (groups[index + 1] ?? 0);
  return [wordAt(0), wordAt(2), wordAt(4), wordAt(6)];
}

const groupsOf = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
