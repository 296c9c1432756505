/** One HTTP request and its reply, to addresses that were checked, within a time, and with no more of a body than was asked for. */
import { request as requestPlain, type Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as requestSecure } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { faultOf, late, OutboundFault } from './faults.ts';

export interface Request {
  url: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** For the whole exchange, from looking the name up to the last byte. */
  secondsMax?: number;
  replyBytesMax?: number;
  /** How many redirects are followed; otherwise the redirect itself is the reply. */
  redirectsMax?: number;
  /** Whether who answers has to show a certificate that is trusted: always, unless its owner says otherwise. */
  tlsVerify?: boolean;
  /** Certificates, as PEM, to trust in the place of those that this process trusts. */
  authorities?: readonly string[];
  signal?: AbortSignal;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Where it came from in the end. */
  url: string;
}

/** A reply whose body is still to come; whoever takes it says how much of it, and destroys what is not wanted. */
export interface OpenReply extends Omit<Reply, 'body'> {
  body: IncomingMessage;
}

export type AddressesOf = (host: string) => Promise<string[]>;
export type Agents = Readonly<Record<'http:' | 'https:', Agent>>;

const usual = { method: 'GET', secondsMax: 30, replyBytesMax: 1024 * 1024 };
const requestBy: Readonly<Record<string, typeof requestPlain>> = { 'http:': requestPlain, 'https:': requestSecure };

export const exchange = (asked: Request, agents: Agents, addressesOf: AddressesOf): Promise<Reply> =>
  withinTime(asked, agents, addressesOf, async (reply, url) => ({ ...headOf(reply, url), body: await bodyOf(reply, asked, url) }));

/** The time is still for all of it, to the last byte. */
export const openExchange = (asked: Request, agents: Agents, addressesOf: AddressesOf): Promise<OpenReply> =>
  withinTime(asked, agents, addressesOf, async (reply, url) => ({ ...headOf(reply, url), body: reply }));

const headOf = ({ statusCode = 0, headers }: IncomingMessage, { href }: URL) => ({ status: statusCode, headers, url: href });

async function withinTime<T>(
  asked: Request,
  agents: Agents,
  addressesOf: AddressesOf,
  take: (reply: IncomingMessage, url: URL) => Promise<T>,
): Promise<T> {
  const url = webAddress(asked.url);
  const secondsMax = asked.secondsMax ?? usual.secondsMax;
  const limit = AbortSignal.timeout(Math.ceil(secondsMax * 1000));
  const signal = asked.signal ? AbortSignal.any([asked.signal, limit]) : limit;
  try {
    signal.throwIfAborted();
    // Node connects to an address as it is, without a lookup.
    if (isIP(unbracketed(url.hostname))) await addressesOf(url.hostname);
    return await take(await sendWithin(url, asked, { agents, addressesOf, signal }), url);
  } catch (cause) {
    asked.signal?.throwIfAborted();
    throw limit.aborted ? late(url.host, secondsMax) : faultOf(cause, url.host);
  }
}

export function webAddress(text: string): URL {
  const url = URL.parse(text);
  if (url && requestBy[url.protocol] && url.hostname !== '') return url;
  throw new OutboundFault('malformed', 'This is no address of the web, which begins with https:// or http://.', { internal: text });
}

const unbracketed = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

interface Way {
  agents: Agents;
  addressesOf: AddressesOf;
  signal: AbortSignal;
}

/** A connection that was kept may have been closed by the other side at the moment at which it is used again: then it says nothing about the receiver. */
async function sendWithin(url: URL, asked: Request, way: Way): Promise<IncomingMessage> {
  for (;;) {
    const sent = begin(url, asked, way);
    try {
      return await replyTo(sent, asked.body);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (!sent.reusedSocket || (code !== 'ECONNRESET' && code !== 'EPIPE')) throw error;
    }
  }
}

function begin(url: URL, asked: Request, { agents, addressesOf, signal }: Way): ClientRequest {
  const { method = usual.method, headers, body, tlsVerify = true, authorities } = asked;
  return requestBy[url.protocol]!(url, {
    method,
    headers: { 'user-agent': 'Offshoot', ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
    agent: agents[url.protocol as keyof Agents],
    lookup: lookupOf(addressesOf),
    signal,
    ...(!tlsVerify && { rejectUnauthorized: false }),
    ...(authorities && { ca: [...authorities] }),
  });
}

const replyTo = (sent: ClientRequest, body: string | Buffer | undefined) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('error', reject);
    sent.once('response', resolve);
    // A receiver that wants to speak another protocol instead is not one.
    sent.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('it changes the protocol'));
    });
    sent.end(body);
  });

/** Has Node connect to addresses that were checked, and to no others. */
export const lookupOf =
  (addressesOf: AddressesOf): LookupFunction =>
  (host, { all }, found) => {
    addressesOf(host).then(
      (addresses) => {
        const entries = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all) found(null, entries);
        else found(null, entries[0]?.address ?? '', entries[0]?.family);
      },
      (error: Error) => found(error, '', 0),
    );
  };

async function bodyOf(reply: IncomingMessage, { replyBytesMax = usual.replyBytesMax }: Request, { host }: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    // Leaving the loop destroys the connection.
    if (bytes > replyBytesMax) throw tooLarge(host, reply, Buffer.concat(chunks).subarray(0, replyBytesMax));
  }
  return Buffer.concat(chunks);
}

function tooLarge(host: string, { statusCode = 0, headers }: IncomingMessage, body: Buffer) {
  const detail = `more than ${body.length} bytes`;
  return new OutboundFault('too-large', `${host} answered with ${detail}.`, { detail, reply: { status: statusCode, headers, body } });
}
