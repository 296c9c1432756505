/**
 * Requests to the API of one host: with the credential, within a time, for JSON of bounded size. Waits where the host asks for a short wait, follows a renamed
 * repository to its new address on the same host, and never takes the credential anywhere else.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { flawOf } from '../../kernel/stored-json.ts';
import type { Answer, Asked, Send } from './code-host.ts';
import { CodeHostFailure } from './code-host-failure.ts';
import { failureOf, jsonIn, unreachable } from './reply-failures.ts';
import { waitAfter } from './rate-limits.ts';
import { withoutSecrets } from '../outbound/secrets-in-text.ts';

export interface HostConnection {
  /** Any 2xx reply. Throws a CodeHostFailure otherwise. */
  ask(request: HostRequest): Promise<HostReply>;
}

export interface HostRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the address of the API. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: unknown;
}

export interface HostReply {
  headers: Answer['headers'];
  /** The body, which must be of that shape. */
  read<T extends TSchema>(schema: T): Static<T>;
}

export interface Credential {
  /** The headers that prove who asks. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Forgets what was refused. Answers whether asking again makes sense. */
  renew(): boolean;
  /** All that must be told to nobody. */
  secrets(): readonly string[];
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

export interface ConnectionOptions {
  /** As people call it. */
  host: string;
  /** Of the API, without a slash at its end. */
  baseUrl: string;
  /** As people gave it, for sentences. */
  repository: string;
  credential: Credential;
  headers?: Readonly<Record<string, string>>;
  send: Send;
  clock?: Clock;
}

export const systemClock: Clock = { now: () => Date.now(), wait: (milliseconds) => sleep(milliseconds) };

const secondsMax = 30;
const replyBytesMax = 16 * 1024 * 1024;
const attemptsMax = 3;
const redirectsMax = 3;
/** Whoever has to wait longer does so without holding anything up, and asks again at `retryAt`. */
const waitSecondsMax = 20;
const passingStatuses = new Set([502, 503, 504]);
const redirectStatuses = new Set([301, 302, 307, 308]);

/** A credential that is what it is. */
export const fixedCredential = (headers: Readonly<Record<string, string>>, secrets: readonly string[]): Credential => ({
  headers: async () => headers,
  renew: () => false,
  secrets: () => [...secrets, ...Object.values(headers)],
});

/** A path whose parts are values, each of which stays one part. */
export const pathOf = (texts: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  texts.map((text, index) => text + (index < parts.length ? encodeURIComponent(String(parts[index])) : '')).join('');

export function openConnection(options: ConnectionOptions): HostConnection {
  const { credential, clock = systemClock, headers = {} } = options;
  let closedUntil: Date | undefined;

  async function attempt(request: HostRequest): Promise<Answer> {
    if (closedUntil && closedUntil.getTime() > clock.now()) throw rateLimited(options, closedUntil);
    const proof = await credential.headers();
    const sent = {
      ...options,
      credential: { ...credential, secrets: () => [...credential.secrets(), ...Object.values(proof).flatMap(partsOf)] },
    };
    const answer = await sendFollowing(askedOf(options, request, { ...headers, ...proof }), sent);
    const wait = waitAfter(answer, clock.now());
    closedUntil = wait?.until;
    if (wait?.isRefusal) throw rateLimited(options, wait.until);
    if (answer.status < 300) return answer;
    throw failureOf(answer, sent);
  }

  return {
    async ask(request) {
      for (let left = attemptsMax - 1; ; left -= 1) {
        try {
          return replyOf(await attempt(request), options);
        } catch (thrown) {
          if (left === 0 || !(thrown instanceof CodeHostFailure) || !(await isWorthAnother(thrown, request))) throw thrown;
        }
      }
    },
  };

  async function isWorthAnother({ kind, status, retryAt }: CodeHostFailure, { method = 'GET' }: HostRequest): Promise<boolean> {
    if (kind === 'credential') return credential.renew();
    const milliseconds = retryAt ? retryAt.getTime() - clock.now() : 0;
    if (milliseconds > waitSecondsMax * 1000) return false;
    if (kind !== 'rate-limited' && !(method === 'GET' && passingStatuses.has(status ?? 0))) return false;
    await clock.wait(Math.max(milliseconds, 0));
    return true;
  }
}

/** What a host may quote of a header: all of it, or what comes after `Bearer`. */
const partsOf = (header: string) => [header, ...header.split(' ').slice(1)];

function askedOf({ baseUrl }: ConnectionOptions, { method = 'GET', path, query, body }: HostRequest, headers: Asked['headers']): Asked {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return {
    url: url.href,
    method,
    headers: {
      accept: 'application/json',
      'user-agent': 'offshoot',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    secondsMax,
    replyBytesMax,
  };
}

/** With the same method and body: hosts redirect only because the repository has another name by now. */
async function sendFollowing(asked: Asked, options: ConnectionOptions): Promise<Answer> {
  let { url } = asked;
  for (let left = redirectsMax; ; left -= 1) {
    const answer = await options.send({ ...asked, url }).catch((cause: unknown) => {
      throw unreachable(cause, options);
    });
    const { location } = answer.headers;
    if (!redirectStatuses.has(answer.status) || typeof location !== 'string') return answer;
    const next = URL.parse(location, url);
    if (left === 0 || next?.origin !== new URL(options.baseUrl).origin)
      throw new CodeHostFailure('refused', `${options.host} leads elsewhere from ${new URL(url).host}; check the address.`);
    url = next.href;
  }
}

function replyOf({ headers, body }: Answer, options: ConnectionOptions): HostReply {
  return {
    headers,
    read: (schema) => {
      const value = jsonIn(body);
      if (Value.Check(schema, value)) return value;
      throw new CodeHostFailure(
        'unavailable',
        `${options.host} answered something that is not understood: ${withoutSecrets(flawOf(schema, value), options.credential.secrets())}.`,
      );
    },
  };
}

const rateLimited = ({ host }: ConnectionOptions, retryAt: Date) =>
  new CodeHostFailure('rate-limited', `${host} takes no more requests until ${retryAt.toISOString()}; they are made again then.`, {
    retryAt,
  });
