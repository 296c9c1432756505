/** Bodies that a client compressed. What comes out is bounded like any other body, and counted while it comes: a bomb is refused at its first megabyte. */
import type { FastifyRequest, RequestPayload } from 'fastify';
import { createGunzip } from 'node:zlib';
import { Problem } from './problem.ts';

export function inflateBody(
  request: FastifyRequest,
  _reply: unknown,
  payload: RequestPayload,
  done: (error: Error | null, payload?: RequestPayload) => void,
) {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return done(null, payload);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    return done(new Problem('unsupported-media-type', 'Send the body as it is, or with Content-Encoding: gzip.'));
  /** Fastify compares the length of what arrived with the header; what leaves here is longer. */
  const inflated: RequestPayload = Object.assign(createGunzip(), { receivedEncodedLength: 0 });
  payload.on('data', (chunk: Buffer) => (inflated.receivedEncodedLength = (inflated.receivedEncodedLength ?? 0) + chunk.length));
  payload.on('error', (error) => (inflated as ReturnType<typeof createGunzip>).destroy(error));
  inflated.on('error', () => payload.unpipe());
  done(null, payload.pipe(inflated as ReturnType<typeof createGunzip>));
}
