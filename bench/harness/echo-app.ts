/** An application that answers requests and echoes what comes over WebSockets: `node echo-app.ts <port>`. */
import { createServer } from 'node:http';

const [port = '0'] = process.argv.slice(2);
const server = createServer((_, reply) => reply.end('0123456789'.repeat(10)));
server.on('upgrade', (_, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  socket.on('data', (chunk: Buffer) => void socket.write(chunk));
});
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
