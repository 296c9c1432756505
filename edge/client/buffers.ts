/** Buffers for bytes on their way through: lent to whoever reads, given back when they are written, so that large bodies make no garbage. */

const bufferBytes = 128 * 1024;
const kept: Buffer[] = [];
/** 16 MiB stay with us at most. */
const keptMax = 128;

export const borrowBuffer = (): Buffer => kept.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);

export function giveBack(buffer: Buffer) {
  if (kept.length < keptMax) kept.push(buffer);
}

/** All upstream connections read into this one; whoever keeps more than a moment's worth copies, or borrows one to read into. */
export const scratch = Buffer.allocUnsafeSlow(bufferBytes);
