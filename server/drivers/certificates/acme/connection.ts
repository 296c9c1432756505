/** A conversation with one authority: its directory, nonces, and signed requests. Refusals and trouble are told apart by what is thrown. */
import { FlattenedSign, importJWK, type JWK } from 'jose';
import type { Send, HttpsReply } from './https.ts';
import { AcmeRefusal, AcmeTrouble, type Directory, type ProblemDocument } from './messages.ts';

/** Who signs: an account by its address, or a key that has none yet. */
export interface Signer {
  key: JWK;
  account?: string;
}

export interface Reply<T> {
  /** Parsed JSON; empty where the answer has none. */
  body: T;
  text: string;
  location: string | undefined;
  /** From the header Retry-After. */
  retryAt: Date | undefined;
  /** Addresses of the header Link, by relation. */
  links: (relation: string) => string[];
}

export interface Connection {
  directory(signal?: AbortSignal): Promise<Directory>;
  get<T>(url: string, signal?: AbortSignal): Promise<Reply<T>>;
  /** Without a payload it only reads (POST-as-GET). */
  post<T>(url: string, signer: Signer, payload?: unknown, signal?: AbortSignal): Promise<Reply<T>>;
}

const directoryMillisecondsMax = 3_600_000;
/** An authority may refuse a nonce because it is old, or just to exercise clients. The request was not carried out, so it is sent again. */
const badNoncesMax = 8;
const noncesKeptMax = 16;

export function openConnection(directoryUrl: string, send: Send): Connection {
  const nonces: string[] = [];
  let known: { directory: Directory; at: number } | undefined;

  const exchange = async <T>(method: 'GET' | 'HEAD' | 'POST', url: string, body?: string, signal?: AbortSignal): Promise<Reply<T>> => {
    const reply = await send(method, url, body, signal);
    const nonce = reply.headers['replay-nonce'];
    if (typeof nonce === 'string' && nonces.length < noncesKeptMax) nonces.push(nonce);
    return readReply<T>(url, reply);
  };
  const directory = async (signal?: AbortSignal) => {
    if (known && Date.now() - known.at < directoryMillisecondsMax) return known.directory;
    const body = await exchange<Directory>('GET', directoryUrl, undefined, signal).then((reply) => reply.body, unlessRefused);
    if (typeof body?.newOrder !== 'string' || typeof body.newNonce !== 'string' || typeof body.newAccount !== 'string')
      throw new AcmeTrouble(`There is no ACME directory at ${directoryUrl}; check the address.`);
    known = { directory: body, at: Date.now() };
    return body;
  };
  const takeNonce = async (signal?: AbortSignal): Promise<string> => {
    if (nonces.length === 0) await exchange('HEAD', (await directory(signal)).newNonce, undefined, signal);
    return nonces.shift() ?? '';
  };

  return {
    directory,
    get: (url, signal) => exchange('GET', url, undefined, signal),
    post: async <T>(url: string, signer: Signer, payload?: unknown, signal?: AbortSignal) => {
      for (let times = 1; ; times += 1) {
        const body = await signedBody(url, signer, await takeNonce(signal), payload);
        try {
          return await exchange<T>('POST', url, body, signal);
        } catch (error) {
          if (!(error instanceof AcmeRefusal) || error.type !== 'badNonce' || times > badNoncesMax) throw error;
        }
      }
    },
  };
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof AcmeRefusal)) throw error;
}

async function signedBody(url: string, { key, account }: Signer, nonce: string, payload: unknown): Promise<string> {
  const who = account === undefined ? { jwk: publicPart(key) } : { kid: account };
  return JSON.stringify(await sign(payload, key, { ...who, nonce, url }));
}

/** A JWS in its flattened form. */
export async function sign(payload: unknown, key: JWK, header: Record<string, unknown>) {
  const alg = key.kty === 'oct' ? 'HS256' : 'ES256';
  const text = payload === undefined ? '' : JSON.stringify(payload);
  return new FlattenedSign(Buffer.from(text)).setProtectedHeader({ ...header, alg }).sign(await importJWK(key, alg));
}

export const publicPart = ({ kty, crv, x, y }: JWK): JWK => ({ kty, crv, x, y }) as JWK;

function readReply<T>(url: string, { status, headers, body }: HttpsReply): Reply<T> {
  const retryAt = retryTime(headers['retry-after']);
  const links = linksOf([headers['link'] ?? []].flat().join(', '), url);
  if (status < 200 || status >= 300) throw failure(url, status, body, retryAt, links('help')[0]);
  const isJson = /json/.test(headers['content-type'] ?? '');
  return { body: (isJson ? parsed(url, body) : {}) as T, text: body, location: headers.location, retryAt, links };
}

function parsed(url: string, body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch (cause) {
    throw new AcmeTrouble(`The answer of ${url} cannot be read.`, { cause });
  }
}

const tooMany = 429;

function failure(url: string, status: number, body: string, retryAt: Date | undefined, help: string | undefined): Error {
  const problem = problemIn(body);
  const isPassing =
    status < 400 || status >= 500 || (status === tooMany && problem.type === undefined) || problem.type?.endsWith(':serverInternal');
  if (!isPassing) return new AcmeRefusal(status, problem, retryAt, help ?? problem.instance);
  return new AcmeTrouble(
    `The certificate authority at ${new URL(url).host} answered ${status}${problem.detail ? `: ${problem.detail}` : ''}.`,
    {
      retryAt,
    },
  );
}

function problemIn(body: string): ProblemDocument & { instance?: string } {
  try {
    const document = JSON.parse(body) as unknown;
    return typeof document === 'object' && document !== null ? document : {};
  } catch {
    return {};
  }
}

const retrySecondsMax = 7 * 86_400;

/** The header holds seconds, or a date. The time is bounded, so that it is never too far away to ask again. */
function retryTime(header: string | undefined): Date | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : new Date(Date.now() + Math.min(Math.max(seconds, 0), retrySecondsMax) * 1000);
}

const linksOf = (header: string, base: string) => (relation: string) =>
  [...header.matchAll(/<([^>]*)>([^<]*)/g)]
    .filter(([, , parameters = '']) => new RegExp(`;\\s*rel="?${relation}"?`, 'i').test(parameters))
    .map(([, address = '']) => new URL(address, base).href);
