/**
 * One question to a responder. Its address is in the certificate, so whoever gave that chose it: only what users may visit is visited, within a time, for a reply of
 * bounded size, and no redirect is followed.
 */
import { request as requestPlain, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestSecure } from 'node:https';
import { Problem } from '../../../kernel/problem.ts';
import { lookupOf, readBounded } from '../checked-visits.ts';
import { OcspFault } from './ocsp-response.ts';

export interface RespondersOptions {
  /** The addresses of a host that may be visited; throws a Problem. */
  addressesOf: (hostname: string) => Promise<string[]>;
}

/** Answers with the body of the reply. Throws an OcspFault, or what the signal was aborted with. */
export type PostQuestion = (url: string, question: Buffer, signal?: AbortSignal) => Promise<Buffer>;

const secondsMax = 10;
/** What the edge takes to send along. */
export const responseBytesMax = 12 * 1024;

const requestBy: Readonly<Record<string, typeof requestPlain>> = { 'http:': requestPlain, 'https:': requestSecure };

export function openResponders({ addressesOf }: RespondersOptions): PostQuestion {
  return async (url, question, signal) => {
    const address = URL.parse(url);
    const request = requestBy[address?.protocol ?? ''];
    if (!address || !request) throw new OcspFault('has no address that can be visited');
    const limit = AbortSignal.timeout(secondsMax * 1000);
    const headers = { 'user-agent': 'Offshoot', 'content-type': 'application/ocsp-request', 'content-length': question.length };
    try {
      const pinned = lookupOf(await addressesOf(address.hostname));
      const options = { method: 'POST', headers, ...pinned, agent: false, signal: signal ? AbortSignal.any([signal, limit]) : limit };
      return await exchange(request, address, options, question);
    } catch (cause) {
      signal?.throwIfAborted();
      throw cause instanceof OcspFault ? cause : new OcspFault(wordsFor(cause), { cause });
    }
  };
}

async function exchange(request: typeof requestPlain, url: URL, options: RequestOptions, question: Buffer): Promise<Buffer> {
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).once('error', reject).end(question);
  });
  if (reply.statusCode === 200) return readBounded(reply, responseBytesMax);
  reply.destroy();
  throw new OcspFault(`answered with HTTP ${reply.statusCode}`);
}

function wordsFor(cause: unknown): string {
  if (cause instanceof Problem) return `was not asked: ${cause.message.replace(/\.$/, '')}`;
  const { code = '', message, name } = cause as NodeJS.ErrnoException;
  const reason = name === 'TimeoutError' || name === 'AbortError' ? `no answer within ${secondsMax} seconds` : code || message;
  return `cannot be reached (${reason})`;
}
