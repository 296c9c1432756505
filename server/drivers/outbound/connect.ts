/** One connection by TCP, or TLS, to addresses that were checked. Once it is open, its bytes are its owner's concern. */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { plainHost } from './addresses.ts';
import { lookupOf, type AddressesOf } from './exchange.ts';
import { faultOf, late, OutboundFault } from './faults.ts';

export interface Connection {
  host: string;
  port: number;
  /** Undefined for no TLS. */
  tls?: {
    /** Whether who answers has to show a certificate that is trusted. */
    verify: boolean;
    authorities?: readonly string[];
  };
  /** Until it is open. */
  secondsMax?: number;
  /** Until it is open, too. */
  signal?: AbortSignal;
}

const usualSecondsMax = 10;

export async function connectTo(asked: Connection, addressesOf: AddressesOf): Promise<Socket> {
  const host = plainHost(asked.host);
  if (host === undefined) throw new OutboundFault('malformed', 'This is no host.', { internal: asked.host });
  if (isIP(host)) await addressesOf(host);
  const seconds = asked.secondsMax ?? usualSecondsMax;
  const limit = AbortSignal.timeout(Math.ceil(seconds * 1000));
  const signal = asked.signal ? AbortSignal.any([asked.signal, limit]) : limit;
  signal.throwIfAborted();
  const socket = begin(asked, host, addressesOf);
  try {
    await opened(socket, asked.tls ? 'secureConnect' : 'connect', signal);
    return socket;
  } catch (cause) {
    socket.destroy();
    asked.signal?.throwIfAborted();
    throw limit.aborted ? late(host, seconds) : faultOf(cause, host);
  }
}

function begin({ port, tls }: Connection, host: string, addressesOf: AddressesOf): Socket {
  const to = { host, port, lookup: lookupOf(addressesOf) };
  if (!tls) return connectPlain(to);
  return connectSecure({
    ...to,
    rejectUnauthorized: tls.verify,
    ...(isIP(host) === 0 && { servername: host }),
    ...(tls.authorities && { ca: [...tls.authorities] }),
  });
}

const opened = (socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const giveUp = () => reject(signal.reason as Error);
    const onClose = () => reject(new Error('the connection was closed'));
    signal.addEventListener('abort', giveUp, { once: true });
    socket.once('error', reject);
    socket.once('close', onClose);
    socket.once(event, () => {
      signal.removeEventListener('abort', giveUp);
      socket.off('error', reject).off('close', onClose);
      resolve();
    });
  });
