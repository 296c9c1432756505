import { createServer } from 'node:http';
import { redis } from './redis.js';

const { PORT, GREETING, PLATFORM_BRANCH } = process.env;

const server = createServer(async (request, response) => {
  try {
    if (request.url !== '/') return response.writeHead(404).end('Only / is here\n');
    const [visits, ticks] = [await redis('INCR', 'visits'), await redis('GET', 'ticks')];
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`${GREETING} to ${PLATFORM_BRANCH}: visit ${visits}; the worker has ticked ${ticks ?? 0} times\n`);
  } catch (error) {
    console.error(error);
    response.writeHead(503).end('The store does not answer\n');
  }
});
server.listen(Number(PORT), () => console.log(`listening on ${PORT}`));
process.on('SIGTERM', () => server.close(() => process.exit(0)));
