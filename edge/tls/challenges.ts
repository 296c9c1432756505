/**
 * How the edge proves to an authority that a host is served here, while a certificate is being asked for: it answers what the control plane has been told to
 * answer. Over HTTP by a file (RFC 8555, HTTP-01), whatever the host's routes say; over TLS by a certificate for that one protocol (RFC 8737, TLS-ALPN-01).
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Exchange, Reply } from '../exchange.ts';
import { fields, list, parserOf, text, textLike } from '../routing/schema.ts';
import { contextOptions } from './certificates.ts';

export interface Challenges {
  http: { host: string; token: string; body: string }[];
  tls: { host: string; certificate: string; key: string }[];
}

/** The protocol that a client offers when all it wants is the proof. */
export const challengeProtocol = 'acme-tls/1';

const challengesMax = 10_000;
const pem = text(64 * 1024);
const host = text(255);

export const parseChallenges = parserOf(
  fields<Challenges>({
    http: list(
      fields<Challenges['http'][number]>({ host, token: textLike(/^[A-Za-z0-9_-]{1,512}$/, 512, 'a token'), body: text(1024) }),
      challengesMax,
    ),
    tls: list(fields<Challenges['tls'][number]>({ host, certificate: pem, key: pem }), challengesMax),
  }),
  'The challenges',
);

const folder = '/.well-known/acme-challenge/';

export class ChallengeAnswers {
  #bodies = new Map<string, string>();
  #contexts = new Map<string, SecureContext>();

  /** Replaces all challenges by those that are open now. */
  replace({ http, tls }: Challenges) {
    this.#bodies = new Map(http.map(({ host: its, token, body }) => [`${its} ${token}`, body]));
    this.#contexts = new Map(
      tls.map(({ host: its, certificate, key }) => [its, createSecureContext({ ...contextOptions, cert: certificate, key })]),
    );
  }

  /** Whether a challenge is open. Only then is it worth finding out what a handshake is for. */
  get areOpen() {
    return this.#contexts.size > 0;
  }

  contextFor(name: string | undefined): SecureContext | undefined {
    return name === undefined ? undefined : this.#contexts.get(name);
  }

  answer({ method, scheme, host: asked, path }: Exchange): Reply | undefined {
    if (scheme !== 'http' || this.#bodies.size === 0 || !path.startsWith(folder) || (method !== 'GET' && method !== 'HEAD'))
      return undefined;
    const body = this.#bodies.get(`${asked} ${path.slice(folder.length)}`);
    return body === undefined ? undefined : { status: 200, headers: [['Content-Type', 'application/octet-stream']], body };
  }
}
