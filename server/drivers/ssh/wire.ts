/** Values as SSH writes them. */

export function string(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** Reads one value after the other; throws a RangeError at the end of the bytes. */
export class WireReader {
  at = 0;
  private readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd() {
    return this.at === this.bytes.length;
  }

  uint32(): number {
    this.at += 4;
    return this.bytes.readUInt32BE(this.at - 4);
  }

  uint64(): bigint {
    this.at += 8;
    return this.bytes.readBigUInt64BE(this.at - 8);
  }

  string(): Buffer {
    const length = this.uint32();
    if (this.at + length > this.bytes.length) throw new RangeError('A string is longer than what holds it');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    return this.string().toString('utf8');
  }
}
