/** What Fastly's API is asked about TLS (https://www.fastly.com/documentation/reference/api/tls/custom-certs/): JSON:API, one thing at a time. */
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { Outbound } from '../../../drivers/outbound/outbound.ts';
import type { Sent } from '../../../kernel/delivery.ts';
import { askReceiver } from '../../deliveries/public.ts';

export interface Fastly {
  token: string;
  service_id: string;
}

export const fastlyApi = 'https://api.fastly.com';
const mediaType = 'application/vnd.api+json';
/** A page of certificates. */
const replyBytesMax = 4 * 1024 * 1024;

/** Fastly did not do what it was asked for. */
export class FastlyFailed extends Error {
  readonly sent: Sent;
  constructor(sent: Sent) {
    super(sent.trouble);
    this.sent = sent;
  }
  /** Undefined where it did not answer. */
  get status(): unknown {
    return this.sent.response?.['status'];
  }
}

export interface FastlyQuestion<Reply extends TSchema = TSchema> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Readonly<Record<string, string>>;
  data?: object;
  reply: Reply;
}

/** Throws FastlyFailed. */
export type AskFastly = <Reply extends TSchema>(question: FastlyQuestion<Reply>) => Promise<Static<Reply>>;

export const openFastly =
  (outbound: Outbound, { token }: Pick<Fastly, 'token'>, signal: AbortSignal, api = fastlyApi): AskFastly =>
  async ({ method, path, query = {}, data, reply }) => {
    const search = new URLSearchParams(query).toString();
    const { sent, body } = await askReceiver(outbound, {
      method,
      url: `${api}${path}${search === '' ? '' : `?${search}`}`,
      headers: { 'fastly-key': token, accept: mediaType, ...(data && { 'content-type': mediaType }) },
      ...(data && { body: JSON.stringify({ data }) }),
      replyBytesMax,
      signal,
    });
    // No path here has a secret in it, unlike those of webhooks.
    const request = { ...sent.request, url: `${api}${path}` };
    if (sent.outcome !== 'delivered') throw new FastlyFailed({ ...sent, request });
    const answered = parsed(body);
    if (Value.Check(reply, answered)) return answered;
    throw new FastlyFailed({ outcome: 'failed', request, trouble: 'Fastly answered otherwise than its documentation says.' });
  };

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
