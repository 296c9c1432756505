/** DNS messages (RFC 1035, 2136), as far as updates of TXT records take them. */

export const types = { SOA: 6, TXT: 16, TSIG: 250, ANY: 255 } as const;
export const classes = { IN: 1, NONE: 254, ANY: 255 } as const;
export const opcodes = { query: 0, update: 5 } as const;

export interface DnsQuestion {
  name: string;
  type: number;
}

export interface DnsRecord {
  name: string;
  type: number;
  class: number;
  ttl: number;
  data: Buffer;
}

export interface DnsMessage {
  id: number;
  opcode: number;
  /** In an update, this is the zone. */
  question: DnsQuestion;
  /** In an update, these are the changes. */
  changes: readonly DnsRecord[];
}

const labelBytesMax = 63;

/** The name is in lower case, as signatures require. */
export function nameBytes(name: string): Buffer {
  const labels = name
    .toLowerCase()
    .replace(/\.$/, '')
    .split('.')
    .filter((label) => label !== '');
  if (labels.some((label) => label.length > labelBytesMax))
    throw new RangeError(`${name} has a part of more than ${labelBytesMax} characters`);
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

export function numbers(...values: readonly [value: number, bytes: 1 | 2 | 4 | 6][]): Buffer {
  return Buffer.concat(
    values.map(([value, bytes]) => {
      const written = Buffer.alloc(bytes);
      written.writeUIntBE(value, 0, bytes);
      return written;
    }),
  );
}

const textBytesMax = 255;

/** Encodes a text of any length, in pieces. */
export function textData(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const pieces: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += textBytesMax) {
    const piece = bytes.subarray(at, at + textBytesMax);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  return Buffer.concat(pieces);
}

export function writeMessage({ id, opcode, question, changes }: DnsMessage): Buffer {
  const header = numbers([id, 2], [opcode << 11, 2], [1, 2], [0, 2], [changes.length, 2], [0, 2]);
  const asked = Buffer.concat([nameBytes(question.name), numbers([question.type, 2], [classes.IN, 2])]);
  return Buffer.concat([header, asked, ...changes.map(recordBytes)]);
}

export const recordBytes = ({ name, type, class: kind, ttl, data }: DnsRecord) =>
  Buffer.concat([nameBytes(name), numbers([type, 2], [kind, 2], [ttl, 4], [data.length, 2]), data]);

export interface DnsReply {
  id: number;
  code: number;
  /** The records of all sections in their order, each with the position at which it begins. */
  records: (DnsRecord & { section: number; at: number })[];
}

/** Throws a RangeError where the bytes are no message. */
export function readMessage(bytes: Buffer): DnsReply {
  const [questions = 0, ...counts] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at));
  let at = 12;
  for (let n = 0; n < questions; n += 1) at = readName(bytes, at).end + 4;
  const records: DnsReply['records'] = [];
  for (const [section, count] of counts.entries())
    for (let n = 0; n < count; n += 1) {
      const { name, end } = readName(bytes, at);
      const length = bytes.readUInt16BE(end + 8);
      if (end + 10 + length > bytes.length) throw new RangeError('A record is longer than its message');
      const data = bytes.subarray(end + 10, end + 10 + length);
      records.push({
        name,
        type: bytes.readUInt16BE(end),
        class: bytes.readUInt16BE(end + 2),
        ttl: bytes.readUInt32BE(end + 4),
        data,
        section,
        at,
      });
      at = end + 10 + length;
    }
  return { id: bytes.readUInt16BE(0), code: bytes.readUInt8(3) & 0x0f, records };
}

const jumpsMax = 32;

export function readName(bytes: Buffer, begin: number): { name: string; end: number } {
  const labels: string[] = [];
  let [at, end, jumps] = [begin, 0, 0];
  for (let length = bytes.readUInt8(at); length !== 0; length = bytes.readUInt8(at)) {
    if (length < 0xc0) {
      labels.push(bytes.subarray(at + 1, at + 1 + length).toString('latin1'));
      at += 1 + length;
      continue;
    }
    jumps += 1;
    if (jumps > jumpsMax) throw new RangeError('A compressed name leads in circles');
    end ||= at + 2;
    at = bytes.readUInt16BE(at) & 0x3fff;
  }
  return { name: labels.join('.').toLowerCase(), end: end || at + 1 };
}
