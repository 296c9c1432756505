/** A small application for tests, in a process of its own: it says its name, after as many milliseconds as `?wait=` says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Instance } from '../routing/table.ts';

export interface TestApplication extends AsyncDisposable {
  instance: Instance;
  kill(): Promise<void>;
}

export async function startApplication(name: string): Promise<TestApplication> {
  const child = spawn(process.execPath, [import.meta.filename, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { instance: { id: name, address: { host: '127.0.0.1', port: Number(port) } }, kill, [Symbol.asyncDispose]: kill };
}

if (process.argv[1] === import.meta.filename) {
  const server = createServer((request, response) => {
    const wait = Number(new URL(request.url ?? '/', 'http://localhost').searchParams.get('wait') ?? 0);
    const say = () => response.writeHead(200, { 'content-type': 'text/plain' }).end(process.argv[2]);
    request.resume().on('end', () => (wait > 0 ? setTimeout(say, wait) : say()));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
}
