/** Messages on a stream: four bytes that say how long one is, then what V8 makes of it. */
import { deserialize, serialize } from 'node:v8';

const lengthBytes = 4;

/** What a process may say to the store at once, and what the store may answer. A batch of records is far shorter (outgoing.ts). */
export const callBytesMax = 16_000_000;
export const replyBytesMax = 512_000_000;

/** What came is no message, or too long for one; what follows it cannot be understood either. */
export class NoMessage extends Error {}

export function frameOf(message: unknown, bytesMax: number): Buffer {
  const body = serialize(message);
  if (body.length > bytesMax) throw new NoMessage(`A message of ${body.length} bytes is too long; ${bytesMax} are allowed.`);
  const frame = Buffer.allocUnsafe(lengthBytes + body.length);
  frame.writeUInt32BE(body.length);
  body.copy(frame, lengthBytes);
  return frame;
}

export class FrameReader {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that are whole with this piece. Throws NoMessage. */
  read(piece: Buffer): unknown[] {
    this.#parts.push(piece);
    this.#bytes += piece.length;
    const messages: unknown[] = [];
    for (let length = this.#nextLength(); length !== undefined && this.#bytes >= lengthBytes + length; length = this.#nextLength())
      messages.push(this.#take(length));
    return messages;
  }

  /** Undefined: it has not been said yet. */
  #nextLength(): number | undefined {
    if (this.#bytes < lengthBytes) return undefined;
    if ((this.#parts[0]?.length ?? 0) < lengthBytes) this.#join();
    const length = this.#parts[0]?.readUInt32BE() ?? 0;
    if (length > this.#bytesMax) throw new NoMessage(`A message of ${length} bytes is too long; ${this.#bytesMax} are allowed.`);
    return length;
  }

  #take(length: number): unknown {
    this.#join();
    const whole = this.#parts[0] ?? Buffer.alloc(0);
    const rest = whole.subarray(lengthBytes + length);
    this.#parts = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    try {
      return deserialize(whole.subarray(lengthBytes, lengthBytes + length));
    } catch (cause) {
      throw new NoMessage('What came is no message.', { cause });
    }
  }

  #join() {
    this.#parts = [Buffer.concat(this.#parts)];
  }
}
