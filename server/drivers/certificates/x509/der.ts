/** Values of ASN.1 as DER has them, written and read: as much of it as certificates need. */

const shortLengthMax = 127;

export function value(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length <= shortLengthMax) return Buffer.from([length]);
  const bytes = Buffer.from(evenHex(length.toString(16)), 'hex');
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

const evenHex = (hex: string) => (hex.length % 2 === 0 ? hex : `0${hex}`);

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  time: 0x18,
  shortTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

export const sequence = (...contents: readonly Buffer[]) => value(tags.sequence, ...contents);
export const set = (...contents: readonly Buffer[]) => value(tags.set, ...contents);
export const octets = (content: Buffer) => value(tags.octets, content);
export const utf8 = (text: string) => value(tags.utf8, Buffer.from(text));
export const isTrue = value(tags.boolean, Buffer.from([0xff]));
export const nothing = value(tags.null);
/** A bit string of whole bytes, of which the last `unused` bits do not count. */
export const bits = (content: Buffer, unused = 0) => value(tags.bits, Buffer.from([unused]), content);
/** `[n]` around a whole value, or around several. */
export const explicit = (n: number, ...contents: readonly Buffer[]) => value(0xa0 | n, ...contents);
/** `[n]` in the place of the tag of plain content. */
export const implicit = (n: number, content: Buffer) => value(0x80 | n, content);

/** An integer that is not negative, from bytes with the highest first. */
export function integer(bytes: Buffer | number): Buffer {
  const plain = typeof bytes === 'number' ? Buffer.from(evenHex(bytes.toString(16)), 'hex') : bytes;
  const first = plain.findIndex((byte) => byte !== 0);
  const trimmed = first < 0 ? Buffer.from([0]) : plain.subarray(first);
  return value(tags.integer, (trimmed[0] as number) & 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed);
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return value(tags.oid, Buffer.from([first * 40 + second, ...others.flatMap(septets)]));
}

function septets(number: number): number[] {
  const low = [number & 0x7f];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) low.unshift((rest & 0x7f) | 0x80);
  return low;
}

const firstLongYear = 2050;

/** RFC 5280 (4.1.2.5) requires the form with a year of two digits as long as it can be used. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < firstLongYear
    ? value(tags.shortTime, Buffer.from(digits.slice(2)))
    : value(tags.time, Buffer.from(digits));
}

export interface Der {
  tag: number;
  content: Buffer;
  /** The whole value, including its tag and length. */
  whole: Buffer;
}

/** Throws a RangeError where the bytes are not one value after the other. */
export function readAll(bytes: Buffer): Der[] {
  const found: Der[] = [];
  for (let at = 0; at < bytes.length; at += (found.at(-1) as Der).whole.length) found.push(readAt(bytes, at));
  return found;
}

function readAt(bytes: Buffer, at: number): Der {
  const tag = bytes.readUInt8(at);
  const first = bytes.readUInt8(at + 1);
  const lengthBytes = first & 0x80 ? first & 0x7f : 0;
  if (lengthBytes > 4 || first === 0x80) throw new RangeError('A length is not valid in DER');
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
  const begin = at + 2 + lengthBytes;
  if (begin + length > bytes.length) throw new RangeError('A value is longer than what holds it');
  return { tag, content: bytes.subarray(begin, begin + length), whole: bytes.subarray(at, begin + length) };
}

export function readOne(bytes: Buffer): Der {
  const [only, ...others] = readAll(bytes);
  if (!only || others.length > 0) throw new RangeError('One value was expected');
  return only;
}

export function readOid(content: Buffer): string {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of content) {
    number = number * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  const [head = 0, ...others] = numbers;
  const first = Math.min(Math.floor(head / 40), 2);
  return [first, head - first * 40, ...others].join('.');
}
