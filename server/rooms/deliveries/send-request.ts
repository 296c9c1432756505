/** An HTTP request as one attempt of a delivery: what its reply means, and what of both is shown to its owner. */
import type { Request } from '../../drivers/outbound/exchange.ts';
import { OutboundFault, type FaultReason } from '../../drivers/outbound/faults.ts';
import type { Outbound } from '../../drivers/outbound/outbound.ts';
import { withoutSecrets } from '../../drivers/outbound/secrets-in-text.ts';
import type { Sent } from '../../kernel/delivery.ts';

const secondsMax = 15;
const replyBytesMax = 64 * 1024;
const shownCharactersMax = 4000;

/** Faults that trying again does not mend; all others may be over the next time. */
const isForGood = new Set<FaultReason>(['malformed', 'forbidden', 'misled']);
/** Statuses by which a receiver says that it would take the same request later. */
const mayBeTakenLater = (status: number) => status >= 500 || status === 408 || status === 429;

/** `secrets` are those that stand in the body of the request; what stands in its address and headers is known to be one. */
export const sendRequest = async (outbound: Outbound, asked: Request, secrets: readonly string[] = []): Promise<Sent> =>
  (await askReceiver(outbound, asked, secrets)).sent;

/** For those who need of the reply more than is shown: `body` is all of it, and empty where none came. */
export async function askReceiver(
  outbound: Outbound,
  asked: Request,
  secretsInBody: readonly string[] = [],
): Promise<{ sent: Sent; body: string }> {
  const request = shownRequest(asked);
  const secrets = [...secretsInBody, ...secretsIn(asked)];
  try {
    const reply = await outbound.request({ secondsMax, replyBytesMax, ...asked });
    return { sent: { request, ...sentBy(reply, secrets) }, body: reply.body.toString('utf8') };
  } catch (error) {
    if (!(error instanceof OutboundFault)) throw error;
    // Whoever answers at great length has answered.
    if (error.reply) return { sent: { request, ...sentBy(error.reply, secrets) }, body: '' };
    return { sent: { request, outcome: isForGood.has(error.reason) ? 'refused' : 'failed', trouble: error.message }, body: '' };
  }
}

function sentBy({ status, headers, body }: NonNullable<OutboundFault['reply']>, secrets: readonly string[]): Sent {
  const contentType = headers['content-type'];
  const response = {
    status,
    // Shortened last: half of a secret would not be found any more.
    body: withoutSecrets(body.toString('utf8'), secrets).slice(0, shownCharactersMax),
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

const headersForAll: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'accept', 'user-agent', 'x-delivery-id']);
/** A part of a path that is shorter is a word. */
const partCharactersMin = 12;

/** What of a request may be a credential. Servers repeat in their replies what they were sent, and more people see replies than addresses. */
function secretsIn({ url, headers = {} }: Request): string[] {
  const { username = '', password = '', pathname = '', search = '', searchParams = new URLSearchParams() } = URL.parse(url) ?? {};
  const inPath = pathname.split('/').filter((part) => part.length >= partCharactersMin);
  const inHeaders = Object.entries(headers)
    .filter(([name]) => !headersForAll.has(name.toLowerCase()))
    .flatMap(([, value]) => [value, ...value.split(' ')]);
  return [username, password, pathname + search, pathname, ...inPath, ...searchParams.values(), ...inHeaders];
}
