/** A connection carried for a client: both directions end by themselves, and the channel with the last of them. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { ServerChannel } from 'ssh2';
import { openChannelOutput } from './channel-output.ts';

type Watch = (channel: ServerChannel, gone: AbortSignal) => void;

/** Resolves when the forwarded connection is over. */
export async function carry(
  accept: () => ServerChannel,
  target: Socket,
  client: Socket,
  leaving: AbortSignal,
  watch: Watch,
): Promise<void> {
  const channel = accept();
  const closing = new AbortController();
  const gone = AbortSignal.any([leaving, closing.signal]);
  watch(channel, gone);
  channel.on('error', () => {});
  channel.once('close', () => closing.abort());
  target.on('error', () => {});
  const output = openChannelOutput(channel, client, gone);
  channel.pipe(target);
  const sent = output.send(target).then(() => channel.eof());
  const received = Promise.race([once(channel, 'end'), once(target, 'close')]);
  try {
    await Promise.race([Promise.all([sent, received]), aborted(gone)]);
  } finally {
    target.destroy();
    if (!gone.aborted) channel.end();
    closing.abort();
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
