/** Stands between an authority and its clients, and decides of each answer whether the client hears it: the authority has done by then what it was asked for. */
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { serverCertificate } from './test-pebble.ts';

export interface Heard {
  /** The first part of the path, which tells requests of one kind from those of another. */
  kind: string;
  path: string;
  status: number;
}

export interface GoBetween {
  directoryUrl: string;
  /** Whom clients have to trust, as PEM. */
  root: string;
  close(): void;
}

export async function openGoBetween(
  { directoryUrl, authorities }: { directoryUrl: string; authorities: string[] },
  isPassedOn: (heard: Heard) => boolean,
): Promise<GoBetween> {
  const { root, keyed } = await serverCertificate();
  const { hostname, port, pathname } = new URL(directoryUrl);
  const server = createServer({ cert: keyed.certificate, key: keyed.key }, (asked, answer) => {
    const { method, url: path = '/', headers } = asked;
    const passOn = (reply: IncomingMessage) => {
      const status = reply.statusCode ?? 0;
      if (!isPassedOn({ kind: path.split('/')[1] ?? '', path, status })) return void reply.resume();
      answer.writeHead(status, reply.headers);
      pipeline(reply, answer, () => {});
    };
    // Pebble takes its own address from the header Host, so what it names leads here again.
    const sent = request({ hostname, port, method, path, headers, ca: authorities, agent: false }, passOn);
    pipeline(asked, sent, () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    directoryUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    root,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
