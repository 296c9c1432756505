/**
 * Who a client is: the peer of its connection or, where that is a proxy that the operator trusts, whoever the proxy names. Each request has an id of its
 * own, which no two processes ever give twice.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { isWithin, readAddress, readNetwork, type Network } from './addresses.ts';

export interface ClientIdentity {
  address: string;
  scheme: 'http' | 'https';
  requestId: string;
  forwardedFor: string;
}

/** The other end of a connection. What a trusted one says about the client is believed. */
export interface Peer {
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  readonly isTrusted: boolean;
}

const proxiesInARowMax = 20;

export class TrustedProxies {
  readonly #networks: Network[];

  constructor(networks: readonly string[]) {
    this.#networks = networks.flatMap((text) => readNetwork(text) ?? []);
  }

  has(address: string): boolean {
    if (this.#networks.length === 0) return false;
    const words = readAddress(address);
    return words !== undefined && this.#networks.some((network) => isWithin(words, network));
  }

  identify({ peer, scheme, isTrusted }: Peer, headers: readonly string[]): ClientIdentity {
    const requestId = newRequestId();
    const address = peer.startsWith('::ffff:') ? peer.slice('::ffff:'.length) : peer;
    if (!isTrusted) return { address, scheme, requestId, forwardedFor: address };
    return this.#believe(address, scheme, requestId, headers);
  }

  #believe(peer: string, scheme: 'http' | 'https', requestId: string, headers: readonly string[]): ClientIdentity {
    const told = (name: string) => {
      const values = headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === name);
      return values.join(', ');
    };
    const chain = told('x-forwarded-for')
      .split(',')
      .map((address) => address.trim())
      .filter((address) => isIP(address) !== 0)
      .slice(-proxiesInARowMax);
    const client = chain.findLast((address) => !this.has(address)) ?? chain[0] ?? peer;
    const protocol = told('x-forwarded-proto').toLowerCase();
    const id = told('x-request-id');
    return {
      address: client,
      scheme: protocol === 'https' || protocol === 'http' ? protocol : scheme,
      requestId: /^[\w.:-]{8,128}$/.test(id) ? id : requestId,
      forwardedFor: [...chain, peer].join(', '),
    };
  }
}

/** The part of a request's id that differs between processes. */
let processMark = randomBytes(8).toString('hex');
/** Numbers of eight hexadecimal digits that V8 still keeps as small integers. */
const [requestNumberMin, requestNumberMax] = [2 ** 28, 2 ** 30];
let requestNumber = requestNumberMin;

function newRequestId(): string {
  if (++requestNumber > requestNumberMax) {
    requestNumber = requestNumberMin;
    processMark = randomBytes(8).toString('hex');
  }
  return processMark + requestNumber.toString(16);
}
