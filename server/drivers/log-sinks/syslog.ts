/**
 * Syslog by UDP, TCP or TLS. Over a connection each message is preceded by its length (RFC 6587, RFC 5425), so a message may hold anything.
 *
 * Syslog has no acknowledgements, and what was written to a connection may still be lost with it. So each batch has a connection of its own, which is
 * ended after it: a server closes its side when it has read everything, and its system breaks the connection when the server died before. Messages by
 * UDP are sent and hoped for.
 */
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { wholeCharacters } from '../logs/read-log.ts';
import type { LogRecord, RecordContext } from './log-record.ts';
import { unanswered, type Answer, type LogSink, type SinkNetwork } from './log-sink.ts';
import { messageWriter, type MessageFormat } from './syslog-message.ts';

export interface SyslogSettings extends MessageFormat {
  type: 'syslog';
  host: string;
  port: number;
  protocol: 'tcp' | 'tls' | 'udp';
  tls_verify: boolean;
}

export const syslog = (settings: SyslogSettings, network: SinkNetwork): LogSink => ({
  async send(records, context, signal) {
    const messages = messagesOf(records, context, settings);
    try {
      return await sendBy[settings.protocol](messages, settings, network, signal);
    } catch (error) {
      return unanswered(error);
    }
  },
});

function messagesOf(records: readonly LogRecord[], context: RecordContext, settings: SyslogSettings): Buffer[] {
  const write = messageWriter(settings, context);
  return records.map((record) => Buffer.from(write(record)));
}

type Send = (messages: readonly Buffer[], settings: SyslogSettings, network: SinkNetwork, signal: AbortSignal) => Promise<Answer>;

const sendBy: Readonly<Record<SyslogSettings['protocol'], Send>> = {
  udp: sendDatagrams,
  tcp: (messages, { host, port }, network, signal) => sendFrames(messages, () => network.connect({ host, port, signal }), signal),
  tls: (messages, { host, port, tls_verify }, network, signal) =>
    sendFrames(messages, () => network.connect({ host, port, tls: { verify: tls_verify }, signal }), signal),
};

const batchSecondsMax = 30;

async function sendFrames(messages: readonly Buffer[], connect: () => Promise<Duplex>, signal: AbortSignal): Promise<Answer> {
  const connection = await connect();
  try {
    connection.end(framed(messages));
    // What servers say is of no interest, but only whoever reads notices that they close.
    connection.resume();
    await finished(connection, { signal: AbortSignal.any([signal, AbortSignal.timeout(batchSecondsMax * 1000)]) });
    return { is: 'taken' };
  } finally {
    connection.on('error', () => {}).destroy();
  }
}

const framed = (messages: readonly Buffer[]): Buffer =>
  Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));

const datagramBytesMax = 8192;
/** After so many messages the receiver gets a moment to take them from its system, which keeps only some. */
const datagramsAtOnce = 100;
const datagramsMilliseconds = 4;

async function sendDatagrams(
  messages: readonly Buffer[],
  { host, port }: SyslogSettings,
  network: SinkNetwork,
  signal: AbortSignal,
): Promise<Answer> {
  const datagrams = await network.openDatagrams({ host, port });
  try {
    for (const [nth, message] of messages.entries()) {
      if (nth % datagramsAtOnce === datagramsAtOnce - 1) await sleep(datagramsMilliseconds, undefined, { signal });
      await datagrams.send(message.subarray(0, wholeCharacters(message.subarray(0, datagramBytesMax))));
    }
    return { is: 'taken' };
  } finally {
    datagrams.close();
  }
}
