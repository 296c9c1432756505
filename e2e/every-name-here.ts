/** A proxy for clients that would ask the system where a name leads: each name leads to this machine. What passes through it stays encrypted. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export interface EveryNameHere extends AsyncDisposable {
  readonly url: string;
}

export async function openEveryNameHere(): Promise<EveryNameHere> {
  const open = new Set<Duplex>();
  const server = createServer((_, reply) => reply.writeHead(405).end());
  server.on('connect', ({ url = '' }, client, first) => {
    const there = connect(Number(url.slice(url.lastIndexOf(':') + 1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      there.write(first);
      there.pipe(client).pipe(there);
    });
    const ends = [there, client];
    for (const end of ends) {
      open.add(end);
      end.on('error', () => ends.forEach((each) => each.destroy())).once('close', () => open.delete(end));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const end of open) end.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
