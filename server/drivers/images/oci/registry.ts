/**
 * One repository of a registry that speaks the OCI distribution protocol. All of it passes the one way out (drivers/outbound): also the server that gives
 * tokens, and wherever the registry leads to for its layers, is visited only where users may have the platform visit it.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Problem } from '../../../kernel/problem.ts';
import type { OpenReply } from '../../outbound/exchange.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { addressOf, type Reference } from './reference.ts';

export interface Credentials {
  username: string;
  password: string;
}

export interface RegistryWay {
  outbound: Outbound;
  /** Registries, as `host:port`, that are asked over plain HTTP. */
  plainRegistries: readonly string[];
}

export interface Repository {
  /** By tag or digest. What is asked for by digest is what the digest says. Undefined: there is none. */
  manifest(reference: string, signal: AbortSignal): Promise<{ digest: string; body: Buffer } | undefined>;
  /** A small one, checked. */
  smallBlob(digest: string, signal: AbortSignal): Promise<Buffer>;
  /** As it comes: whoever reads it checks it. */
  blob(digest: string, signal: AbortSignal): Promise<Readable>;
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

const smallBytesMax = 4 * 1024 ** 2;
const smallSecondsMax = 30;
const blobSecondsMax = 1800;
const redirectsMax = 3;

export const digestOf = (body: Buffer) => `sha256:${createHash('sha256').update(body).digest('hex')}`;

export function openRepository({ host, name }: Reference, way: RegistryWay, credentials?: Credentials): Repository {
  const scheme = way.plainRegistries.includes(host) ? 'http' : 'https';
  const base = `${scheme}://${addressOf(host)}/v2/${name}`;
  let authorization: string | undefined;

  const ask = async (path: string, accept: string, secondsMax: number, signal: AbortSignal): Promise<OpenReply> => {
    const url = `${base}/${path}`;
    const send = () =>
      way.outbound.open({
        url,
        headers: { accept, ...(authorization !== undefined && { authorization }) },
        secondsMax,
        redirectsMax,
        signal,
      });
    const reply = await send();
    // Whoever a redirect leads to has no say in where the credentials go.
    const isTheirs = URL.parse(reply.url)?.origin === URL.parse(base)?.origin;
    const challenge = reply.status === 401 && isTheirs ? challengeOf(reply.headers) : undefined;
    if (!challenge) return reply;
    reply.body.destroy();
    authorization = await authorize(challenge, { way, host, name, ...(credentials && { credentials }) }, signal);
    return send();
  };

  const small = async (path: string, accept: string, signal: AbortSignal): Promise<Buffer | undefined> => {
    const reply = await ask(path, accept, smallSecondsMax, signal);
    if (reply.status === 404) return void reply.body.destroy();
    requireFound(reply, { host, name }, credentials !== undefined);
    return readSmall(reply.body, host);
  };

  return {
    async manifest(reference, signal) {
      const body = await small(`manifests/${reference}`, manifestTypes, signal);
      if (!body) return undefined;
      const digest = digestOf(body);
      if (reference.startsWith('sha256:') && reference !== digest) throw isNot(host, reference, digest);
      return { digest, body };
    },
    async smallBlob(digest, signal) {
      const body = await small(`blobs/${digest}`, '*/*', signal);
      if (!body) throw new Problem('unavailable', `${host} does not have ${digest}, which its image ${name} is made of.`);
      if (digestOf(body) !== digest) throw isNot(host, digest, digestOf(body));
      return body;
    },
    async blob(digest, signal) {
      const reply = await ask(`blobs/${digest}`, '*/*', blobSecondsMax, signal);
      requireFound(reply, { host, name }, credentials !== undefined);
      return reply.body;
    },
  };
}

const isNot = (host: string, wanted: string, found: string) =>
  new Problem(
    'unavailable',
    `${host} answered with ${found} where ${wanted} was asked for; it was changed on the way, or the registry is broken.`,
  );

async function readSmall(body: Readable, host: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > smallBytesMax) throw new Problem('invalid-request', `${host} describes the image in more than ${smallBytesMax} bytes.`);
  }
  return Buffer.concat(chunks);
}

function requireFound({ status, body }: OpenReply, { host, name }: Pick<Reference, 'host' | 'name'>, hadCredentials: boolean) {
  if (status === 200) return;
  body.destroy();
  if (status === 401 || status === 403)
    throw new Problem(
      'invalid-request',
      hadCredentials
        ? `${host} does not let the given credentials read ${name}; check them, and what they may read.`
        : `${host} does not let everybody read ${name}; give credentials for it, or check the name.`,
    );
  if (status === 429) throw new Problem('unavailable', `${host} has been asked too often; give credentials for it, or try again later.`);
  throw new Problem(status >= 500 ? 'unavailable' : 'invalid-request', `${host} answered ${status} when it was asked for ${name}.`);
}

interface Challenge {
  scheme: 'basic' | 'bearer';
  /** What a bearer's token is asked for with. */
  told: Record<string, string>;
}

function challengeOf(headers: IncomingHttpHeaders): Challenge | undefined {
  const text = headers['www-authenticate'] ?? '';
  const [, scheme = '', rest = ''] = /^(basic|bearer)\s*(.*)$/is.exec(text) ?? [];
  if (scheme === '') return undefined;
  const told = Object.fromEntries([...rest.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key.toLowerCase(), value]));
  return { scheme: scheme.toLowerCase() as Challenge['scheme'], told };
}

interface Asking {
  way: RegistryWay;
  host: string;
  name: string;
  credentials?: Credentials;
}

async function authorize({ scheme, told }: Challenge, { way, host, name, credentials }: Asking, signal: AbortSignal) {
  const basic = credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
  if (scheme === 'basic') return basic;
  const url = URL.parse(told['realm'] ?? '');
  // Credentials go to the registry's own server of tokens, and over a connection that nobody listens to.
  if (!url || (url.protocol !== 'https:' && !way.plainRegistries.includes(url.host)))
    throw new Problem('unavailable', `${host} does not say where to ask for a token.`);
  if (told['service'] !== undefined) url.searchParams.set('service', told['service']);
  url.searchParams.set('scope', `repository:${name}:pull`);
  const headers = basic === undefined ? {} : { authorization: basic };
  const reply = await way.outbound.request({ url: url.href, headers, secondsMax: smallSecondsMax, signal });
  if (reply.status !== 200)
    throw new Problem(
      'invalid-request',
      `${host} gives no token for ${name} (${url.host} answered ${reply.status}); ${credentials ? 'check the credentials' : 'give credentials, or check the name'}.`,
    );
  return `Bearer ${tokenIn(reply.body, host)}`;
}

function tokenIn(body: Buffer, host: string): string {
  try {
    const { token, access_token } = JSON.parse(body.toString()) as Record<string, unknown>;
    const found = token ?? access_token;
    if (typeof found === 'string' && /^[\x21-\x7e]+$/.test(found)) return found;
  } catch {
    // Said below.
  }
  throw new Problem('unavailable', `${host} answered with something else than a token.`);
}
