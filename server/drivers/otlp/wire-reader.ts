/**
 * Reads the wire format of Protocol Buffers from bytes that anybody may have sent. Nothing is copied before it is asked for, no length leads out of the bytes,
 * and nothing is recursive. Fields of another wire type than the one expected count as unknown, as elsewhere.
 */
import { Malformed, textBytesMax } from './span.ts';

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const fieldMax = 2 ** 29 - 1;
const varintBytesMax = 10;
const wordValues = 2 ** 32;

/** One message: the bytes of `buffer` from `position` to `end`. */
export class WireReader {
  field = 0;
  wire = 0;
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  #position: number;

  constructor(buffer: Buffer, position = 0, end = buffer.length) {
    this.#buffer = buffer;
    this.#start = position;
    this.#position = position;
    this.#end = end;
  }

  /** The same message from its beginning: fields come in any order, and reading twice takes less memory than keeping what came too early. */
  again(): WireReader {
    return new WireReader(this.#buffer, this.#start, this.#end);
  }

  /** Moves on to the next field, whose value has to be read or skipped then. */
  next(): boolean {
    if (this.#position === this.#end) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.wire = tag % 8;
    if (this.field < 1 || this.field > fieldMax) throw new Malformed(`A field has the number ${this.field}, which no field can have.`);
    return true;
  }

  /** Whether the present field is this one. */
  is(field: number, wire: number): boolean {
    return this.field === field && this.wire === wire;
  }

  /** As a number: exact up to 2^53, which is more than anything that is asked for here; below zero, -1. */
  varint(): number {
    const buffer = this.#buffer;
    let value = 0;
    let factor = 1;
    for (let read = 0; read < varintBytesMax; read++) {
      if (this.#position >= this.#end) throw new Malformed('The request ends in the middle of a number.');
      const byte = buffer[this.#position++] ?? 0;
      if (read === varintBytesMax - 1) return this.#lastByte(byte, value);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new Malformed('A number is longer than ten bytes.');
  }

  /** The tenth byte has the sign and nothing else. Nothing that is asked for is below zero, so that any number below zero is as good as another. */
  #lastByte(byte: number, value: number): number {
    if (byte > 1) throw new Malformed('A number is longer than ten bytes.');
    return byte === 1 ? -1 : value;
  }

  /** The high and the low word. */
  fixed64(): [high: number, low: number] {
    const at = this.#advance(8);
    return [this.#buffer.readUInt32LE(at + 4), this.#buffer.readUInt32LE(at)];
  }

  double(): number {
    return this.#buffer.readDoubleLE(this.#advance(8));
  }

  message(): WireReader {
    const length = this.varint();
    const at = this.#advance(length);
    return new WireReader(this.#buffer, at, at + length);
  }

  text(): string {
    const length = this.varint();
    const at = this.#advance(length);
    return this.#buffer.toString('utf8', at, at + Math.min(length, textBytesMax));
  }

  hexadecimal(bytesMax: number): string {
    const length = this.varint();
    const at = this.#advance(length);
    return length > bytesMax ? '' : this.#buffer.toString('hex', at, at + length);
  }

  skip(): void {
    if (this.wire === wireTypes.varint) this.varint();
    else if (this.wire === wireTypes.fixed64) this.#advance(8);
    else if (this.wire === wireTypes.fixed32) this.#advance(4);
    else if (this.wire === wireTypes.bytes) this.#advance(this.varint());
    else throw new Malformed(`A field has the wire type ${this.wire}, which OTLP has not.`);
  }

  /** Where the bytes were that are stepped over. */
  #advance(bytes: number): number {
    const at = this.#position;
    if (bytes < 0 || bytes > this.#end - at) throw new Malformed('A length leads beyond the end of what holds it.');
    this.#position = at + bytes;
    return at;
  }
}

export const wholeNumber = ([high, low]: readonly [number, number]) => high * wordValues + low;
export const difference = (end: readonly [number, number], start: readonly [number, number]) =>
  (end[0] - start[0]) * wordValues + (end[1] - start[1]);
