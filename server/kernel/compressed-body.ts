/** Bodies that a client compressed. What comes out is bounded like any other body, and counted while it comes: a bomb is refused at its first megabyte. */
import type { FastifyRequest, RequestPayload } from 'fastify';
import { createGunzip } from 'node:zlib';
import { Problem } from './problem.ts';

type Done = (error: Error | null, payload?: RequestPayload) => void;

export function inflateBody({ headers }: FastifyRequest, _reply: unknown, payload: RequestPayload, done: Done) {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return done(null, payload);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    return done(new Problem('unsupported-media-type', 'Send the body as it is, or with Content-Encoding: gzip.'));
  // Fastify compares this, and not the length of what comes out, with the header.
  const inflated = Object.assign(createGunzip(), { receivedEncodedLength: 0 });
  payload.on('data', (chunk: Buffer) => (inflated.receivedEncodedLength += chunk.length));
  payload.on('error', (error) => inflated.destroy(error));
  inflated.on('error', () => payload.unpipe());
  done(null, payload.pipe(inflated));
}
