/** DNS records by dynamic update (RFC 2136): what every name server of one's own understands, such as bind, knot and PowerDNS. */
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { Problem } from '../../../kernel/problem.ts';
import { openOperatorsOutbound } from '../../outbound/outbound.ts';
import { type DnsRecords, isBelow } from './dns-records.ts';
import { classes, type DnsMessage, type DnsReply, opcodes, readMessage, textData, types, writeMessage } from './message.ts';
import { isSignedReply, readSignature, signatureErrors, type SigningKey, signMessage } from './signature.ts';

export interface DynamicUpdateOptions {
  /** The primary name server of the zones. */
  server: { host: string; port?: number };
  /** Domains whose zones the server has; names below them count too. */
  domains: readonly [string, ...string[]];
  key: SigningKey;
}

const usualPort = 53;
const ttlSeconds = 60;
const secondsMax = 10;
const replyBytesMax = 65_535;
const answerSection = 0;

export function openDynamicUpdate({ server, domains, key }: DynamicUpdateOptions): DnsRecords {
  const update = async (message: DnsMessage, signal?: AbortSignal): Promise<DnsReply> => {
    const { signed, mac } = signMessage(writeMessage(message), key);
    const bytes = await exchange(server, signed, signal);
    return checked(bytes, message, (reply) => isSignedReply(bytes, reply, mac, key), server.host, key.name);
  };

  /**
   * The server knows where its zones begin: it is asked for each part of the name, the longest first. These questions are not signed, as keys for
   * updates are often for nothing else. A forged answer would only have the update refused.
   */
  const zoneOf = async (name: string, signal?: AbortSignal): Promise<string> => {
    const labels = name.split('.');
    for (const start of labels.keys()) {
      const candidate = labels.slice(start).join('.');
      const question = { name: candidate, type: types.SOA };
      const asked = writeMessage({ id: randomInt(65_536), opcode: opcodes.query, question, changes: [] });
      const { records } = read(await exchange(server, asked, signal), server.host);
      if (records.some(({ section, type, name: owner }) => section === answerSection && type === types.SOA && owner === candidate))
        return candidate;
    }
    throw problem(`The name server ${server.host} has no zone with ${name}; check the domains that are set for it.`);
  };

  const change = async (name: string, value: string, how: { class: number; ttl: number }, signal?: AbortSignal) => {
    const zone = await zoneOf(name, signal);
    const record = { name, type: types.TXT, ...how, data: textData(value) };
    const question = { name: zone, type: types.SOA };
    const { code } = await update({ id: randomInt(65_536), opcode: opcodes.update, question, changes: [record] }, signal);
    if (code !== 0) throw problem(whyRefused(code, zone, server.host, key.name));
  };

  return {
    covers: (name) => domains.some((domain) => isBelow(name, domain)),
    set: (name, value, signal) => change(name, value, { class: classes.IN, ttl: ttlSeconds }, signal),
    unset: (name, value, signal) => change(name, value, { class: classes.NONE, ttl: 0 }, signal),
  };
}

const problem = (sentence: string, cause?: unknown) => new Problem('unavailable', sentence, { cause });

const codes: Record<number, string> = {
  1: 'does not understand the update',
  2: 'failed on its own',
  4: 'does not take updates',
  5: 'does not let the key do that: allow it to update TXT records',
  8: 'has such a record already in another form',
  9: 'does not take updates for this zone with this key: it has to be the primary of the zone, and to know the key',
  10: 'does not have the name in this zone',
};

const whyRefused = (code: number, zone: string, host: string, key: string) =>
  `The name server ${host} ${codes[code] ?? `answered with code ${code}`} (zone ${zone}, key ${key}).`;

const unsigned: Record<number, string> = {
  [signatureErrors.badKey]: 'does not know the key',
  [signatureErrors.badSignature]: 'has another secret for the key',
  [signatureErrors.badTime]: 'has another time: set both clocks',
};

/** An answer that reports success has to be signed; one that reports a failure is believed without a signature. */
function checked(bytes: Buffer, { id }: DnsMessage, isSigned: (reply: DnsReply) => boolean, host: string, key: string): DnsReply {
  const reply = read(bytes, host);
  const error = readSignature(reply)?.stamp.error ?? 0;
  if (unsigned[error] !== undefined) throw problem(`The name server ${host} ${unsigned[error]} ${key}.`);
  if (reply.id !== id || (reply.code === 0 && !isSigned(reply)))
    throw problem(`The name server ${host} gave an answer that is not signed with the key ${key}; check its settings.`);
  return reply;
}

function read(bytes: Buffer, host: string): DnsReply {
  try {
    return readMessage(bytes);
  } catch (cause) {
    throw problem(`What answers at ${host} is no name server.`, cause);
  }
}

/** Uses TCP, over which a message arrives whole, and from the server that was asked. */
async function exchange(
  { host, port = usualPort }: DynamicUpdateOptions['server'],
  message: Buffer,
  signal?: AbortSignal,
): Promise<Buffer> {
  const limit = AbortSignal.timeout(secondsMax * 1000);
  const both = signal ? AbortSignal.any([signal, limit]) : limit;
  let socket: Socket | undefined;
  try {
    socket = addAbortSignal(both, await openOperatorsOutbound().connect({ host, port, secondsMax, signal: both }));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    let received = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      if (received.length > replyBytesMax + 2) break;
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0))
        return received.subarray(2, 2 + received.readUInt16BE(0));
    }
    throw new Error('The connection ended without an answer');
  } catch (cause) {
    signal?.throwIfAborted();
    throw problem(`The name server ${host} cannot be reached at port ${port} over TCP.`, cause);
  } finally {
    socket?.destroy();
  }
}
