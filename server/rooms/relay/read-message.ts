/** Reads a message into memory, of which all that are being read together have only so much. One that is refused is still read to its end, because only then it can be answered. */
import type { Readable } from 'node:stream';
import type { RelayBounds } from './limits.ts';
import { Refusal } from './refusal.ts';

export interface BytesUnderWay {
  /** For a message of this organization. */
  hold(organization: string): Held;
}

export interface Held {
  /** Throws a Refusal where there is no room. */
  more(bytes: number): void;
  release(): void;
}

export function openBytesUnderWay({
  bytesInAll,
  bytesOfOrganization,
}: Pick<RelayBounds, 'bytesInAll' | 'bytesOfOrganization'>): BytesUnderWay {
  let all = 0;
  const ofOrganization = new Map<string, number>();
  const add = (organization: string, bytes: number) => {
    const sum = (ofOrganization.get(organization) ?? 0) + bytes;
    if (sum > 0) ofOrganization.set(organization, sum);
    else ofOrganization.delete(organization);
    all += bytes;
    return sum;
  };
  return {
    hold(organization) {
      let held = 0;
      return {
        more(bytes) {
          held += bytes;
          if (add(organization, bytes) > bytesOfOrganization || all > bytesInAll)
            throw new Refusal('room', 'Too many large messages are being sent at once; try again in a moment.');
        },
        release() {
          add(organization, -held);
          held = 0;
        },
      };
    },
  };
}

interface Reading {
  bytesMax: number;
  hopsMax: number;
  hold(bytes: number): void;
}

export async function readMessage(stream: Readable, { bytesMax, hopsMax, hold }: Reading): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let refusal: Refusal | undefined;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Refusal('size', `A message has ${bytesMax / 2 ** 20} MB at most.`);
    hold(chunk.length);
    chunks.push(chunk);
  };
  for await (const chunk of wholly(stream)) {
    if (refusal) continue;
    try {
      take(chunk);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusal = error;
      chunks.length = 0;
    }
  }
  if (refusal) throw refusal;
  const message = Buffer.concat(chunks);
  if (hopsOf(message) > hopsMax) throw new Refusal('loop', 'This message has passed too many servers; it goes in circles.');
  return message;
}

/** A stream that breaks off is no message, and no mistake of ours. */
async function* wholly(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch {
    throw new Refusal('brokenOff', 'The connection was closed in the middle of the message.');
  }
}

/** How many servers have noted that it passed them. */
function hopsOf(message: Buffer): number {
  const end = message.indexOf('\r\n\r\n');
  const headers = message.subarray(0, end === -1 ? message.length : end).toString('latin1');
  return headers.match(/^received:/gim)?.length ?? 0;
}
