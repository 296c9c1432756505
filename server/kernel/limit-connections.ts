/**
 * How many connections the API has at once. Whoever finds no place is told so; connections that have asked for something keep theirs, and those that
 * only hold one give it up (edge/client/open-connections.ts).
 */
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { countedAs, isWithin, readAddress, readNetwork } from '../../edge/client/addresses.ts';
import { OpenConnections, crowdedReply, endWith, type ConnectionLimits } from '../../edge/client/open-connections.ts';

export const apiConnections: ConnectionLimits = { connectionsMax: 10_000, connectionsPerAddressMax: 1000 };

/** Through a trusted proxy many come from one address, so it has no bound of its own. */
export function limitConnections({ server }: FastifyInstance, trustedProxies: readonly string[], limits = apiConnections) {
  const proxies = trustedProxies.flatMap((text) => readNetwork(text) ?? []);
  const isProxy = (address: string) => {
    const words = readAddress(address);
    return words !== undefined && proxies.some((network) => isWithin(words, network));
  };
  const connections = new OpenConnections<Socket>(limits, (socket) => {
    socket.write(crowdedReply('address'));
    socket.destroySoon();
  });
  /** Node starts to read from a connection as soon as it is told of it, so it is told only of those that are let in. */
  const [serve, ...others] = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address = '' } = socket;
    const crowded = connections.makeRoom(countedAs(address), !isProxy(address));
    if (crowded !== undefined) return endWith(socket, crowdedReply(crowded));
    connections.take(socket, countedAs(address));
    socket.once('close', () => connections.giveUp(socket));
    for (const listener of [serve, ...others]) listener?.call(server, socket);
  });
  server.on('request', ({ socket }) => connections.keep(socket));
}
