/**
 * The one way out: whatever the platform asks of other machines by itself passes here. A name is looked up once for each connection, all of its addresses are
 * checked, and those are what is connected to, so that a name which points elsewhere a moment later leads nowhere else. Redirects are checked like first
 * requests. Replies are bounded in time and size, and TLS is verified with what this process trusts.
 *
 * Git connects by itself, to addresses that are checked here and pinned (drivers/git/fetch-remote.ts).
 */
import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import { visitableAddresses } from './addresses.ts';
import { connectTo, type Connection } from './connect.ts';
import { openDatagrams, type Datagrams } from './datagrams.ts';
import { exchange, openExchange, type OpenReply, type Reply, type Request } from './exchange.ts';
import type { Lookup } from './look-up-host.ts';
import { following } from './redirects.ts';

export interface Outbound {
  /** Any status is an answer. Throws an OutboundFault where there is none, and the reason of the signal where that is aborted. */
  request(asked: Request): Promise<Reply>;
  /** As `request`, for bodies that are too large to be held in memory: they are read by the caller, who bounds them. */
  open(asked: Request): Promise<OpenReply>;
  /** A connection that is open, over TLS where that is asked for. Throws an OutboundFault. */
  connect(asked: Connection): Promise<Socket>;
  /** Messages by UDP to one address. Throws an OutboundFault. */
  openDatagrams(to: { host: string; port: number }): Promise<Datagrams>;
}

interface OutboundOptions {
  /** Networks that are visited although they are not public. */
  allowPrivateAddresses: readonly string[];
  look?: Lookup;
}

/** A receiver that is written to often is not connected to anew each time; one that is not written to any more is left soon. */
const idleMilliseconds = 10_000;
const idleConnectionsMax = 256;

/** To addresses that users chose. */
export function openOutbound({ allowPrivateAddresses, look }: OutboundOptions): Outbound {
  const addressesOf = (host: string) => visitableAddresses(host, allowPrivateAddresses, look);
  const kept = { keepAlive: true, timeout: idleMilliseconds, maxFreeSockets: idleConnectionsMax };
  const agents = { 'http:': new PlainAgent(kept), 'https:': new SecureAgent(kept) };
  return {
    request: following((asked) => exchange(asked, agents, addressesOf)),
    open: following((asked) => openExchange(asked, agents, addressesOf)),
    connect: (asked) => connectTo(asked, addressesOf),
    openDatagrams: (to) => openDatagrams(to, addressesOf),
  };
}

/** To what the operator has set, which may be anywhere. */
export const openOperatorsOutbound = (): Outbound => openOutbound({ allowPrivateAddresses: ['0.0.0.0/0', '::/0'] });
