/** Frames out of bytes. A frame that has come whole is read where it is; of one that has not, what has come is kept: at most one frame for each connection. */
import { frameBytesMax, frameHeadBytes, type Frame } from './frames.ts';

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const nothing = Buffer.alloc(0);

/** - not-http2: the connection does not begin as it must. - too-large: a frame is. */
export type Unreadable = 'not-http2' | 'too-large';

export class FrameReader {
  #isBegun = false;
  #kept = nothing;
  readonly #onFrame: (frame: Frame) => boolean;

  /** `onFrame` answers whether more is to be read. */
  constructor(onFrame: (frame: Frame) => boolean) {
    this.#onFrame = onFrame;
  }

  /** Whether a part of a frame has come. */
  get isWithinFrame() {
    return this.#kept.length > 0;
  }

  read(bytes: Buffer): Unreadable | undefined {
    const all = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    let at = 0;
    if (!this.#isBegun) {
      const length = Math.min(all.length, preface.length);
      if (all.compare(preface, 0, length, 0, length) !== 0) return 'not-http2';
      this.#isBegun = length === preface.length;
      if (this.#isBegun) at = length;
    }
    while (this.#isBegun && all.length - at >= frameHeadBytes) {
      const end = at + frameHeadBytes + all.readUIntBE(at, 3);
      if (end - at > frameHeadBytes + frameBytesMax) return 'too-large';
      if (end > all.length) break;
      const payload = all.subarray(at + frameHeadBytes, end);
      const stream = all.readUInt32BE(at + 5) & 0x7fffffff;
      const isWanted = this.#onFrame({ type: all[at + 3] ?? 0, flags: all[at + 4] ?? 0, stream, payload });
      at = end;
      if (!isWanted) break;
    }
    // What came lies in a buffer that others read into, too.
    this.#kept = at === all.length ? nothing : Buffer.from(all.subarray(at));
    return undefined;
  }
}
