/** Whether the ports that the platform listens on are to be had. A platform that runs has them; so only the command asks. */
import { createServer } from 'node:net';
import { reachable } from '../server/config.ts';
import { ok, type Finding } from '../server/rooms/installation/public.ts';

const probeMillisecondsMax = 3000;

/** Listening is the only honest test of a port. One that is in use may be used by a running Offshoot. */
export async function portFinding(host: string, port: number, isOurs: () => Promise<boolean>): Promise<Finding> {
  const code = await listeningError(host, port);
  if (code === undefined) return ok(`${port} is free`);
  if (code === 'EAFNOSUPPORT' || (code === 'EADDRNOTAVAIL' && host === '::')) return portFinding('0.0.0.0', port, isOurs);
  if (code === 'EADDRINUSE' && (await isOurs())) return ok(`${port} is used by a running Offshoot`);
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is in use',
    EACCES: 'is for root only',
    EADDRNOTAVAIL: `is not available on ${host}`,
  };
  return { ok: false, found: `${port} ${reasons[code] ?? code}` };
}

function listeningError(host: string, port: number): Promise<string | undefined> {
  return new Promise((settle) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => settle(undefined)));
  });
}

export async function isPlatformAt(host: string, port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://${reachable(host)}:${port}/openapi.json`, { signal: AbortSignal.timeout(probeMillisecondsMax) });
    return (await reply.text()).includes('Offshoot');
  } catch {
    return false;
  }
}
