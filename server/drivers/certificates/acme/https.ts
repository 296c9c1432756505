/** One request to an authority: over TLS, within a time, for a reply of bounded size, following no redirect. */
import { request, type RequestOptions } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { getCACertificates } from 'node:tls';
import { Problem } from '../../../kernel/problem.ts';
import { lookupOf, readBounded } from '../checked-visits.ts';
import { AcmeTrouble } from './messages.ts';

export interface HttpsOptions {
  /** Certificates, as PEM, to trust beside those that this process trusts. */
  authorities?: readonly string[];
  /** The addresses of a host that may be visited; throws a Problem. Where it is absent, any address may be. */
  addressesOf?: (hostname: string) => Promise<string[]>;
  userAgent: string;
}

export interface HttpsReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Send = (method: 'GET' | 'HEAD' | 'POST', url: string, body?: string, signal?: AbortSignal) => Promise<HttpsReply>;

const secondsMax = 30;
const bodyBytesMax = 1024 * 1024;

export function openHttps({ authorities = [], addressesOf, userAgent }: HttpsOptions): Send {
  const ca = authorities.length > 0 ? { ca: [...getCACertificates('default'), ...authorities] } : {};
  return async (method, url, body, signal) => {
    const address = URL.parse(url);
    if (address?.protocol !== 'https:')
      throw new AcmeTrouble(
        `${url || 'An empty address'} does not begin with https://; authorities that speak ACME are reached over TLS only.`,
      );
    const { hostname, host } = address;
    const headers = {
      'user-agent': userAgent,
      'accept-language': 'en',
      ...(body !== undefined && { 'content-type': 'application/jose+json', 'content-length': Buffer.byteLength(body) }),
    };
    try {
      const pinned = addressesOf ? lookupOf(await addressesOf(hostname)) : {};
      const limit = AbortSignal.timeout(secondsMax * 1000);
      return await exchange(url, { method, headers, ...ca, ...pinned, signal: signal ? AbortSignal.any([signal, limit]) : limit }, body);
    } catch (cause) {
      signal?.throwIfAborted();
      throw troubleWith(host, cause);
    }
  };
}

const exchange = (url: string, options: RequestOptions, sentBody: string | undefined) =>
  new Promise<HttpsReply>((resolve, reject) => {
    const sent = request(url, options, (reply) => {
      readBounded(reply, bodyBytesMax).then(
        (body) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: body.toString('utf8') }),
        reject,
      );
    });
    sent.once('error', reject);
    sent.end(sentBody);
  });

function troubleWith(host: string, cause: unknown): AcmeTrouble {
  if (cause instanceof AcmeTrouble) return cause;
  if (cause instanceof Problem) return new AcmeTrouble(cause.message, { cause });
  const { code = '', message, name } = cause as NodeJS.ErrnoException;
  const reason = name === 'TimeoutError' || name === 'AbortError' ? `no answer within ${secondsMax} seconds` : code || message;
  return new AcmeTrouble(`The certificate authority at ${host} cannot be reached (${reason}).`, { cause });
}
