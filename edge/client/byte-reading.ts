/**
 * How bytes are read that no parser of Node's takes: below Node's streams where that is possible, into a buffer that all connections share. A stream would make a
 * buffer for each read, and take it a long way. The end and errors are events of the socket as ever. Node keeps these parts out of its documentation, so a socket
 * that is not as expected is read as a stream.
 */
import type { Socket } from 'node:net';
import { bytesRead, canCountBytes, readingHandleOf, SocketReading, type ReadingHandle } from './socket-reading.ts';

interface ByteHandle extends ReadingHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

const shared = Buffer.allocUnsafeSlow(64 * 1024);

export class ByteReading extends SocketReading {
  /** `onBytes` gets bytes that are valid only during the call. */
  constructor(socket: Socket, onBytes: (bytes: Buffer) => void) {
    super(socket);
    socket.on('data', onBytes);
    const handle = byteHandleOf(socket);
    // What a stream has read already must not be overtaken.
    if (!handle?.onread || !canCountBytes || socket.readableLength > 0) return;
    const { onread } = handle;
    handle.useUserBuffer(shared);
    handle.onread = function onRead(bytes) {
      const count = bytesRead();
      if (count <= 0) return onread.call(this, bytes);
      if (!socket.destroyed) onBytes(shared.subarray(0, count));
      return undefined;
    };
  }
}

function byteHandleOf(socket: Socket): ByteHandle | undefined {
  const handle = readingHandleOf(socket) as Partial<ByteHandle> | undefined;
  return handle?.useUserBuffer ? (handle as ByteHandle) : undefined;
}
