/** Ports that nobody has, for programs that cannot choose one themselves: of those that the kernel gives to nobody by itself. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const range = { min: 16_000, max: 32_000 };

export async function freePort(): Promise<number> {
  const port = randomInt(range.min, range.max);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return freePort();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
