/** Batches of requests on a stream: how many are missing before each, how long its rows and its texts are, then both. */
import type { ToldBatch } from './records.ts';

const headNumbers = 3;
const headBytes = headNumbers * Uint32Array.BYTES_PER_ELEMENT;
const batchBytesMax = 1_000_000;

export function frameOfBatch({ dropped, rows, text }: ToldBatch): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + rows.length + text.length);
  [dropped, rows.length, text.length].forEach((number, nth) => frame.writeUInt32LE(number, nth * Uint32Array.BYTES_PER_ELEMENT));
  frame.set(rows, headBytes);
  frame.set(text, headBytes + rows.length);
  return frame;
}

/** Throws where it is something else. What is not whole when the stream ends is left out. */
export async function* batchesIn(stream: AsyncIterable<Buffer>): AsyncGenerator<ToldBatch> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const piece of stream) {
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece]);
    for (let batch = batchAt(bytes); batch; batch = batchAt(bytes)) {
      yield batch;
      bytes = bytes.subarray(headBytes + batch.rows.length + batch.text.length);
    }
  }
}

function batchAt(bytes: Buffer): ToldBatch | undefined {
  if (bytes.length < headBytes) return undefined;
  const [dropped = 0, rowsBytes = 0, textBytes = 0] = Array.from({ length: headNumbers }, (_, nth) =>
    bytes.readUInt32LE(nth * Uint32Array.BYTES_PER_ELEMENT),
  );
  const end = headBytes + rowsBytes + textBytes;
  if (end > batchBytesMax) throw new Error('What the edge told of requests is too long.');
  if (bytes.length < end) return undefined;
  return { dropped, rows: bytes.subarray(headBytes, headBytes + rowsBytes), text: bytes.subarray(headBytes + rowsBytes, end) };
}
