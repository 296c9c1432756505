/**
 * Stopping without dropping anything: a request under way is answered, then its connection ends. Connections on which nothing is asked, or
 * only half a question, end at once; left alone they would keep the server from closing.
 */
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

export function drainOnClose(http: FastifyInstance) {
  const requestsUnderWay = new Map<Socket, number>();
  let closing = false;
  /** Every open stream listens for the end. */
  http.server.setMaxListeners(0);

  http.server.on('connection', (socket: Socket) => {
    requestsUnderWay.set(socket, 0);
    socket.once('close', () => requestsUnderWay.delete(socket));
  });
  http.server.on('request', ({ socket }, response) => {
    requestsUnderWay.set(socket, (requestsUnderWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (requestsUnderWay.get(socket) ?? 1) - 1;
      if (requestsUnderWay.has(socket)) requestsUnderWay.set(socket, left);
      if (closing && left === 0) socket.end();
    });
  });
  http.addHook('preClose', (done) => {
    closing = true;
    http.server.emit('close-streams');
    for (const [socket, count] of requestsUnderWay) if (count === 0) socket.destroy();
    done();
  });
}
