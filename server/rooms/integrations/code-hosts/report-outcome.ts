/** What a code host's answer means for a delivery to it. */
import { CodeHostFailure, isFailure } from '../../../drivers/code-hosts/code-host-failure.ts';
import type { Sent } from '../../../kernel/delivery.ts';
import { Problem } from '../../../kernel/problem.ts';

/** What may be otherwise in a while, without anybody changing anything here. */
export const isPassing = (failure: unknown): failure is CodeHostFailure => isFailure(failure, 'unavailable', 'rate-limited');

/** What the host was asked for, in words: it takes several requests, and attempts are shown as one. */
const shown = (asked: string): NonNullable<Sent['request']> => ({
  method: 'Asked the host',
  url: asked,
  bytes: Buffer.byteLength(asked),
});

export const delivered = (asked: string): Sent => ({ outcome: 'delivered', request: shown(asked) });

/** What fails for other reasons than the host's is a mistake of ours, and passed on. */
export function outcomeOf(failure: unknown, asked: string, now = Date.now()): Sent {
  const request = shown(asked);
  // Values that no host could be opened with: nobody is asked until they are changed.
  if (failure instanceof Problem) return { outcome: 'refused', request, trouble: failure.message };
  if (!(failure instanceof CodeHostFailure)) throw failure;
  const { message, retryAt } = failure;
  return {
    outcome: isPassing(failure) ? 'failed' : 'refused',
    request,
    trouble: message,
    ...(retryAt && { retryAfterSeconds: Math.max(Math.ceil((retryAt.getTime() - now) / 1000), 1) }),
  };
}
