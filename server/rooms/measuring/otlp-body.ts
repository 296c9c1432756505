/** Bodies of requests with traces: read and inflated within bounds, of which the environment has its share. */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Malformed } from '../../drivers/otlp/span.ts';
import { Refused } from './otlp-refusals.ts';

export async function readBody(request: IncomingMessage, bodyBytes: number, hold: (bytes: number) => boolean): Promise<Buffer> {
  const tooLarge = () => new Refused('tooLarge', `A body can have ${bodyBytes} bytes at most; send fewer spans at a time.`);
  if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytes) throw tooLarge();
    if (!hold(chunk.length)) throw new Refused('tooMany', 'Too much is being sent at once; try again in a moment.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export interface Held {
  bytes: number;
  environment: string;
}

/** Counts the bytes of bodies that are being read or decoded. */
export function openBytesUnderWay({ bytesInAll, bytesOfOne }: { bytesInAll: number; bytesOfOne: number }) {
  const environments = new Map<string, number>();
  let all = 0;
  const add = ({ environment }: Held, bytes: number) => {
    all += bytes;
    const own = (environments.get(environment) ?? 0) + bytes;
    if (own === 0) environments.delete(environment);
    else environments.set(environment, own);
  };
  return {
    /** False: there is no room for so many more. */
    hold: (held: Held, bytes: number): boolean => {
      if (all + bytes > bytesInAll || (environments.get(held.environment) ?? 0) + bytes > bytesOfOne) return false;
      held.bytes += bytes;
      add(held, bytes);
      return true;
    },
    release: (held: Held) => add(held, -held.bytes),
  };
}

const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);

/** Stops at the bound, however much there would be. */
export async function inflate(body: Buffer, bytesMax: number): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength: bytesMax });
  } catch (error) {
    if (error instanceof RangeError)
      throw new Refused('tooLarge', `A body can have ${bytesMax} bytes at most once it is inflated; send fewer spans at a time.`);
    throw new Malformed('The body is not what gzip makes.');
  }
}
