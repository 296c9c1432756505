/** An HTTP request as one attempt of a delivery: what its reply means, and what of both is shown to its owner. */
import type { Request } from '../../drivers/outbound/exchange.ts';
import { OutboundFault, type FaultReason } from '../../drivers/outbound/faults.ts';
import type { Outbound } from '../../drivers/outbound/outbound.ts';
import type { Sent } from '../../kernel/delivery.ts';

const secondsMax = 15;
const replyBytesMax = 64 * 1024;
const shownCharactersMax = 4000;

/** Faults that trying again does not mend; all others may be over the next time. */
const isForGood = new Set<FaultReason>(['malformed', 'forbidden', 'misled']);
/** Statuses by which a receiver says that it would take the same request later. */
const mayBeTakenLater = (status: number) => status >= 500 || status === 408 || status === 429;

export const sendRequest = async (outbound: Outbound, asked: Request): Promise<Sent> => (await askReceiver(outbound, asked)).sent;

/** For those who need of the reply more than is shown: `body` is all of it, and empty where none came. */
export async function askReceiver(outbound: Outbound, asked: Request): Promise<{ sent: Sent; body: string }> {
  const request = shownRequest(asked);
  try {
    const reply = await outbound.request({ secondsMax, replyBytesMax, ...asked });
    return { sent: { request, ...sentBy(reply) }, body: reply.body.toString('utf8') };
  } catch (error) {
    if (!(error instanceof OutboundFault)) throw error;
    // Whoever answers at great length has answered.
    if (error.reply) return { sent: { request, ...sentBy(error.reply) }, body: '' };
    return { sent: { request, outcome: isForGood.has(error.reason) ? 'refused' : 'failed', trouble: error.message }, body: '' };
  }
}

function sentBy({ status, headers, body }: NonNullable<OutboundFault['reply']>): Sent {
  const contentType = headers['content-type'];
  const response = {
    status,
    body: body.toString('utf8').slice(0, shownCharactersMax),
    ...(contentType !== undefined && { content_type: contentType }),
  };
  if (status >= 200 && status < 300) return { outcome: 'delivered', response };
  const trouble = `The receiver answered with HTTP ${status}.`;
  if (!mayBeTakenLater(status)) return { outcome: 'refused', response, trouble };
  const retryAfterSeconds = secondsOf(headers['retry-after']);
  return { outcome: 'failed', response, trouble, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

/** As seconds or as a date (RFC 9110); nonsense is no wish. */
export function secondsOf(retryAfter: string | string[] | undefined, now = Date.now()): number | undefined {
  if (typeof retryAfter !== 'string') return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  // Date.parse finds a date in almost anything.
  const seconds = retryAfter.endsWith('GMT') ? (Date.parse(retryAfter) - now) / 1000 : 0;
  return seconds > 0 ? seconds : undefined;
}

/** Addresses and headers carry secrets: tokens in queries and paths, passwords before the host. */
const shownRequest = ({ url, method = 'GET', body = '' }: Request) => ({
  method,
  url: `${URL.parse(url)?.origin ?? ''}/…`,
  bytes: Buffer.byteLength(body),
});
