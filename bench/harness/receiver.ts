/** A receiver of requests in a process of its own, which tells its port: it answers all requests, except those for `/silent`, which wait for ever. */
import { createServer } from 'node:http';

const server = createServer((request, reply) => {
  if (request.url === '/silent') return;
  request.resume().once('end', () => reply.writeHead(204).end());
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.once('disconnect', () => process.exit());
