/** Programs that answer one connection at a time, as a simple server of any language does: whoever came first is answered first. */
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { environmentOf, openClient, openTestEdge, statuses, type TestEdge } from '../testing/edge.ts';
import { until } from '../testing/upstream.ts';

const reply = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** It keeps each connection until the other end closes it, and only then turns to the next. */
async function openOneAtATime() {
  const waiting: Socket[] = [];
  let busyWith: Socket | undefined;
  const next = () => {
    busyWith = waiting.shift();
    if (busyWith === undefined) return;
    busyWith.on('data', () => busyWith?.write(reply)).resume();
    if (busyWith.destroyed) next();
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      const index = waiting.indexOf(socket);
      if (index !== -1) waiting.splice(index, 1);
      else if (socket === busyWith) next();
    });
    waiting.push(socket);
    if (busyWith === undefined) next();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('not listening');
  return {
    instance: { id: 'one', address: { host: '127.0.0.1', port: address.port } },
    [Symbol.dispose]: () => void server.close(),
  };
}

/** Asks, and as soon as it is answered asks again, until it is told to stop. */
async function startVisitor({ port }: TestEdge, method = 'GET') {
  const client = await openClient(port);
  const over = new AbortController();
  const ask = () => client.say(`${method} / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n`);
  const answers = () => statuses(client.text()).length;
  const coming = (async () => {
    for (let asked = 1; !over.signal.aborted; asked++) {
      ask();
      await until(() => answers() >= asked || client.socket.destroyed);
    }
    client.socket.destroy();
  })();
  const leave = async () => {
    over.abort();
    await coming;
  };
  return { answers, leave };
}

test.for(['GET', 'POST'])('who comes second is answered while the first keeps coming, also with %s', async (method) => {
  using program = await openOneAtATime();
  await using edge = await openTestEdge([environmentOf([program.instance])]);
  const first = await startVisitor(edge);
  await until(() => first.answers() > 3);
  const others = await Promise.all([startVisitor(edge, method), startVisitor(edge, method)]);
  await expect.poll(() => Math.min(...others.map(({ answers }) => answers()))).toBeGreaterThan(3);
  for (const visitor of [first, ...others]) await visitor.leave();
});

test('so is one who comes through another process', async () => {
  using program = await openOneAtATime();
  await using edge = await openTestEdge([environmentOf([program.instance])]);
  await using other = await openTestEdge([environmentOf([program.instance])]);
  const visitors = [await startVisitor(edge), await startVisitor(other)];
  await expect.poll(() => Math.min(...visitors.map(({ answers }) => answers()))).toBeGreaterThan(0);
  for (const visitor of visitors) await visitor.leave();
});
