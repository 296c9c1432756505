/**
 * Ports that are still free when something listens on them a moment later, and when it comes back after a stop. Not one that the kernel would
 * choose: until somebody listens there, it may give it to any connection that leaves this machine.
 */
import { createServer } from 'node:net';

const firstPort = 10_000;
/** From 32768 on the kernel takes ports for connections. */
const portsOfWorker = 2800;
const workersMax = 8;
const begin = firstPort + (Number(process.env['VITEST_POOL_ID'] ?? 0) % workersMax) * portsOfWorker;
let next = Math.floor(Math.random() * portsOfWorker);

/** A port that nobody listens on, and that no other test is given. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = begin + (next++ % portsOfWorker);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number) =>
  new Promise<boolean>((settle) => {
    const server = createServer().once('error', () => settle(false));
    server.listen(port, () => server.close(() => settle(true)));
  });
