/**
 * One question to a responder. Its address is in the certificate, so whoever gave that chose it: only what users may visit is visited, within a time, for a reply of
 * bounded size, and no redirect is followed.
 */
import { OutboundFault } from '../../outbound/faults.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { OcspFault } from './ocsp-response.ts';

export interface RespondersOptions {
  outbound: Outbound;
}

/** Answers with the body of the reply. Throws an OcspFault, or what the signal was aborted with. */
export type PostQuestion = (url: string, question: Buffer, signal?: AbortSignal) => Promise<Buffer>;

const secondsMax = 10;
/** What the edge takes to send along. */
export const responseBytesMax = 12 * 1024;

const headers = { 'content-type': 'application/ocsp-request' };

export function openResponders({ outbound }: RespondersOptions): PostQuestion {
  return async (url, question, signal) => {
    const asked = { url, method: 'POST', headers, body: question, secondsMax, replyBytesMax: responseBytesMax };
    const reply = await outbound.request({ ...asked, ...(signal && { signal }) }).catch((cause: unknown) => {
      throw cause instanceof OutboundFault ? new OcspFault(wordsFor(cause), { cause }) : cause;
    });
    if (reply.status === 200) return reply.body;
    throw new OcspFault(`answered with HTTP ${reply.status}`);
  };
}

function wordsFor({ reason, detail }: OutboundFault): string {
  if (reason === 'malformed') return 'has no address that can be visited';
  return reason === 'forbidden' || reason === 'unresolved' ? `was not asked: ${detail}` : `cannot be reached (${detail})`;
}
