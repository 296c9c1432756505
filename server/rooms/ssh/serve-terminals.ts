/**
 * Terminals in browsers, as WebSockets. Whoever shows a ticket of theirs becomes a visitor of the same gateway as those who come by SSH: rights, limits, the
 * list of open sessions and the reasons to leave are the same. Pages of other origins are refused, whatever they show.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Terminal } from '../../drivers/ssh/ssh-server.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { openGateway } from './gateway.ts';
import { redeemTicket } from './terminal-tickets.ts';
import { openWebsocketLine } from './websocket-line.ts';

export const terminalPath = '/terminal';
const protocol = 'offshoot.terminal';
const ticketPrefix = 'ticket.';
const messageBytesMax = 64 * 1024;
/** The browser says its real size as soon as it is in. */
const firstTerminal: Terminal = { name: 'xterm-256color', columns: 80, rows: 24 };

export function serveTerminals(http: FastifyInstance, platform: Platform) {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
    handleProtocols: () => protocol,
  });
  /** Opened with the first terminal: most processes never have one. */
  let gateway: ReturnType<typeof openGateway> | undefined;
  http.addHook('preClose', async () => {
    await gateway?.close();
    for (const socket of sockets.clients) socket.terminate();
  });
  const heads = answerUpgrades(http);

  http.get(terminalPath, async (request, reply) => {
    const head = heads.get(request.raw);
    if (!head) throw new Problem('invalid-request', 'A terminal is opened as a WebSocket.');
    if (request.headers.origin !== new URL(platform.config.url).origin)
      throw new Problem('forbidden', 'A terminal is opened by pages of the platform itself only.');
    const admitted = await redeemTicket(platform.db, ticketIn(request));
    if (!admitted) throw new Problem('unauthenticated', 'The ticket was used already, or is too old: ask for another one.');
    reply.hijack();
    reply.raw.detachSocket(request.raw.socket);
    sockets.handleUpgrade(request.raw, request.raw.socket, head, (socket) => {
      gateway ??= openGateway(platform);
      const gone = untilClosed(socket);
      const visitor = {
        who: { certified: admitted.proof },
        user: admitted.destination,
        address: request.ip,
        dismiss: () => socket.terminate(),
        gone,
      };
      gateway.receive(visitor).run({
        want: { kind: 'shell' },
        variables: new Map(),
        terminal: firstTerminal,
        line: openWebsocketLine(socket, gone),
      });
    });
  });
}

/**
 * Requests to become a WebSocket are answered by the route of their path, like all others, so that refusals read the same. Upgrades to anything else, and
 * anywhere else, are ignored as if nobody here knew how.
 */
function answerUpgrades({ server }: FastifyInstance): WeakMap<IncomingMessage, Buffer> {
  const heads = new WeakMap<IncomingMessage, Buffer>();
  const isOurs = ({ url = '', headers }: IncomingMessage) =>
    url.split('?', 1)[0] === terminalPath && headers.upgrade?.toLowerCase() === 'websocket';
  Object.assign(server, { shouldUpgradeCallback: isOurs });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    heads.set(request, head);
    const response = new ServerResponse(request);
    response.assignSocket(socket as Socket);
    response.once('finish', () => socket.end());
    server.emit('request', request, response);
  });
  return heads;
}

/** Among the subprotocols, because it is in no address, no log and no cookie there. */
function ticketIn({ headers }: FastifyRequest): string {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  return offered.find((each) => each.startsWith(ticketPrefix))?.slice(ticketPrefix.length) ?? '';
}

function untilClosed(socket: WebSocket): AbortSignal {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  socket.on('error', () => socket.terminate());
  return gone.signal;
}
