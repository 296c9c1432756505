/**
 * The log of one request, in which every line carries the request's id. It is made with the first line that is written: most requests write none, and
 * making it, with all that it has to hide, costs more than routing one.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyChildLoggerFactory } from 'fastify/types/logger.js';
import type { Log } from './log.ts';

/** One line for each request, once it is answered. */
export function logRequests(log: Log) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const quiet = reply.statusCode < 400 && (request.method === 'GET' || request.method === 'HEAD');
    const level = quiet ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) request.log[level](lineOf(request, reply), 'answered');
    done();
  };
}

const lineOf = (request: FastifyRequest, reply: FastifyReply) => ({
  method: request.method,
  path: request.url.split('?', 1)[0],
  status: reply.statusCode,
  milliseconds: Math.round(reply.elapsedTime),
  address: request.ip,
});

export const openRequestLog: FastifyChildLoggerFactory = (log, bindings, options) => new RequestLog(() => log.child(bindings, options));

class RequestLog implements FastifyBaseLogger {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
  }

  get #log() {
    return (this.#made ??= this.#make());
  }
  get level() {
    return this.#log.level;
  }
  child(...given: Parameters<FastifyBaseLogger['child']>) {
    return this.#log.child(...given);
  }

  silent() {}
  trace(...line: [any]) {
    this.#log.trace(...line);
  }
  debug(...line: [any]) {
    this.#log.debug(...line);
  }
  info(...line: [any]) {
    this.#log.info(...line);
  }
  warn(...line: [any]) {
    this.#log.warn(...line);
  }
  error(...line: [any]) {
    this.#log.error(...line);
  }
  fatal(...line: [any]) {
    this.#log.fatal(...line);
  }
}
