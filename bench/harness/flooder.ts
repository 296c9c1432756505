/** Floods one host of an edge in one way until it is killed: `node flooder.ts <way> <port> <host>`. Says `ready` when the flood is on. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from '../../edge/testing/load.ts';

const [way = '', portText = '', host = ''] = process.argv.slice(2);
const port = Number(portText);
const openedAtOnce = 50;
const chatterMilliseconds = 100;

async function openMany(count: number, hello: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    for (let n = 0; n < openedAtOnce; n += 1) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
      socket.on('error', () => {}).resume();
      socket.write(hello);
      sockets.push(socket);
    }
    await sleep(20);
  }
  return sockets;
}

const upgrade = `GET /socket HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n`;
/** A text of one letter, masked with zeros. */
const frame = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]);

const floods: Record<string, () => Promise<void>> = {
  'keep-alive': async () => void startLoad({ port, host, clients: 200, keepAlive: true }),
  'a connection for each request': async () => void startLoad({ port, host, clients: 100, keepAlive: false }),
  'slow connections': async () => void (await openMany(3000, `GET / HTTP/1.1\r\nhost: ${host}\r\nx-slow: `)),
  'silent WebSockets': async () => void (await openMany(2000, upgrade)),
  'chatty WebSockets': async () => {
    const sockets = await openMany(2000, upgrade);
    setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(frame);
    }, chatterMilliseconds);
  },
};

await floods[way]?.();
console.log('ready');
setInterval(() => {}, 1000);
