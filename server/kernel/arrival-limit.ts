/**
 * How long a request may take to arrive. Node's own limit is one for all, and a pack of some gigabytes takes its time: where a route is marked
 * `mayTakeLong`, only standing still is limited.
 */
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

declare module 'fastify' {
  interface FastifyContextConfig {
    mayTakeLong?: boolean;
  }
}

const stillSecondsMax = 120;

export function limitArrival(http: FastifyInstance, secondsMax: number) {
  http.addHook('onRequest', ({ raw, routeOptions }, reply, done) => {
    /** A request that a test injects has no real socket. */
    if (raw.socket instanceof Socket) {
      if (routeOptions.config?.mayTakeLong) limitStanding(raw, reply.raw);
      else if (!hasArrived(raw)) limitWhole(raw, reply.raw, secondsMax);
    }
    done();
  });
}

/** Most requests have no body at all. */
const hasArrived = ({ headers, complete }: IncomingMessage) =>
  complete || (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0');

function limitWhole(request: IncomingMessage, response: ServerResponse, secondsMax: number) {
  const late = setTimeout(() => {
    if (request.complete) return;
    if (!response.headersSent) request.socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
    request.socket.destroySoon();
  }, secondsMax * 1000);
  for (const end of [request, response]) end.once('close', () => clearTimeout(late));
}

function limitStanding({ socket }: IncomingMessage, response: ServerResponse) {
  const end = () => socket.destroy();
  socket.setTimeout(stillSecondsMax * 1000, end);
  response.once('close', () => {
    socket.off('timeout', end);
    socket.setTimeout(0);
  });
}
