/** Buffers for bytes on their way through: lent to whoever reads, given back when they are written, so that large bodies make no garbage. */

const bufferBytes = 128 * 1024;
const kept: Buffer[] = [];
/** At most 16 MiB are kept. */
const keptMax = 128;

export const borrowBuffer = (): Buffer => kept.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);

export function giveBack(buffer: Buffer) {
  if (kept.length < keptMax) kept.push(buffer);
}

/** All upstream connections read into this buffer. Whoever keeps bytes for more than a moment copies them, or borrows a buffer to read into. */
export const scratch = Buffer.allocUnsafeSlow(bufferBytes);
