/**
 * What goes to a client on one channel: output and errors, one chunk after the other, no faster than the client takes it.
 *
 * ssh2 counts what the client is ready to take of each channel, but not what its connection has not carried away yet; and where both streams of one
 * channel wait at once, it sends the one twice and forgets the other. So here only one write is ever under way, and what ssh2 remembers of the
 * one before is taken away from it first.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';

/** The limit for a connection as a whole: its channels all wait for the same client. */
const unsentBytesMax = 2 ** 20;

export interface ChannelOutput {
  /** Sends both to their ends, or until the client is gone. */
  send(output: Readable, errors?: Readable): Promise<void>;
  write(bytes: Buffer): Promise<void>;
  writeError(bytes: Buffer): Promise<void>;
}

export function openChannelOutput(channel: ServerChannel, socket: Socket, gone: AbortSignal): ChannelOutput {
  let lastWrite = Promise.resolve();
  const writeInOrder = (stream: Writable, bytes: Buffer) => (lastWrite = lastWrite.then(() => writeNow(stream, bytes)));
  const writeNow = async (stream: Writable, bytes: Buffer) => {
    if (socket.writableLength > unsentBytesMax && !gone.aborted) await once(socket, 'drain', { signal: gone }).catch(() => {});
    if (gone.aborted || bytes.length === 0) return;
    for (const kept of ['_chunk', '_chunkcb', '_chunkErr', '_chunkcbErr']) Reflect.set(channel, kept, undefined);
    await new Promise<void>((resolve) => {
      const done = () => {
        gone.removeEventListener('abort', done);
        resolve();
      };
      gone.addEventListener('abort', done);
      stream.write(bytes, done);
    });
  };
  const sendOne = async (from: Readable, to: Writable) => {
    // Whoever made the stream decides what becomes of it once nobody listens any more.
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      await writeInOrder(to, Buffer.from(chunk as Uint8Array));
      if (gone.aborted) return;
    }
  };
  const untilGone = new Promise<void>((resolve) => gone.addEventListener('abort', () => resolve(), { once: true }));
  const quietly = (sending: Promise<void>) => sending.catch(() => {});
  return {
    send: async (output, errors) => {
      const all = [quietly(sendOne(output, channel)), ...(errors ? [quietly(sendOne(errors, channel.stderr))] : [])];
      await Promise.race([Promise.all(all), untilGone]);
    },
    write: (bytes) => writeInOrder(channel, bytes),
    writeError: (bytes) => writeInOrder(channel.stderr, bytes),
  };
}
