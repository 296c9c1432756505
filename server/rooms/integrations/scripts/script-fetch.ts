/** Requests of scripts: through the same guard as everything else that goes out, and no more of them than so many. */
import { STATUS_CODES } from 'node:http';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Outbound } from '../../../drivers/outbound/outbound.ts';
import { Problem } from '../../../kernel/problem.ts';

const requestsMax = 50;
const secondsMax = 20;
const replyBytesMax = 1024 * 1024;
const redirectsMax = 5;

/** What of a request is the connection's, and not the script's, to say. */
const ofConnection = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const Asked = Type.Object({
  method: Type.String({ pattern: '^[A-Za-z]{1,20}$' }),
  headers: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  body: Type.Optional(Type.String()),
});

/** What a script sends here, it may have made to be anything. */
export function scriptFetch(outbound: Outbound, signal: AbortSignal) {
  let requests = 0;
  return async (url: unknown, asked: unknown) => {
    if (typeof url !== 'string' || !Value.Check(Asked, asked))
      throw new Problem('invalid-request', 'A request has an address, and perhaps a method, headers and a body, which are texts.');
    requests += 1;
    if (requests > requestsMax) throw new Problem('invalid-request', `A script makes at most ${requestsMax} requests.`);
    const method = asked.method.toUpperCase();
    if (method === 'CONNECT') throw new Problem('invalid-request', 'A script connects to nobody by itself.');
    const reply = await outbound.request({
      url,
      method,
      headers: headersOf(asked.headers),
      ...(asked.body !== undefined && { body: asked.body }),
      secondsMax,
      replyBytesMax,
      redirectsMax,
      signal,
    });
    return { status: reply.status, statusText: STATUS_CODES[reply.status] ?? '', url: reply.url, text: reply.body.toString('utf8') };
  };
}

const headersOf = (headers: Record<string, string | number | boolean>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
      .filter(([name]) => !ofConnection.has(name)),
  );
