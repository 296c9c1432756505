/** Messages by UDP, to one address that was checked. Nobody says whether they arrive. */
import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';
import { plainHost } from './addresses.ts';
import type { AddressesOf } from './exchange.ts';
import { faultOf, OutboundFault } from './faults.ts';

export interface Datagrams {
  /** Throws an OutboundFault where this machine already knows that it cannot be sent. */
  send(message: Buffer): Promise<void>;
  close(): void;
}

export async function openDatagrams({ host: text, port }: { host: string; port: number }, addressesOf: AddressesOf): Promise<Datagrams> {
  const host = plainHost(text);
  if (host === undefined) throw new OutboundFault('malformed', 'This is no host.', { internal: text });
  const [address = ''] = await addressesOf(host);
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4');
  // That nobody listens is told after a message was sent, if at all; the next one that is sent says so.
  socket.on('error', () => {});
  return {
    send: (message) =>
      new Promise<void>((resolve, reject) =>
        socket.send(message, port, address, (error) => (error ? reject(faultOf(error, host)) : resolve())),
      ),
    close: () => void socket.close(),
  };
}
