/** One request to an authority: over TLS, within a time, for a reply of bounded size, following no redirect. */
import type { IncomingHttpHeaders } from 'node:http';
import { getCACertificates } from 'node:tls';
import { OutboundFault } from '../../outbound/faults.ts';
import { openOperatorsOutbound, type Outbound } from '../../outbound/outbound.ts';
import { AcmeTrouble } from './messages.ts';

export interface HttpsOptions {
  /** Certificates, as PEM, to trust beside those that this process trusts. */
  authorities?: readonly string[];
  /** Where it is absent, the operator has chosen the authority, which may be anywhere. */
  outbound?: Outbound;
  userAgent: string;
}

export interface HttpsReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Send = (method: 'GET' | 'HEAD' | 'POST', url: string, body?: string, signal?: AbortSignal) => Promise<HttpsReply>;

const secondsMax = 30;
const replyBytesMax = 1024 * 1024;

export function openHttps({ authorities = [], outbound = openOperatorsOutbound(), userAgent }: HttpsOptions): Send {
  const trusted = authorities.length > 0 ? { authorities: [...getCACertificates('default'), ...authorities] } : {};
  return async (method, url, body, signal) => {
    const address = URL.parse(url);
    if (address?.protocol !== 'https:')
      throw new AcmeTrouble(
        `${url || 'An empty address'} does not begin with https://; authorities that speak ACME are reached over TLS only.`,
      );
    const headers = {
      'user-agent': userAgent,
      'accept-language': 'en',
      ...(body !== undefined && { 'content-type': 'application/jose+json' }),
    };
    const asked = { url, method, headers, secondsMax, replyBytesMax, ...trusted };
    const reply = await outbound
      .request({ ...asked, ...(body !== undefined && { body }), ...(signal && { signal }) })
      .catch((cause: unknown) => {
        throw cause instanceof OutboundFault ? troubleWith(address.host, cause) : cause;
      });
    return { status: reply.status, headers: reply.headers, body: reply.body.toString('utf8') };
  };
}

const troubleWith = (host: string, cause: OutboundFault) =>
  cause.reason === 'forbidden' || cause.reason === 'unresolved'
    ? new AcmeTrouble(cause.message, { cause })
    : new AcmeTrouble(`The certificate authority at ${host} cannot be reached (${cause.detail}).`, { cause });
