/** `GET /metrics`: how the platform itself is, for Prometheus. It is for operators: by the token that the settings name for programs, or by an operator's access token; nobody else learns anything. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerChallenge } from '../../kernel/errors.ts';
import { textFormat, writeFamilies } from '../../kernel/instruments.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint, isSame } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { openEventLoopWatch } from './event-loop.ts';
import { readParts } from './parts.ts';

/** However many ask, the platform is looked at once in so long. */
const keptMilliseconds = 1000;

export function serveMetrics(http: FastifyInstance, platform: Platform): void {
  const eventLoop = openEventLoopWatch();
  http.addHook('onClose', async () => eventLoop.close());
  let last: { at: number; text: Promise<string> } | undefined;
  const read = async () => writeFamilies([...(await readParts(platform)), ...eventLoop.families()]);
  http.get('/metrics', async (request, reply) => {
    await admit(request, platform);
    if (!last || performance.now() - last.at > keptMilliseconds) last = { at: performance.now(), text: read() };
    return reply.header('content-type', textFormat).send(await last.text);
  });
}

async function admit({ headers }: FastifyRequest, { config, callerOf }: Platform): Promise<void> {
  const [scheme, token = ''] = (headers.authorization ?? '').split(' ', 2);
  if (scheme?.toLowerCase() !== 'bearer' || token === '')
    throw new Problem(
      'unauthenticated',
      'Send the token of OFFSHOOT_METRICS_TOKEN, or an access token of an operator: Authorization: Bearer <token>.',
      {
        headers: bearerChallenge(),
      },
    );
  // Of fingerprints, so that neither the length nor the beginning of the right one shows in how long this takes.
  if (config.metricsToken !== undefined && isSame(fingerprint(token), fingerprint(config.metricsToken))) return;
  const caller = await callerOf(token);
  if (caller?.user.is_operator) return;
  if (caller) throw new Problem('forbidden', 'Only operators of this installation may read its metrics.');
  const sentence = 'The token is wrong or has expired.';
  throw new Problem('unauthenticated', sentence, { headers: bearerChallenge('invalid_token', sentence) });
}
