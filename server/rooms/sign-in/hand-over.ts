/**
 * Passes a request to the OAuth2 library: not the one that came in, but one written anew from what we checked, with the address, scheme and
 * host that we vouch for. The library sees nothing else, and its answer keeps our headers.
 */
import { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';

export interface Checked {
  method: 'GET' | 'POST';
  /** The path and the query. */
  url: string;
  accept: 'application/json' | 'text/html';
  form?: URLSearchParams;
}

export type HandOver = (request: FastifyRequest, reply: FastifyReply, checked: Checked) => Promise<void>;

export function openHandOver(provider: Provider, publicUrl: string): HandOver {
  const answer = provider.callback();
  const { protocol, host } = new URL(publicUrl);
  return async (request, reply, checked) => {
    const headers = {
      /** People stay on the host name by which they reached us; programs are told the installation's own host name. */
      host: checked.accept === 'text/html' && URL.canParse(`http://${request.host}`) ? request.host : host,
      'x-forwarded-proto': protocol.slice(0, -1),
      'x-forwarded-for': request.ip,
    };
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value);
    await answer(written(request, checked, headers), reply.raw);
  };
}

function written({ raw }: FastifyRequest, { method, url, accept, form }: Checked, headers: Record<string, string>): IncomingMessage {
  const body = form?.toString();
  const message = new IncomingMessage(raw.socket);
  message.method = method;
  message.url = url;
  message.headers = {
    ...headers,
    accept,
    ...(raw.headers.cookie !== undefined && { cookie: raw.headers.cookie }),
    ...(raw.headers['user-agent'] !== undefined && { 'user-agent': raw.headers['user-agent'] }),
    ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(Buffer.byteLength(body)) }),
  };
  if (body) message.push(body);
  message.push(null);
  message.complete = true;
  return message;
}
