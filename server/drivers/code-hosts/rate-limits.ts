/** What a reply says about how long to wait before the next request. */
import type { Answer } from './code-host.ts';

/** GitHub and Bitbucket begin these names with `x-`, GitLab does not. */
const remainingNames = ['x-ratelimit-remaining', 'ratelimit-remaining'];
const resetNames = ['x-ratelimit-reset', 'ratelimit-reset'];
/** What GitHub asks for where it limits requests and does not say until when. */
const usualSeconds = 60;
/** A host that says more than a day is not believed. */
const secondsMax = 86_400;

export interface Wait {
  /** When the host takes requests again. */
  until: Date;
  /** Whether this request was refused for it; otherwise it was answered, and the next one would be refused. */
  isRefusal: boolean;
}

/** Undefined where the next request can be made now. */
export function waitAfter(answer: Answer, now: number): Wait | undefined {
  const { status } = answer;
  // GitHub counts whoever shows no valid credential by the address, which says nothing of the credential's own limit.
  if (status === 401) return undefined;
  const asked = retryAfterSeconds(answer, now);
  const isUsedUp = firstOf(answer, remainingNames) === '0';
  const isRefusal =
    status === 429 || (asked !== undefined && (status === 403 || status === 503)) || (status === 403 && (isUsedUp || saysSo(answer)));
  if (!isRefusal && !isUsedUp) return undefined;
  const seconds = (isRefusal ? asked : undefined) ?? secondsUntilReset(answer, now) ?? (isRefusal ? usualSeconds : 0);
  return { until: new Date(Math.round(now + Math.min(seconds, secondsMax) * 1000)), isRefusal };
}

/** GitHub refuses with 403, and says in words alone that it is for now. */
const saysSo = ({ body }: Answer) => /rate limit/i.test(body.subarray(0, 4096).toString('utf8'));

/** Seconds, or a date. */
function retryAfterSeconds({ headers }: Answer, now: number): number | undefined {
  const text = String(headers['retry-after'] ?? '');
  if (text === '') return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}

/** A moment, in seconds since 1970. */
function secondsUntilReset(answer: Answer, now: number): number | undefined {
  const text = firstOf(answer, resetNames);
  return text !== undefined && /^\d+$/.test(text) ? Math.max(Number(text) - now / 1000, 0) : undefined;
}

const firstOf = ({ headers }: Answer, names: readonly string[]) =>
  names.map((name) => headers[name]).find((value) => typeof value === 'string');
