/**
 * Pages of other origins may call the API with an access token. They may never use cookies: without `allow-credentials` a browser sends none and
 * shows no reply to a request that had some. So what is let in here is only what any program with the token could do.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

const preflightSecondsMax = 3600;

export function admitsOtherOrigins({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config?.operation ?? config?.isPreflight) !== undefined;
}

export const headersForOtherOrigins = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'www-authenticate, x-request-id, retry-after, location, allow',
  /** Without it a browser keeps the reply even from pages that may have it. */
  'cross-origin-resource-policy': 'cross-origin',
};

/** What a browser asks before it lets a page send a token. */
export const answerPreflight = (allow: string) => (_request: unknown, reply: FastifyReply) =>
  reply
    .code(204)
    .headers({
      allow,
      'access-control-allow-methods': allow,
      'access-control-allow-headers': 'authorization, content-type, accept, content-encoding',
      'access-control-max-age': String(preflightSecondsMax),
    })
    .send();
