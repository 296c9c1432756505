/**
 * Writing to a socket below Node's streams. A short message costs a stream several objects and two callbacks, and what the processor does in between
 * makes the system calls of a batch dearer; told straight to the handle, a batch of replies costs a third less. Node keeps these parts out of its
 * documentation, so whatever is not as expected falls back to `socket.write`.
 */
import type { Socket } from 'node:net';

interface WriteRequest {
  oncomplete?: () => void;
}

interface Handle {
  /** 0, or the number of an error; what the kernel does not take is kept and sent later. */
  writeLatin1String(request: WriteRequest, text: string): number;
  writeBuffer(request: WriteRequest, bytes: Uint8Array): number;
}

interface Internals {
  WriteWrap: new () => WriteRequest;
  streamBaseState: ArrayLike<number>;
  kLastWriteWasAsync: number;
}

function readInternals(): Internals | undefined {
  try {
    const found = (process as unknown as { binding(name: string): Partial<Internals> }).binding('stream_wrap');
    const { WriteWrap, streamBaseState, kLastWriteWasAsync } = found;
    return WriteWrap && streamBaseState && kLastWriteWasAsync !== undefined
      ? { WriteWrap, streamBaseState, kLastWriteWasAsync }
      : undefined;
  } catch {
    return undefined;
  }
}

const internals = readInternals();
/** A write that the kernel took at once leaves its request object unused, so it serves the next one. */
let spare = internals && new internals.WriteWrap();

/** - sent: all of it. - under-way: the rest is with the socket. - refused: nothing was written. */
export type Written = 'sent' | 'under-way' | 'refused';

/**
 * Sends Latin-1 or bytes after all that was written before. Where the answer is `under-way`, `onSent` is called when the rest is sent, or the socket has ended. Nothing
 * may be written to the socket until then: TLS has room for one write, and a second one ends the process.
 */
export function writeNow(socket: Socket, piece: string | Buffer, onSent: () => void): Written {
  if (!internals || socket.connecting || socket.writableLength > 0) return 'refused';
  const handle = handleOf(socket);
  if (!handle) return 'refused';
  const request = spare ?? new internals.WriteWrap();
  spare = request;
  const problem = typeof piece === 'string' ? handle.writeLatin1String(request, piece) : handle.writeBuffer(request, piece);
  if (problem !== 0) socket.destroy();
  else if (internals.streamBaseState[internals.kLastWriteWasAsync] !== 0) {
    spare = undefined;
    request.oncomplete = onSent;
    return 'under-way';
  }
  return 'sent';
}

/** That of TLS is used like that of a plain socket. */
function handleOf(socket: Socket): Handle | undefined {
  const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null };
  return handle?.writeLatin1String && handle.writeBuffer ? (handle as Handle) : undefined;
}
